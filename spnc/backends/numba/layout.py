"""The layout of a planned program on the CPU: flat arrays in order of evaluation.

Every node lives in a *domain*: the distinct projections of the rows onto its columns where these
are few (a leaf's domain is the codes of its column), and otherwise the rows themselves. Nodes with
a domain of their own are *cells*: a value and a flow are kept for each of their projections. The
others are *row nodes*, computed block by block; leaves over wide columns are among them. A product
reads its children through *maps* from its own domain into theirs; a sum shares the domain of its
children.

These are named tuples of arrays because compiled kernels can take them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.backends.planning.edge_lists import EdgeLists
from spnc.backends.planning.encoding import EncodedTable
from spnc.backends.planning.leaf_entries import LeafEntries
from spnc.common.arrays import Floats, Ints


class DenseBlocks(NamedTuple):
    """Dense blocks: sums first … first+sums-1 over the same children, as a matrix of weights."""

    block_of: Ints  # by node: the block that starts there; -1: none
    sums: Ints  # the number of sums of each block
    starts: Ints  # where each block's children start
    children: Ints
    weights: Ints  # where each block's matrix starts among the dense weights
    slots: Ints  # the weight slots of all matrices, [sum, child]
    transposed: Ints  # the same, [child, sum]
    buffers: Ints  # for cells: where the flows of each block to its children start


class CellNodes(NamedTuple):
    """The nodes with domains of their own. `maps` of their edges are positions in the map pool."""

    kinds: NDArray[np.uint8]
    sizes: Ints
    offsets: Ints  # where a node's values start
    children: EdgeLists
    parents: EdgeLists  # a dense block above is one edge, whose map is where its flows start


class RowNodes(NamedTuple):
    """The nodes computed row by row; the last is the root."""

    kinds: NDArray[np.uint8]
    children: EdgeLists  # those that are row nodes themselves
    cells: EdgeLists  # those that are cells, below products
    gates: Ints  # the row nodes that have cells below them
    leaves: Ints  # those that are leaves


class Feeds(NamedTuple):
    """The cells below gates, and for each the gates above it, by position among the gates."""

    cells: Ints
    gates: EdgeLists


@dataclass(frozen=True, eq=False)
class Layout:
    """A program over a table."""

    encoded: EncodedTable
    cells: CellNodes
    cell_dense: DenseBlocks
    row_nodes: RowNodes
    strip: Ints  # for every row node that is a leaf, its position in a strip of leaf values
    row_dense: DenseBlocks
    feeds: Feeds
    leaves: LeafEntries
    maps: NDArray[np.uint16]  # the pool: all maps, one after another
    reference: Floats  # the log-likelihood of each row under the reference distribution
    entries: int  # the number of values of all cells
    stages: tuple[Ints, ...]  # of cells: the first cells of a stage's tasks, and its end
    cell_costs: Ints  # the approximate cost of each cell, in entries

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.encoded.rows
