"""Builds the CPU's `Layout` of a planned program: nodes in order of evaluation, as flat arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spnc.backends.numba.dense import dense_blocks
from spnc.backends.numba.layout import CellNodes, DenseBlocks, Feeds, Layout, RowNodes
from spnc.backends.numba.node_order import depth_first, grouped
from spnc.backends.numba.schedule import schedule
from spnc.backends.numba.wide_leaves import wide_leaves
from spnc.backends.planning.edge_lists import EdgeLists, edges_of
from spnc.backends.planning.encoding import EncodedTable
from spnc.backends.planning.kinds import DENSE, MEMBER, SUM
from spnc.backends.planning.leaf_entries import leaf_entries
from spnc.backends.planning.planner import ROWS, Planner
from spnc.common.arrays import Ints
from spnc.common.gc_pause import gc_paused
from spnc.common.ragged_array import RaggedArray


@gc_paused()
def make_layout(encoded: EncodedTable) -> Layout:
    """Return the layout of a program for a table's codes."""
    return _LayoutBuilder(Planner(encoded)).layout()


class _LayoutBuilder:
    """The edges and nodes of a planned program, and the position of each node in the layout."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        sums = np.flatnonzero(planner.kinds == SUM)
        below = RaggedArray(planner.starts, planner.children)
        self.blocks = dense_blocks(sums, below.take(sums))
        self.kinds = planner.kinds.copy()
        for block in self.blocks:
            self.kinds[block.sums] = MEMBER
            self.kinds[block.sums[0]] = DENSE
        domains = planner.node_domains
        self.sizes = np.array([d.size for d in planner.domains], dtype=np.int64)[domains]
        self.is_row = domains == ROWS
        self._edges()
        self._order()

    def _edges(self) -> None:
        """Flatten all edges, by parent."""
        planner = self.planner
        self.parents, self.children, maps, self.slots = edges_of(planner)
        lengths = [len(m) for m in planner.maps]
        self.map_starts = np.cumsum([0, *lengths])  # index -1, "no map", finds the last
        self.edge_maps = np.where(maps >= 0, self.map_starts[maps], -1)
        self.is_dense = self.kinds[self.parents] >= DENSE  # MEMBERs as well

    def _order(self) -> None:
        """Choose the position of every node: cells among cells, row nodes among row nodes."""
        planner = self.planner
        among_cells = ~self.is_row[self.parents]
        together = [block.sums for block in self.blocks]
        order = schedule(
            self.sizes,
            ~self.is_row,
            self.parents[among_cells],
            self.children[among_cells],
            together,
        )
        self.stages, self.cell_costs = order.stages, order.costs
        self.cell_nodes = order.nodes
        members = RaggedArray.of(
            np.array([len(sums) for sums in together], dtype=np.int64),
            np.concatenate([np.zeros(0, dtype=np.int64), *together]),
        )
        block_of = np.full(len(self.kinds), -1, dtype=np.int64)
        block_of[members.members] = np.repeat(np.arange(len(together)), members.counts)
        self.row_nodes = depth_first(
            planner.root,
            planner.starts,
            planner.children,
            self.is_row,
            block_of,
            members.starts,
            members.members,
        )
        self.position = np.full(len(self.kinds), -1, dtype=np.int64)
        self.position[self.cell_nodes] = np.arange(len(self.cell_nodes))
        self.position[self.row_nodes] = np.arange(len(self.row_nodes))

    def _links(
        self, chosen: NDArray[np.bool_], source: Ints, target: Ints, count: int
    ) -> EdgeLists:
        """Group the chosen edges by their source, in the order of the layout."""
        picked = np.flatnonzero(chosen)
        order, starts = grouped(self.position[source[picked]], count)
        picked = picked[order]
        nodes = self.position[target[picked]]
        return EdgeLists(starts, nodes, self.edge_maps[picked], self.slots[picked])

    def _dense(self, in_rows: bool, count: int) -> DenseBlocks:
        """Return the dense blocks among the row nodes, or among the cells."""
        blocks = [block for block in self.blocks if self.is_row[block.sums[0]] == in_rows]
        firsts = np.array([block.sums[0] for block in blocks], dtype=np.int64)
        block_of = np.full(count, -1, dtype=np.int64)
        block_of[self.position[firsts]] = np.arange(len(blocks))
        slots = [self.planner.first_slots[b.sums][:, None] + b.places for b in blocks]
        sums = np.array([len(block.sums) for block in blocks], dtype=np.int64)
        fans = np.array([len(block.children) for block in blocks], dtype=np.int64)
        none = np.zeros(0, dtype=np.int64)
        return DenseBlocks(
            block_of,
            sums,
            _starts(fans),
            self.position[np.concatenate([none, *(block.children for block in blocks)])],
            _starts(sums * fans),
            np.concatenate([none, *(matrix.ravel() for matrix in slots)]),
            np.concatenate([none, *(matrix.T.ravel() for matrix in slots)]),
            _starts(fans * self.sizes[firsts]),
        )

    def layout(self) -> Layout:
        """Return the flat arrays."""
        planner, parents, children = self.planner, self.parents, self.children
        encoded = planner.encoded
        in_cells = ~self.is_row[parents]
        cell_count, row_count = len(self.cell_nodes), len(self.row_nodes)
        sizes = self.sizes[self.cell_nodes]
        offsets = np.cumsum(sizes) - sizes
        dense = self._dense(False, cell_count)
        sparse = in_cells & ~self.is_dense
        cells = CellNodes(
            self.kinds[self.cell_nodes],
            sizes,
            offsets,
            self._links(sparse, parents, children, cell_count),
            self._collected(self._links(sparse, children, parents, cell_count), dense, sizes),
        )
        to_cell = ~in_cells & ~self.is_row[children]
        to_row = ~in_cells & self.is_row[children] & ~self.is_dense
        below = self._links(to_cell, parents, children, row_count)
        gates = np.flatnonzero(np.diff(below.starts))
        row_leaves, strip = self._row_leaves()
        row_nodes = RowNodes(
            self.kinds[self.row_nodes],
            self._links(to_row, parents, children, row_count),
            below,
            gates,
            row_leaves,
        )
        above = self._links(to_cell, children, parents, cell_count)
        fed = np.flatnonzero(np.diff(above.starts))
        gate_of = np.full(row_count, -1, dtype=np.int64)
        gate_of[gates] = np.arange(len(gates))
        starts = np.append(above.starts[fed], above.starts[-1])
        feeds = Feeds(fed, EdgeLists(starts, gate_of[above.nodes], above.maps, above.slots))
        return Layout(
            encoded,
            cells,
            dense,
            row_nodes,
            strip,
            self._dense(True, row_count),
            feeds,
            leaf_entries(planner, encoded.probabilities, self._leaf_offsets(offsets)),
            self._map_pool(),
            encoded.log_reference(),
            int(sizes.sum()),
            self.stages,
            self.cell_costs,
        )

    def _map_pool(self) -> NDArray[np.uint16]:
        """Move all maps into one array; each is forgotten as soon as it is there."""
        maps = self.planner.maps
        pool = np.empty(int(self.map_starts[-1]), dtype=np.uint16)
        for i, start in enumerate(self.map_starts[:-1].tolist()):
            pool[start : start + len(maps[i])] = maps[i]
            maps[i] = None
        return pool

    def _leaf_offsets(self, offsets: Ints) -> Ints:
        """Return where the values of leaves start, among those of cells; 0 for row nodes."""
        leaves = len(self.planner.index.leaf_columns)
        found = np.zeros(leaves, dtype=np.int64)
        cells = ~self.is_row[:leaves]
        found[cells] = offsets[self.position[:leaves][cells]]
        return found

    def _row_leaves(self) -> tuple[Ints, Ints]:
        """Return the row nodes that are leaves, and their positions in a strip of leaf values."""
        leaves = wide_leaves(self.planner.encoded)
        strip = np.full(len(self.kinds), -1, dtype=np.int64)
        strip[leaves] = np.arange(len(leaves))
        found = np.flatnonzero(strip[self.row_nodes] >= 0)
        return found, strip[self.row_nodes[found]]

    def _collected(self, links: EdgeLists, dense: DenseBlocks, sizes: Ints) -> EdgeLists:
        """Return what cells collect flow from: parents, and the buffers of dense blocks above."""
        blocks = np.repeat(np.arange(len(dense.sums)), np.diff(dense.starts))
        place = np.arange(len(blocks)) - np.repeat(dense.starts[:-1], np.diff(dense.starts))
        first = np.flatnonzero(dense.block_of >= 0)
        first = first[np.argsort(dense.block_of[first])]
        buffer = dense.buffers[blocks] + place * sizes[dense.children]
        source = np.concatenate(
            [np.repeat(np.arange(len(sizes)), np.diff(links.starts)), dense.children]
        )
        order, starts = grouped(source, len(sizes))
        none = np.full(len(blocks), -1, dtype=np.int64)
        return EdgeLists(
            starts,
            np.concatenate([links.nodes, first[blocks]])[order],
            np.concatenate([links.maps, buffer])[order],
            np.concatenate([links.slots, none])[order],
        )


def _starts(counts: Ints) -> Ints:
    """Return where consecutive parts of these lengths start, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts)])
