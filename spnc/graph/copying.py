"""Copies of circuits, made inside the graph of a builder."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from spnc.graph.edges import add_weight
from spnc.graph.equality import representatives
from spnc.graph.nodes import Builder, Graph, Leaf, Product, below, children, children_first


def copy_below(
    builder: Builder, graph: Graph, root: Hashable, variables: Mapping[int, int] | None = None
) -> dict[Any, int]:
    """Add a copy of `root` and everything below it. Return the copy's name for every node.

    `graph` may be the builder's own. `variables` maps the leaves' columns to new ones. Nodes that
    are tied to one another are tied in the copy as well, but not to their originals.
    """
    made: dict[Any, int] = {}
    edges = children(graph)
    for n in _below_children_first(graph, root):
        payload = graph.nodes[n]["node"]
        changes: dict[str, Any] = {}
        if isinstance(payload, Leaf) and variables is not None:
            changes["variable"] = variables[payload.variable]
        if not isinstance(payload, Product) and payload.tie is not None:
            changes["tie"] = (builder.origin, payload.tie)
        made[n] = builder.like(payload, **changes)
        for child, data in edges[n].items():
            builder.connect(made[n], made[child], data.get("weight"))
    return made


def copy_joined(builder: Builder, root: int) -> dict[int, int]:
    """Copy within the builder's graph, and merge nodes that are tied to one another into one.

    The copy can then be changed without breaking ties. Return the copy's name for every node.
    """
    graph = builder.graph
    order = _below_children_first(graph, root)
    same = representatives(graph, order, finished=False)
    made: dict[Any, int] = {}
    edges = children(graph)
    for n in order:
        if same[n] != n:
            made[n] = made[same[n]]
            continue
        payload = graph.nodes[n]["node"]
        free = {} if isinstance(payload, Product) else {"tie": None}
        made[n] = builder.like(payload, **free)
        for child, data in edges[n].items():
            if isinstance(payload, Product):
                builder.connect(made[n], made[child])
            else:
                add_weight(graph, made[n], made[child], data["weight"])
    return made


def _below_children_first(graph: Graph, root: Hashable) -> list[Any]:
    wanted = set(below(graph, root))
    return [n for n in children_first(graph) if n in wanted]
