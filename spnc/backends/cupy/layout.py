"""The layout of a planned program in the order in which a device evaluates it. NumPy only.

Nodes are those of the planner: cells, which have a value for each of their projections, and row
nodes, which have one for each row. They are renumbered, cells first, in *steps*: runs of nodes of
one kind whose children all lie in earlier steps. Step 0 has the leaves; the last has the root.
Flows go through the same steps in reverse, each node gathering from its parents.

A cell below a row node is *fed*: the flows of rows are summed per projection, for each such edge
separately, before the cell gathers them. Where many rows share a projection, they are dealt out to
several lists, so that no thread has to add up thousands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spnc.backends.cupy import trouble
from spnc.backends.cupy.inverse import Inverse, dealt, inverse
from spnc.backends.planning.edge_lists import EdgeLists, edges_of
from spnc.backends.planning.encoding import EncodedTable
from spnc.backends.planning.kinds import LEAF, PRODUCT, SUM
from spnc.backends.planning.leaf_entries import LeafEntries, leaf_entries
from spnc.backends.planning.planner import ROWS, Planner
from spnc.common.arrays import Floats, Ints
from spnc.common.gc_pause import gc_paused


@dataclass(frozen=True, eq=False)
class FeedLists:
    """The edges from row nodes to cells, by cell: those of cell n are starts[n] … starts[n+1]-1."""

    starts: Ints
    gates: Ints  # the row nodes
    maps: Ints  # the position in `row_maps` of the map from rows to projections
    row_maps: Ints  # the numbers of these maps
    lists: tuple[Ints, ...]  # by map: the first list of every projection, and the end of the last
    firsts: Ints  # where the totals fed through each edge start, and the end of the last

    @cached_property
    def list_starts(self) -> int:
        """The length of the array that says where the lists of a chunk start and end."""
        return sum(int(own[-1]) + 1 for own in self.lists)


@dataclass(frozen=True, eq=False)
class Layout:
    """A program over a table, independent of any device."""

    rows: int
    sizes: Ints  # the projections of every cell
    offsets: Ints  # where the values of cells start, and the end of the last
    nodes: int  # cells and row nodes; the last is the root
    steps: Ints  # the first node of every step, and the end of the last
    step_is_sum: NDArray[np.bool_]
    cell_steps: int  # the steps of cells, leaves among them; those of row nodes follow
    first_slots: Ints  # by node: its first weight slot; -1 if it is no sum
    children: EdgeLists  # their maps are numbers in `maps`
    parents: EdgeLists  # among cells, and among row nodes; maps lead from the parent to the child
    feeds: FeedLists
    maps: tuple[NDArray[np.uint16], ...]
    inverses: dict[int, Inverse]  # of the maps between cells
    leaves: LeafEntries
    leaf_count: int  # the number of leaf values, those of missing cells included
    reference: Floats  # the log-likelihood of every row under the reference distribution

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.sizes)

    @property
    def row_nodes(self) -> int:
        """The number of row nodes."""
        return self.nodes - self.cells

    @property
    def entries(self) -> int:
        """The number of values of all cells."""
        return int(self.offsets[-1])

    @cached_property
    def slots(self) -> int:
        """The number of sum weights."""
        return int((self.children.slots >= 0).sum())

    @cached_property
    def row_slots(self) -> int:
        """The number of sum weights that belong to row nodes."""
        first = self.children.starts[self.cells]
        return int((self.children.slots[first:] >= 0).sum())


@gc_paused()
def make_layout(encoded: EncodedTable) -> Layout:
    """Return the layout of a program for a table's codes; raise E709 if a column is too wide.

    Every numeric column has a codebook.
    """
    index = encoded.index
    if encoded.codes.dtype != np.uint16:  # projections, and so codes, are numbered by 16 bits
        raise trouble.too_many_states(index.program.columns)
    planner = Planner(encoded)
    kinds, domains = planner.kinds, planner.node_domains
    is_row = domains == ROWS
    step = _steps(planner, is_row)
    order = np.lexsort((domains, step, is_row))
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    own_steps, firsts = np.unique(np.stack([is_row[order], step[order]]), axis=1, return_index=True)

    cells = int((~is_row).sum())
    sizes = np.array([d.size for d in planner.domains], dtype=np.int64)[domains[order[:cells]]]
    offsets = np.concatenate([[0], np.cumsum(sizes)])

    edges = edges_of(planner)
    parents, children = position[edges.parents], position[edges.children]
    feeding = (parents >= cells) & (children < cells)
    first_slots = planner.first_slots[order]
    inner = ~feeding & (edges.maps >= 0)
    return Layout(
        rows=planner.row_count,
        sizes=sizes,
        offsets=offsets,
        nodes=len(order),
        steps=np.append(firsts, len(order)),
        step_is_sum=kinds[order][firsts] == SUM,
        cell_steps=int((own_steps[0] == 0).sum()),
        first_slots=first_slots,
        children=_links(parents, children, edges.maps, edges.slots, len(order)),
        parents=_links(
            children[~feeding],
            parents[~feeding],
            edges.maps[~feeding],
            edges.slots[~feeding],
            len(order),
        ),
        feeds=_feeds(children[feeding], parents[feeding], edges.maps[feeding], sizes, planner.maps),
        maps=tuple(planner.maps),
        inverses={
            int(number): inverse(planner.maps[number], int(sizes[child]))
            for number, child in zip(
                *_first_of_each(edges.maps[inner], children[inner]), strict=True
            )
        },
        leaves=leaf_entries(
            planner,
            list(encoded.log_reference_tables.values()),
            offsets[position[: len(index.leaf_columns)]],
        ),
        leaf_count=encoded.leaves.count,
        reference=encoded.log_reference(),
    )


def _steps(planner: Planner, is_row: NDArray[np.bool_]) -> Ints:
    """Return the step of every node, counted among cells or row nodes: products odd, sums even."""
    row, steps = is_row.tolist(), [0] * len(planner.kinds)
    starts = planner.starts.tolist()
    for n, kind in enumerate(planner.kinds.tolist()):
        if kind == LEAF:
            continue
        children = planner.children[starts[n] : starts[n + 1]].tolist()
        below = max((steps[c] for c in children if row[c] == row[n]), default=0)
        steps[n] = below + 1 + (below % 2 if kind == PRODUCT else (below + 1) % 2)
    return np.array(steps, dtype=np.int64)


def _links(nodes: Ints, others: Ints, maps: Ints, slots: Ints, count: int) -> EdgeLists:
    order = np.argsort(nodes, kind="stable")
    starts = np.searchsorted(nodes[order], np.arange(count + 1))
    return EdgeLists(starts, others[order], maps[order], slots[order])


def _feeds(
    cells: Ints, gates: Ints, numbers: Ints, sizes: Ints, maps: list[NDArray[np.uint16]]
) -> FeedLists:
    order = np.argsort(cells, kind="stable")
    cells, gates, numbers = cells[order], gates[order], numbers[order]
    row_maps, edges, own = np.unique(numbers, return_index=True, return_inverse=True)
    own = own.reshape(-1)
    lists = tuple(
        dealt(maps[number], size)
        for number, size in zip(row_maps.tolist(), sizes[cells[edges]].tolist(), strict=True)
    )
    fed = np.array([firsts[-1] for firsts in lists], dtype=np.int64)[own]
    return FeedLists(
        np.searchsorted(cells, np.arange(len(sizes) + 1)),
        gates,
        own,
        row_maps,
        lists,
        np.concatenate([[0], np.cumsum(fed)]),
    )


def _first_of_each(keys: Ints, values: Ints) -> tuple[list[int], list[int]]:
    found, firsts = np.unique(keys, return_index=True)
    return found.tolist(), values[firsts].tolist()
