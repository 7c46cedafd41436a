"""Scopes: the columns that a node models, as column sets."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from spnc.common import column_sets
from spnc.common.column_sets import (
    ColumnOrder,
    ColumnSet,
    column_order,
    members,
    single_set,
    union,
)
from spnc.graph.nodes import Graph, Leaf, children, payloads

if TYPE_CHECKING:
    from spnc.data.columns import Column


def scopes(
    graph: Graph, order: Sequence[Hashable], columns: ColumnOrder | None = None
) -> dict[Hashable, ColumnSet]:
    """Return the scope of every node in `order` (children first).

    Scopes of several graphs can be compared if they are made with the same order of columns.
    """
    columns = columns or scope_order(graph, order)
    node, below, width = payloads(graph), children(graph), len(graph.graph["columns"])
    nothing = columns.nothing if columns is not None else 0
    found: dict[Any, Any] = {}
    single: dict[int, Any] = {}
    interned: dict[Any, Any] = {}  # wide scopes are large: keep one object of each
    for n in order:
        payload = node[n]
        if isinstance(payload, Leaf):
            i = payload.variable
            if i not in single:  # `checks.leaves` reports a column that does not exist
                single[i] = single_set(i, columns) if 0 <= i < width else nothing
            found[n] = single[i]
        else:
            scope = nothing
            if columns is not None and below[n]:
                scope = union([found[child] for child in below[n]])
            elif columns is None:  # the same for ints, without a list for every node
                for child in below[n]:
                    scope |= found[child]
            found[n] = interned.setdefault(scope, scope)
    return found


def scope_order(graph: Graph, order: Sequence[Hashable]) -> ColumnOrder | None:
    """Return the order of columns for the scopes of a graph; None if it has few columns."""
    width = len(graph.graph["columns"])
    if width <= column_sets.NARROW:  # nothing of the graph is needed
        return None
    node, below = payloads(graph), children(graph)

    def column(n: Hashable) -> int | None:
        payload = node[n]
        if isinstance(payload, Leaf) and 0 <= payload.variable < width:
            return payload.variable
        return None

    return column_order(width, reversed(order), below.__getitem__, column)


def column_names(scope: ColumnSet, columns: Sequence[Column]) -> list[str]:
    """Return the names of the columns in a scope."""
    return [columns[i].name for i in members(scope)]
