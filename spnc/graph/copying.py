"""Copies of circuits, made inside the graph of a builder."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from spnc.graph.nodes import Builder, Graph, Leaf, Product, below, children, children_first


def copy_below(
    builder: Builder, graph: Graph, root: Hashable, variables: Mapping[int, int] | None = None
) -> dict[Any, int]:
    """Add a copy of all that lies below `root`; the copy's name for every node is answered.

    `graph` may be the builder's own. With `variables`, leaves change columns. Nodes that are tied
    to one another are so in the copy as well, but not to those that they are copied from.
    """
    wanted = set(below(graph, root))
    edges = children(graph)
    made: dict[Any, int] = {}
    for n in [n for n in children_first(graph) if n in wanted]:
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
