"""Share equal subgraphs (hash-consing), so that each is evaluated once.

Sharing ties parameters. Before training, sums and leaves are shared only if they have the same
`tie`: free parameters that happen to start equal may become different. Products have no parameters
and are shared whenever their children are the same. In a finished model parameters no longer
change, and all equal nodes are shared.
"""

from __future__ import annotations

from collections.abc import Hashable

from spnc.graph.edges import redirect
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


def share_tied(graph: Graph) -> Graph:
    """Share equal products, and sums and leaves that are tied: safe before training."""
    return _share(graph, finished=False)


def share_equal(graph: Graph) -> Graph:
    """Share all equal nodes: for finished models."""
    return _share(graph, finished=True)


def _share(graph: Graph, *, finished: bool) -> Graph:
    graph.graph["root"] = find_root(graph)  # the root has no equal, so it stays
    node = payloads(graph)
    if finished or any(getattr(each, "tie", None) is not None for each in node.values()):
        order = children_first(graph)
        for n, same in representatives(graph, order, finished=finished).items():
            if same != n:
                _replace(graph, n, same)
    else:
        _share_products(graph, {n for n, each in node.items() if isinstance(each, Product)})
    return graph


def _share_products(graph: Graph, products: set[Hashable]) -> None:
    """Share equal products. Without ties nothing else is shared, and most forests have few.

    Two equal products have identical children once everything below is shared, so each of these
    children has two parents. The search starts above such nodes, and continues above every
    product that has been shared.
    """
    below, above = children(graph), parents(graph)
    shared = {n for n, edges in above.items() if len(edges) > 1}
    waiting = _join(graph, [n for n in below if n in products and shared.issuperset(below[n])])
    for n in waiting:
        waiting += _join(graph, [parent for parent in above[n] if parent in products])


def _join(graph: Graph, nodes: list[Hashable]) -> list[Hashable]:
    """Share nodes with the same children. Return the nodes that replaced others."""
    first: dict[frozenset[Hashable], Hashable] = {}
    pairs = [(n, first.setdefault(frozenset(graph.succ[n]), n)) for n in nodes]
    kept = []
    for n, same in pairs:
        if same != n:
            _replace(graph, n, same)
            kept.append(same)
    return kept


def _replace(graph: Graph, old: Hashable, new: Hashable) -> None:
    redirect(graph, old, new)
    graph.remove_node(old)
