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
    """Add a copy of all that lies below `root`; the copy's name for every node is answered.

    `graph` may be the builder's own. With `variables`, leaves change columns. Nodes that are tied
    to one another are so in the copy as well, but not to those that they are copied from.
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
    """The same inside the builder's graph, but nodes that are tied to one another become one.

    What happens to that one happens to all of them: so the copy can be changed.
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
