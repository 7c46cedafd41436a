"""Which nodes of a graph are one and the same, so that they can be shared."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from spnc.graph.nodes import Graph, Leaf, Node, Product, Sum, children, payloads


def representatives(
    graph: Graph, order: Iterable[Any], *, finished: bool
) -> dict[Hashable, Hashable]:
    """For every node, the first node that is equal to it, usually itself.

    Nodes are equal when they do the same over equal children. In a `finished` graph that is all;
    otherwise sums and leaves are free to move apart, and are equal only if they have the same
    `tie`. `order` has children before parents.
    """
    node = payloads(graph)
    below = children(graph)
    first: dict[Hashable, Hashable] = {}
    same: dict[Hashable, Hashable] = {}
    for n in order:
        key = _key(node[n], below[n], same, finished)
        same[n] = n if key is None else first.setdefault(key, n)
    return same


def _key(
    node: Node, edges: dict[Any, Any], same: dict[Hashable, Hashable], finished: bool
) -> Hashable:
    """What equal nodes have in common; None for a node that is like no other."""
    if isinstance(node, Product):
        return (Product, frozenset([same[c] for c in edges]))
    if not finished and node.tie is None:
        return None
    tie = None if finished else node.tie
    if isinstance(node, Leaf):
        leaf = node.distribution
        return (Leaf, node.variable, leaf.plugin_name, leaf.row, tie)
    weights: dict[Hashable, float] = {}
    for child, data in edges.items():
        weights[same[child]] = weights.get(same[child], 0.0) + data["weight"]
    return (Sum, frozenset(weights.items()), tie)
