"""Remove sums and products with one child: the child takes their place."""

from __future__ import annotations

from spnc.graph.edges import redirect
from spnc.graph.nodes import Graph, children, children_first, find_root


def single_child(graph: Graph) -> Graph:
    """Replace every inner node with one child by that child."""
    root = find_root(graph)
    below = children(graph)
    if any(len(edges) == 1 for edges in below.values()):
        for n in children_first(graph):
            if len(below[n]) == 1:
                (child,) = below[n]
                redirect(graph, n, child)
                graph.remove_node(n)
                root = child if n == root else root
    graph.graph["root"] = root
    return graph
