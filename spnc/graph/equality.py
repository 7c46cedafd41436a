"""Equal nodes of a graph, which can be shared."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from spnc.graph.nodes import Graph, Leaf, Node, Product, Sum, children, payloads


def representatives(
    graph: Graph, order: Iterable[Any], *, finished: bool
) -> dict[Hashable, Hashable]:
    """Return for every node the first node that is equal to it, usually the node itself.

    Nodes are equal if they have the same kind and parameters, and equal children. In a graph that
    is not `finished`, training may change parameters that are equal now, so sums and leaves must
    also have the same `tie`. `order` has children before parents.
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
    """Return a key that equal nodes share; None for a node that is equal to no other."""
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
