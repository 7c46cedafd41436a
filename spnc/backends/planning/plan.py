"""The plan: a program laid out over the distinct projections of a table's rows, as flat arrays.

Every node lives in a *domain*: the distinct projections of the rows onto its columns where these
are few (a leaf's domain is the codes of its column), and otherwise the rows themselves. Nodes with
a domain of their own are *cells*: a value and a flow are kept for each of their projections. The
others are *row nodes*, computed block by block. A product reads its children through *maps* from
its own domain into theirs; a sum shares the domain of its children.

These are named tuples of arrays because that is what compiled kernels can take apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints

Codes = NDArray[np.unsignedinteger]  # codes[column, row]; the number of states where it's missing

# Kinds of node. Sums that share all their children are one dense block, computed at its first.
LEAF, PRODUCT, SUM, DENSE, MEMBER = range(5)


class Links(NamedTuple):
    """Edges by their source: those of node i are starts[i] … starts[i+1]-1."""

    starts: Ints
    nodes: Ints
    maps: Ints  # where the edge's map starts in the pool of maps
    slots: Ints  # the weight slot, below sums; else -1


class Dense(NamedTuple):
    """Dense blocks: sums first … first+sums-1 over the same children, as a matrix of weights."""

    block_of: Ints  # of a node: the block it is the first of
    sums: Ints
    starts: Ints  # where a block's children start
    children: Ints
    weights: Ints  # where a block's matrix starts among the dense weights
    slots: Ints  # the weight slots of all matrices, [sum, child]
    transposed: Ints  # and [child, sum]
    buffers: Ints  # of cells: where a block's flows to its children start


class Cells(NamedTuple):
    """The nodes with domains of their own, in order of evaluation."""

    kinds: NDArray[np.uint8]
    sizes: Ints
    offsets: Ints  # where a node's values start
    children: Links
    parents: Links  # of a dense block: one edge, whose map is where its flows start


class RowNodes(NamedTuple):
    """The nodes computed row by row, in order of evaluation; the last is the root."""

    kinds: NDArray[np.uint8]
    children: Links  # those that are row nodes themselves
    cells: Links  # those that are cells, below products
    gates: Ints  # the row nodes with cells below them


class Feeds(NamedTuple):
    """The cells below gates, and for each the gates above it, by position among the gates."""

    cells: Ints
    gates: Links


class Leaves(NamedTuple):
    """Where the values of leaf cells come from."""

    entries: Ints  # positions among the cells' values
    sources: Ints  # positions in the flat list of leaf probabilities
    reference: Floats  # what these are divided by


@dataclass(frozen=True, eq=False)
class Plan:
    """A program over a table."""

    rows: int
    cells: Cells
    cell_dense: Dense
    row_nodes: RowNodes
    row_dense: Dense
    feeds: Feeds
    leaves: Leaves
    maps: NDArray[np.uint16]
    reference: Floats  # the log-likelihood of each row under the reference
    entries: int  # values of cells in all
    stages: tuple[Ints, ...]  # of cells: the first cells of a stage's tasks, and its end
    cell_costs: Ints  # what each cell costs, about
