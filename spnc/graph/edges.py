"""Adding and redirecting edges, with weights added up where two edges become one."""

from __future__ import annotations

from collections.abc import Hashable

from spnc.graph.nodes import Graph


def add_weight(graph: Graph, parent: Hashable, child: Hashable, weight: float) -> None:
    """Add an edge to a sum, or its weight to an existing edge: w·c + v·c = (w + v)·c."""
    if graph.has_edge(parent, child):
        weight += graph.edges[parent, child]["weight"]
    graph.add_edge(parent, child, weight=weight)


def redirect(graph: Graph, old: Hashable, new: Hashable) -> None:
    """Replace `old` by `new` below every parent of `old`."""
    for parent, data in list(graph.pred[old].items()):
        weight = data.get("weight")
        graph.remove_edge(parent, old)
        if weight is None:
            graph.add_edge(parent, new)
        else:
            add_weight(graph, parent, new, weight)
