"""The view of a graph that all checks share: order and scopes are computed once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any

from spnc.checks.rules import has_fitting_children, is_over_known_column
from spnc.common.column_sets import ColumnSet
from spnc.data.columns import Column
from spnc.diagnostics import Sink, Span
from spnc.graph.nodes import Graph, Leaf, Node, Sum, children_first, payloads, title
from spnc.graph.scopes import column_names, scopes


class View:
    """A graph under inspection, and the sink that findings go to.

    `graph.graph["damaged"]` may name nodes for which the reader has already reported an error (a
    child that does not exist, an unknown kind; see `spnc.graph.assemble`). The scopes of these, of
    leaves with children and inner nodes without, and of all nodes above them or on a cycle, are
    unknown. Checks that need scopes skip such nodes, so that one mistake is reported once.
    """

    def __init__(self, graph: Graph, sink: Sink) -> None:
        self.graph, self.sink = graph, sink
        self.columns: Sequence[Column] = graph.graph["columns"]
        self.node: dict[Hashable, Node] = payloads(graph)
        self.below: dict[Any, Any] = dict(graph.adjacency())
        self.order: list[Any] = children_first(graph)

    @cached_property
    def scopes(self) -> dict[Hashable, ColumnSet]:
        """The scopes of all nodes that are not on or above a cycle."""
        return scopes(self.graph, self.order)

    @cached_property
    def unknown(self) -> set[Hashable]:
        """The nodes whose scopes are unknown."""
        found = set(self.graph.graph.get("damaged", ()))
        found |= {
            n
            for n, node in self.node.items()
            if not has_fitting_children(node, len(self.below[n]))
            or (isinstance(node, Leaf) and not is_over_known_column(node, self.columns))
        }
        if not found and len(self.order) == len(self.node):
            return found
        found |= self.node.keys() - set(self.order)
        for n in self.order:
            if n not in found and any(c in found for c in self.below[n]):
                found.add(n)
        return found

    @cached_property
    def weightless(self) -> bool:
        """Whether the weight of some edge of a sum is not a number."""
        sums = (self.below[n] for n, node in self.node.items() if isinstance(node, Sum))
        return any(
            not isinstance(data.get("weight"), int | float)
            for edges in sums
            for data in edges.values()
        )

    @cached_property
    def tops(self) -> list[Hashable]:
        """Nodes without a parent, except those whose parent the reader could not identify."""
        mentioned = self.graph.graph.get("mentioned", ())
        return [n for n, above in self.graph.pred.items() if not above and n not in mentioned]

    def title(self, name: Hashable) -> str:
        """Return a node as messages call it."""
        return title(self.graph, name)

    def titles(self, names: Iterable[Hashable]) -> list[str]:
        """Return nodes as messages call them."""
        return [self.title(n) for n in names]

    def names(self, scope: ColumnSet) -> list[str]:
        """Return the names of a scope's columns."""
        return column_names(scope, self.columns)

    def span(self, name: Hashable) -> Span | None:
        """Return the line that defines a node, if there is one."""
        origin = self.node[name].origin
        return origin.span if origin is not None else None

    def error(
        self,
        code: str,
        message: str,
        node: Hashable,
        notes: Iterable[str] = (),
        help: str | None = None,
        span: Span | None = None,
    ) -> None:
        """Report a violation at a node, with the node's origin."""
        origin = self.node[node].origin
        made = [f"made by {origin.text}"] if origin is not None and origin.text else []
        self.sink.error(code, message, span or self.span(node), notes=[*notes, *made], help=help)
