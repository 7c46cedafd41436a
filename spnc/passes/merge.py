"""Merge a sum into the sum above it, and a product into the product above it.

This is done only if the inner node has no other parent and is not tied to another node: then it is
an intermediate result that nothing else uses, and a level of evaluation is saved.

Long chains of nodes may become one node, and moving edges at each step would be slow. So the
result of merging is computed first, and the graph is changed once.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from spnc.graph.nodes import Graph, Node, Product, Sum, children, edge_arrays, parents, payloads


def merge_sums(graph: Graph) -> Graph:
    """Merge nested sums: Σ wᵢ (Σ vⱼ cⱼ) becomes Σ wᵢ vⱼ cⱼ."""
    node, below, above = payloads(graph), children(graph), parents(graph)
    merged: dict[Hashable, dict[Any, float]] = {}
    gone: list[Hashable] = []
    lost: dict[Hashable, int] = {}  # how many of a node's parents have been merged away
    for n in _with_nested(graph, node, Sum):
        weights = {c: data["weight"] for c, data in below[n].items()}
        waiting = list(weights)
        while waiting:
            child = waiting.pop()
            if child not in weights or not _is_free(node[child], Sum):
                continue  # merged already, or not to be merged
            if len(above[child]) - lost.get(child, 0) > 1:
                continue
            outer = weights.pop(child)
            inner = merged.pop(child, None)
            if inner is None:
                inner = {c: data["weight"] for c, data in below[child].items()}
            for grandchild, weight in inner.items():
                if grandchild in weights:
                    lost[grandchild] = lost.get(grandchild, 0) + 1
                    waiting.append(grandchild)  # these two may have been its only parents
                weights[grandchild] = weights.get(grandchild, 0.0) + outer * weight
            gone.append(child)
        merged[n] = weights
    graph.remove_nodes_from(gone)
    for n, weights in merged.items():
        graph.add_edges_from([(n, c, {"weight": weight}) for c, weight in weights.items()])
    return graph


def merge_products(graph: Graph) -> Graph:
    """Merge nested products into one."""
    node, below, above = payloads(graph), children(graph), parents(graph)
    merged: dict[Hashable, list[Any]] = {}
    gone: list[Hashable] = []
    for n in _with_nested(graph, node, Product):
        kept: list[Any] = []
        added: list[Any] = []
        for child in below[n]:
            if _is_free(node[child], Product) and len(above[child]) == 1:
                added += merged.pop(child, below[child])
                gone.append(child)
            else:
                kept.append(child)
        merged[n] = kept + added
    graph.remove_nodes_from(gone)
    for n, factors in merged.items():
        graph.add_edges_from([(n, c) for c in factors])
    return graph


def _is_free(node: Node, kind: type[Sum | Product]) -> bool:
    """Return whether this is a node of that kind without shared parameters."""
    return isinstance(node, kind) and (isinstance(node, Product) or node.tie is None)


def _with_nested(
    graph: Graph, node: dict[Hashable, Node], kind: type[Sum | Product]
) -> list[Hashable]:
    """Return the nodes with a child that can be merged into them, children first.

    Merging creates no further ones: it removes a parent of a node only if that node is a child of
    the node merged into.
    """
    edges = edge_arrays(graph)
    is_kind = np.array([isinstance(payload, kind) for payload in node.values()])
    lone = np.flatnonzero(is_kind & (edges.parents.counts == 1))
    above = edges.parents.at(lone)
    inner, outer = lone[is_kind[above]], above[is_kind[above]]
    free = [_is_free(node[edges.names[n]], kind) for n in inner.tolist()]
    found = np.zeros(len(is_kind), dtype=bool)
    found[outer[free]] = True
    return [edges.names[n] for n in edges.order[found[edges.order]].tolist()]
