"""A circuit has no cycles."""

from __future__ import annotations

from typing import Any

import networkx as nx

from spnc.checks.view import View
from spnc.graph.nodes import Graph


def check(view: View) -> None:
    """E201: one report per strongly connected component, with one of its cycles."""
    if len(view.order) == len(view.node):
        return
    rest = view.graph.subgraph(set(view.node) - set(view.order))
    for knot in nx.strongly_connected_components(rest):
        first = next(
            n for n in view.node if n in knot
        )  # in the order of the graph: that of a set varies
        if len(knot) == 1 and not rest.has_edge(first, first):
            continue  # above a cycle, not on it
        cycle = _cycle_through(view.graph, knot, first)
        path = " -> ".join(str(n) for n in cycle)
        view.error(
            "E201",
            f"{view.title(first)} is its own descendant",
            first,
            [f"cycle: {path}"],
            "a circuit is acyclic; remove one of these edges",
        )


def _cycle_through(graph: Graph, knot: set[Any], start: Any) -> list[Any]:
    """Return a shortest cycle through `start`, which must be on one."""
    came: dict[Any, Any] = {}
    queue = [start]
    for n in queue:
        for child in graph.succ[n]:
            if child == start:
                path = [n]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return [*reversed(path), start]
            if child in knot and child not in came:
                came[child] = n
                queue.append(child)
    raise AssertionError("not on a cycle")
