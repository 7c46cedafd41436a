"""Share equal subgraphs (hash-consing): what is computed twice is computed once.

Sharing ties parameters. Before training, sums and leaves are shared only when they carry the same
`tie`, which says that they are one thing; that two free parameters happen to start equal means
nothing. Products have no parameters and are shared whenever their children are the same. In a
finished model nothing moves any more, and all that is equal is shared.
"""

from __future__ import annotations

from collections.abc import Hashable

from spnc.graph.equality import representatives
from spnc.graph.nodes import (
    Graph,
    Product,
    children,
    children_first,
    find_root,
    parents,
    payloads,
)
from spnc.passes.edges import redirect


def share_tied(graph: Graph) -> Graph:
    """Share what is meant to be one thing: safe before training."""
    return _share(graph, finished=False)


def share_equal(graph: Graph) -> Graph:
    """Share all that is equal: for finished models."""
    return _share(graph, finished=True)


def _share(graph: Graph, *, finished: bool) -> Graph:
    root = find_root(graph)
    if finished or _may_share(graph):
        order = children_first(graph)
        for n, same in representatives(graph, order, finished=finished).items():
            if same != n:
                redirect(graph, n, same)
                graph.remove_node(n)
                root = same if n == root else root
    graph.graph["root"] = root
    return graph


def _may_share(graph: Graph) -> bool:
    """Whether there are equal nodes before training, which in most forests there are not.

    Without ties only products can be equal. Of two that are, and have no equal ones below them,
    the children are the very same, so that each of these has two parents.
    """
    below, above = children(graph), parents(graph)
    seen: set[frozenset[Hashable]] = set()
    for n, node in payloads(graph).items():
        if not isinstance(node, Product):
            if node.tie is not None:
                return True
        elif all(len(above[c]) > 1 for c in below[n]):
            factors = frozenset(below[n])
            if factors in seen:
                return True
            seen.add(factors)
    return False
