"""How products are rewritten: once for each shape, and from that for every product of the shape."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spnc.backends.planning.compiling import kernel
from spnc.backends.planning.kinds import PRODUCT, SUM
from spnc.common.arrays import Ints


class Shapes(NamedTuple):
    """The nodes of the rewriting of every shape, children first, as flat arrays.

    The nodes of shape i are nodes[i] … nodes[i+1]-1, the last of them the product itself; the
    edges of node q are edges[q] … edges[q+1]-1. A named tuple, since kernels can take it apart.
    """

    nodes: Ints
    domains: Ints
    edges: Ints
    children: Ints  # the position of a factor, or -1-i for node i of the shape
    maps: Ints


class ShapeList:
    """Collects the rewritings of shapes."""

    def __init__(self) -> None:
        # Arrays of machine integers: lists of Python's take several times the memory.
        self._nodes, self._edges = array("q", [0]), array("q", [0])
        self._domains, self._children, self._maps = array("q"), array("q"), array("q")

    def add(self, domain: int, children: Sequence[int], maps: Sequence[int]) -> int:
        """Add a node to the shape that is being made. Return its number there."""
        self._domains.append(domain)
        self._children.extend(children)
        self._maps.extend(maps)
        self._edges.append(len(self._children))
        return len(self._domains) - 1 - self._nodes[-1]

    def close(self) -> None:
        """End the shape that is being made."""
        self._nodes.append(len(self._domains))

    def flat(self) -> Shapes:
        """Return the rewritings of all shapes."""
        parts = (self._nodes, self._domains, self._edges, self._children, self._maps)
        return Shapes(*(np.array(part, dtype=np.int64) for part in parts))


@kernel
def expand(nodes, shape_of, firsts, shapes, number, kinds, domains, starts, children, maps):
    """Write the nodes that stand for every inner node, given where they start.

    `nodes` are those of `ProgramIndex.inner_nodes`; `number[n]` is the new number of node n. For
    sums, `domains` is filled in already, and so is -1 in `maps`. starts[firsts[0]] is where the
    edges of the first node start.
    """
    old_kinds, old_starts, old_children, _ = nodes
    e = 0
    for n in range(len(old_kinds)):
        at, own = firsts[n], old_starts[n]
        if old_kinds[n] == SUM:
            kinds[at] = SUM
            for k in range(own, old_starts[n + 1]):
                children[e] = number[old_children[k]]
                e += 1
            starts[at + 1] = e
            continue
        first = shapes.nodes[shape_of[n]]
        for q in range(first, shapes.nodes[shape_of[n] + 1]):
            new = at + q - first
            kinds[new] = PRODUCT
            domains[new] = shapes.domains[q]
            for k in range(shapes.edges[q], shapes.edges[q + 1]):
                c = shapes.children[k]
                children[e] = number[old_children[own + c]] if c >= 0 else at - 1 - c
                maps[e] = shapes.maps[k]
                e += 1
            starts[new + 1] = e
