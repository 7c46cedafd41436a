"""Nodes that were added to a builder at once, with their edges as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints

if TYPE_CHECKING:
    from spnc.graph.node_arrays import NodeArrays
    from spnc.graph.nodes import Graph, Node, Origin

_EDGES_AT_ONCE = 1 << 16  # that are lists and tuples at the same time, before they become arrays


@dataclass(frozen=True, eq=False)
class Recorded:
    """Nodes, and edges that number them from 0."""

    first: int  # the name of the first node
    nodes: list[Node] | NodeArrays
    origin: Origin | None  # of the nodes in arrays
    parents: Ints
    children: Ints
    weights: Floats  # NaN where there is none
    weighted: NDArray[np.bool_]

    def add_to(self, graph: Graph) -> None:
        """Add the nodes and edges to a graph."""
        nodes = self.nodes
        payloads = nodes if isinstance(nodes, list) else nodes.payloads(self.origin)
        made = dict(enumerate(payloads, self.first))
        graph.add_nodes_from(made)
        nx.set_node_attributes(graph, made, "node")
        parts = (self.first + self.parents, self.first + self.children, self.weights, self.weighted)
        graph.add_edges_from(
            (n, c, {"weight": w}) if weighted else (n, c)
            for n, c, w, weighted in zip(*(part.tolist() for part in parts), strict=True)
        )


def edge_columns(
    edges: Iterable[tuple[int, int, float | None]],
) -> tuple[Ints, Ints, Floats, NDArray[np.bool_]]:
    """Return parents, children and weights of edges, and which of them have a weight."""
    rest = iter(edges)
    parts = []
    while piece := list(islice(rest, _EDGES_AT_ONCE)):
        parents, children, weights = zip(*piece, strict=True)
        ends = np.array([parents, children], dtype=np.int64)
        weighted = np.array([weight is not None for weight in weights])
        parts.append((*ends, np.array(weights, dtype=np.float64), weighted))
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return none, none, np.zeros(0), np.zeros(0, dtype=np.bool_)
    found: Any = tuple(np.concatenate(each) for each in zip(*parts, strict=True))
    return found  # type: ignore[no-any-return]
