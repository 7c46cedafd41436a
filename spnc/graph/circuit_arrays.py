"""`CircuitArrays`: a whole circuit as flat arrays, between a learner and a `Program`.

A graph of millions of edges takes about a kilobyte for each, and arrays take fifty bytes. They
keep what the order of a program's nodes depends on: the order of nodes, of each node's children and
of each node's parents. So a circuit gives the same program either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.common.ragged_array import RaggedArray
from spnc.data.columns import Column
from spnc.graph.edge_arrays import generations
from spnc.graph.node_arrays import LEAF, LeafArrays, joined_leaves, node_arrays
from spnc.graph.nodes import Builder, Origin
from spnc.graph.recorded import Recorded


@dataclass(frozen=True, eq=False)
class CircuitArrays:
    """A circuit in which no parameters are tied. Nodes are numbered from 0."""

    columns: tuple[Column, ...]
    root: int
    kinds: NDArray[np.uint8]
    rows: Floats  # by node: how many training rows it was built from
    leaf_of: Ints  # by node: its number among `leaves`; -1 for sums and products
    leaves: LeafArrays
    children: RaggedArray
    weights: Floats  # by edge, in the order of `children`; NaN below products
    ranks: Ints  # by edge: those of a node's parents ascend in the order of the parents

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.kinds)

    @cached_property
    def owners(self) -> Ints:
        """The parent of every edge, in the order of `children`."""
        return np.repeat(np.arange(self.nodes), self.children.counts)

    @cached_property
    def parents(self) -> RaggedArray:
        """The parents of every node, in their order."""
        by_rank = np.argsort(self.ranks, kind="stable")
        order = by_rank[np.argsort(self.children.members[by_rank], kind="stable")]
        counts = np.bincount(self.children.members, minlength=self.nodes)
        return RaggedArray.of(counts, self.owners[order])

    @cached_property
    def generations(self) -> list[Ints]:
        """The nodes by height (see `EdgeArrays.generations`)."""
        return generations(self.children, self.parents)

    def with_edges(
        self, owners: Ints, children: Ints, weights: Floats, ranks: Ints, kept: NDArray[np.bool_]
    ) -> CircuitArrays:
        """Return the circuit with only the `kept` nodes, and these edges, all between kept nodes.

        The edges of each owner are in the order of its children.
        """
        number = np.cumsum(kept) - 1
        order = np.argsort(owners, kind="stable")
        counts = np.bincount(number[owners], minlength=int(kept.sum()))
        return replace(
            self,
            root=int(number[self.root]),
            kinds=self.kinds[kept],
            rows=self.rows[kept],
            leaf_of=self.leaf_of[kept],
            children=RaggedArray.of(counts, number[children[order]]),
            weights=weights[order],
            ranks=ranks[order],
        )


def recorded_circuit(builder: Builder) -> CircuitArrays | None:
    """Return what a builder has recorded, with the declared root, as arrays.

    Return None if it has a graph already, if nodes are tied, or if edges lead to unknown nodes.
    """
    root = builder.declared_root
    return _joined(builder, builder.recorded, 0, root) if root is not None else None


def compact(builder: Builder) -> None:
    """Turn recorded nodes into arrays, if they are all of the origin that they were recorded with.

    An object for every node takes several times the memory.
    """
    for i, block in enumerate(builder.recorded):
        nodes = block.nodes
        if isinstance(nodes, list) and all(node.origin is block.origin for node in nodes):
            builder.recorded[i] = replace(block, nodes=node_arrays(nodes) or nodes)


def recorded_part(builder: Builder, names: range, origin: Origin | None) -> CircuitArrays | None:
    """Return the recorded nodes with these names alone, numbered from 0; the root is the first.

    Return None as above, and if they have another origin or edges to other nodes.
    """
    blocks = [block for block in builder.recorded if block.first in names]
    for block in blocks:
        nodes = block.nodes
        origins = (node.origin for node in nodes) if isinstance(nodes, list) else (block.origin,)
        if any(own is not origin for own in origins):
            return None
    found = _joined(builder, blocks, names.start, 0)
    return found if found is not None and found.nodes == len(names) else None


def _joined(
    builder: Builder, blocks: Sequence[Recorded], first: int, root: int
) -> CircuitArrays | None:
    """Return the nodes of some blocks, numbered from `first` until now, as one circuit."""
    found = [
        node_arrays(block.nodes) if isinstance(block.nodes, list) else block.nodes
        for block in blocks
    ]
    parts = [part for part in found if part is not None]
    if not parts or len(parts) < len(found):
        return None
    kinds = np.concatenate([part.kinds for part in parts])
    owners = np.concatenate([block.first - first + block.parents for block in blocks])
    below = np.concatenate([block.first - first + block.children for block in blocks])
    weights = np.concatenate([block.weights for block in blocks])
    for ends in (owners, below):
        if len(ends) and (ends.min() < 0 or ends.max() >= len(kinds)):
            return None
    is_leaf = kinds == LEAF
    order = np.argsort(owners, kind="stable")
    return CircuitArrays(
        builder.columns,
        root,
        kinds,
        np.concatenate([part.rows for part in parts]),
        np.where(is_leaf, np.cumsum(is_leaf) - 1, -1),
        joined_leaves([part.leaves for part in parts]),
        RaggedArray.of(np.bincount(owners, minlength=len(kinds)), below[order]),
        weights[order],
        order,  # edges are ranked as they were recorded
    )
