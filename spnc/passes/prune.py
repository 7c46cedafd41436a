"""Remove edges of weight zero, and nodes that the root no longer reaches."""

from __future__ import annotations

from spnc.graph.nodes import Graph, below, find_root, tops


def prune(graph: Graph) -> Graph:
    """Remove edges of weight exactly zero: training would keep them at zero."""
    root = find_root(graph)
    graph.graph["root"] = root
    dead = [
        (n, c)
        for n, edges in graph.adjacency()
        for c, data in edges.items()
        if data.get("weight") == 0.0
    ]
    graph.remove_edges_from(dead)
    if tops(graph) != [root]:  # otherwise the root reaches all nodes
        reached = set(below(graph, root))
        graph.remove_nodes_from([n for n in graph if n not in reached])
    return graph
