"""Builds the CPU's `Layout` of a planned program: nodes in order of evaluation, as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from itertools import count as count_from

import numpy as np
from numpy.typing import NDArray

from spnc.backends.numba.dense import dense_blocks
from spnc.backends.numba.layout import CellNodes, DenseBlocks, Feeds, Layout, RowNodes
from spnc.backends.numba.schedule import schedule
from spnc.backends.numba.wide_leaves import wide_leaves
from spnc.backends.planning.edge_lists import EdgeLists, edges_of, flat
from spnc.backends.planning.encoding import EncodedTable
from spnc.backends.planning.kinds import DENSE, MEMBER
from spnc.backends.planning.leaf_entries import leaf_entries
from spnc.backends.planning.planner import ROWS, Planner
from spnc.common.arrays import Ints
from spnc.common.gc_pause import gc_paused


@gc_paused()
def make_layout(encoded: EncodedTable) -> Layout:
    """Return the layout of a program for a table's codes."""
    return _LayoutBuilder(Planner(encoded)).layout()


class _LayoutBuilder:
    """The edges and nodes of a planned program, and the position of each node in the layout."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.blocks = dense_blocks(planner.kinds, planner.children)
        self.kinds = np.array(planner.kinds, dtype=np.uint8)
        for sums, _ in self.blocks:
            self.kinds[sums] = MEMBER
            self.kinds[sums[0]] = DENSE
        domains = np.array(planner.node_domains, dtype=np.int64)
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
        self.is_dense = np.isin(self.kinds[self.parents], (DENSE, MEMBER))

    def _order(self) -> None:
        """Choose the position of every node: cells among cells, row nodes among row nodes."""
        among_cells = ~self.is_row[self.parents]
        together = [sums for sums, _ in self.blocks]
        order = schedule(
            self.sizes,
            ~self.is_row,
            self.parents[among_cells],
            self.children[among_cells],
            together,
        )
        self.stages, self.cell_costs = order.stages, order.costs
        self.cell_nodes = order.nodes
        self.row_nodes = _depth_first(
            self.planner.root, self.planner.children, self.is_row, together
        )
        self.position = np.full(len(self.kinds), -1, dtype=np.int64)
        self.position[self.cell_nodes] = np.arange(len(self.cell_nodes))
        self.position[self.row_nodes] = np.arange(len(self.row_nodes))

    def _links(
        self, chosen: NDArray[np.bool_], source: Ints, target: Ints, count: int
    ) -> EdgeLists:
        """Group the chosen edges by their source, in the order of the layout."""
        picked = np.flatnonzero(chosen)
        picked = picked[np.argsort(self.position[source[picked]], kind="stable")]
        starts = np.searchsorted(self.position[source[picked]], np.arange(count + 1))
        nodes = self.position[target[picked]]
        return EdgeLists(starts, nodes, self.edge_maps[picked], self.slots[picked])

    def _dense(self, in_rows: bool, count: int) -> DenseBlocks:
        """Return the dense blocks among the row nodes, or among the cells."""
        planner = self.planner
        blocks = [b for b in self.blocks if self.is_row[b[0][0]] == in_rows]
        block_of = np.full(count, -1, dtype=np.int64)
        slots: list[int] = []
        transposed: list[int] = []
        sizes, buffers = [], []
        for number, (sums, children) in enumerate(blocks):
            block_of[self.position[sums[0]]] = number
            matrix = []
            for s in sums:
                own = zip(planner.children[s], count_from(planner.first_slots[s]), strict=False)
                slot = dict(own)
                matrix.append([slot[c] for c in children])
            slots += chain.from_iterable(matrix)
            transposed += chain.from_iterable(zip(*matrix, strict=True))
            sizes.append(len(sums) * len(children))
            buffers.append(len(children) * int(self.sizes[sums[0]]))
        fans = [len(children) for _, children in blocks]
        return DenseBlocks(
            block_of,
            np.array([len(sums) for sums, _ in blocks], dtype=np.int64),
            np.cumsum([0, *fans]),
            self.position[flat([children for _, children in blocks])],
            np.cumsum([0, *sizes]),
            np.array(slots, dtype=np.int64),
            np.array(transposed, dtype=np.int64),
            np.cumsum([0, *buffers]),
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
            np.concatenate([np.empty(0, dtype=np.uint16), *planner.maps]),
            encoded.log_reference(),
            int(sizes.sum()),
            self.stages,
            self.cell_costs,
        )

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
        order = np.argsort(source, kind="stable")
        none = np.full(len(blocks), -1, dtype=np.int64)
        return EdgeLists(
            np.searchsorted(source[order], np.arange(len(sizes) + 1)),
            np.concatenate([links.nodes, first[blocks]])[order],
            np.concatenate([links.maps, buffer])[order],
            np.concatenate([links.slots, none])[order],
        )


def _depth_first(
    root: int,
    children: Sequence[Sequence[int]],
    is_row: NDArray[np.bool_],
    together: Sequence[Sequence[int]],
) -> Ints:
    """Order row nodes depth first, each close to its first use; sums of a block stay together."""
    block = {n: sums for sums in together for n in sums}
    found: list[int] = []
    done: set[int] = set()
    seen = {root}
    stack = [(root, iter(children[root]))]
    while stack:
        node, rest = stack[-1]
        for child in rest:
            if is_row[child] and child not in seen:
                seen.add(child)
                stack.append((child, iter(children[child])))
                break
        else:
            for one in block.get(node, [node]):
                if one not in done:
                    done.add(one)
                    seen.add(one)
                    found.append(one)
            stack.pop()
    return np.array(found, dtype=np.int64)
