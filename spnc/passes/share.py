"""Share equal subgraphs (hash-consing): what is computed twice is computed once.

Sharing ties parameters. Before training, sums and leaves are shared only when they carry the same
`tie`, which says that they are one thing; that two free parameters happen to start equal means
nothing. Products have no parameters and are shared whenever their children are the same. In a
finished model nothing moves any more, and all that is equal is shared.
"""

from __future__ import annotations

from collections.abc import Hashable

from spnc.graph.nodes import Graph, Leaf, Product, Sum, children_first, find_root, payloads
from spnc.passes.edges import redirect


def share_tied(graph: Graph) -> Graph:
    """Share what is meant to be one thing: safe before training."""
    return _share(graph, finished=False)


def share_equal(graph: Graph) -> Graph:
    """Share all that is equal: for finished models."""
    return _share(graph, finished=True)


def _share(graph: Graph, *, finished: bool) -> Graph:
    root = find_root(graph)
    node = payloads(graph)
    first: dict[Hashable, Hashable] = {}
    for n in children_first(graph):
        payload = node[n]
        free = not finished and not isinstance(payload, Product) and payload.tie is None
        if free:
            continue
        tie = None if finished or isinstance(payload, Product) else payload.tie
        key: Hashable
        if isinstance(payload, Leaf):
            key = (Leaf, payload.variable, payload.distribution, tie)
        elif isinstance(payload, Sum):
            edges = frozenset((c, data["weight"]) for c, data in graph.succ[n].items())
            key = (Sum, edges, tie)
        else:
            key = (Product, frozenset(graph.succ[n]))
        same = first.setdefault(key, n)
        if same != n:
            redirect(graph, n, same)
            graph.remove_node(n)
            root = same if n == root else root
    graph.graph["root"] = root
    return graph
