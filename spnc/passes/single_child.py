"""Remove sums and products with one child: the child takes their place."""

from __future__ import annotations

from spnc.graph.nodes import Graph, children_first, find_root
from spnc.passes.edges import redirect


def single_child(graph: Graph) -> Graph:
    """Every inner node left has two children or more."""
    root = find_root(graph)
    for n in children_first(graph):
        children = graph.succ[n]
        if len(children) == 1:
            (child,) = children
            redirect(graph, n, child)
            graph.remove_node(n)
            root = child if n == root else root
    graph.graph["root"] = root
    return graph
