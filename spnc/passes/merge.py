"""Merge a sum into the sum above it, and a product into the product above it.

Only where the inner node has that one parent and is not tied to another: then it is an
intermediate result that nobody else uses, and a level of evaluation is saved.
"""

from __future__ import annotations

from spnc.graph.nodes import Graph, Product, Sum, children_first, payloads
from spnc.passes.edges import add_weight


def merge_sums(graph: Graph) -> Graph:
    """Σ wᵢ (Σ vⱼ cⱼ) becomes Σ wᵢ vⱼ cⱼ."""
    node = payloads(graph)
    for n in children_first(graph):
        if not isinstance(node[n], Sum):
            continue
        waiting = list(graph.succ[n])
        while waiting:
            child = waiting.pop()
            if child not in graph:
                continue  # merged already
            inner = node[child]
            if isinstance(inner, Sum) and inner.tie is None and len(graph.pred[child]) == 1:
                outer = graph.succ[n][child]["weight"]
                for grandchild, edge in list(graph.succ[child].items()):
                    add_weight(graph, n, grandchild, outer * edge["weight"])
                    waiting.append(grandchild)  # it may have had these two as its only parents
                graph.remove_node(child)
    return graph


def merge_products(graph: Graph) -> Graph:
    """A product of products becomes one product."""
    node = payloads(graph)
    for n in children_first(graph):
        if not isinstance(node[n], Product):
            continue
        for child in list(graph.succ[n]):
            if isinstance(node[child], Product) and len(graph.pred[child]) == 1:
                graph.add_edges_from((n, grandchild) for grandchild in list(graph.succ[child]))
                graph.remove_node(child)
    return graph
