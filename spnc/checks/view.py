"""What every check looks at: the graph, with order and scopes worked out once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any

from spnc.data.dataset import Column
from spnc.diagnostics import Sink, Span
from spnc.graph.nodes import Graph, Leaf, Node, Sum, children_first, payloads, title
from spnc.graph.scopes import column_names, scopes


class View:
    """A graph under inspection, and the sink that findings go to.

    `graph.graph["damaged"]` may name nodes that the reader already complained about (a child that
    does not exist, a kind it does not know; see `spnc.graph.assemble`). The scopes of these, of
    leaves with children and inner nodes without, and of all nodes above them or on a cycle, are
    unknown; checks that need scopes pass over them, so that one mistake is one message.
    """

    def __init__(self, graph: Graph, sink: Sink) -> None:
        self.graph, self.sink = graph, sink
        self.columns: Sequence[Column] = graph.graph["columns"]
        self.node: dict[Hashable, Node] = payloads(graph)
        self.below: dict[Any, Any] = dict(graph.adjacency())
        self.order: list[Any] = children_first(graph)

    @cached_property
    def scopes(self) -> dict[Hashable, int]:
        """The scopes of all nodes not on or above a cycle."""
        return scopes(self.graph, self.order)

    @cached_property
    def unknown(self) -> set[Hashable]:
        """Nodes whose scope cannot be known."""
        found = set(self.graph.graph.get("damaged", ()))
        found |= {
            n for n, node in self.node.items() if isinstance(node, Leaf) == bool(self.below[n])
        }
        width = len(self.columns)
        found |= {
            n
            for n, node in self.node.items()
            if isinstance(node, Leaf) and not 0 <= node.variable < width
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
        """Whether some edge of a sum has no number for a weight."""
        sums = (self.below[n] for n, node in self.node.items() if isinstance(node, Sum))
        return any(
            not isinstance(data.get("weight"), int | float)
            for edges in sums
            for data in edges.values()
        )

    @cached_property
    def tops(self) -> list[Hashable]:
        """Nodes without a parent, apart from those whose parent the reader could not make out."""
        mentioned = self.graph.graph.get("mentioned", ())
        return [n for n, above in self.graph.pred.items() if not above and n not in mentioned]

    def title(self, name: Hashable) -> str:
        """A node as messages call it."""
        return title(self.graph, name)

    def titles(self, names: Iterable[Hashable]) -> list[str]:
        """Nodes as messages call them."""
        return [self.title(n) for n in names]

    def names(self, scope: int) -> list[str]:
        """The columns of a scope, by name."""
        return column_names(scope, self.columns)

    def span(self, name: Hashable) -> Span | None:
        """The line that made a node."""
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
        """Report a violation at a node, with what made it."""
        origin = self.node[node].origin
        made = [f"made by {origin.text}"] if origin is not None and origin.text else []
        self.sink.error(code, message, span or self.span(node), notes=[*notes, *made], help=help)
