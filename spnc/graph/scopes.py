"""Scopes: the columns that a node models, as a Python int used as a bit set."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from spnc.common.column_sets import members
from spnc.graph.nodes import Graph, Leaf, children, payloads

if TYPE_CHECKING:
    from spnc.data.columns import Column


def scopes(graph: Graph, order: Iterable[Hashable]) -> dict[Hashable, int]:
    """Return the scope of every node in `order` (children first): bit i is set for column i."""
    found: dict[Any, int] = {}
    interned: dict[int, int] = {}  # wide scopes are large ints: keep one object of each
    node = payloads(graph)
    below = children(graph)
    for n in order:
        payload = node[n]
        scope = 0
        if isinstance(payload, Leaf):
            scope = 1 << max(0, payload.variable)  # `checks.leaves` reports a column below 0
        else:
            for child in below[n]:
                scope |= found[child]
        found[n] = interned.setdefault(scope, scope)
    return found


def column_names(scope: int, columns: Sequence[Column]) -> list[str]:
    """Return the names of the columns in a scope."""
    return [columns[i].name if i < len(columns) else f"column {i}" for i in members(scope)]
