"""`LayoutExecutor`: runs the kernels over a layout, shared out among threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from spnc.backends.numba import kernels, upper_bounds
from spnc.backends.numba.layout import Layout
from spnc.backends.numba.row_memory import RowMemory
from spnc.backends.numba.schedule import WORTH_SHARING
from spnc.common.arrays import Floats, Ints
from spnc.common.threads import ThreadTeam, even_bounds, shares
from spnc.program.program import Parameters

LOG_FLOOR = np.log(kernels.FLOOR)
LOG_EXACT = np.log(1e-15)  # the share of a value that may be lost: log-likelihoods stay exact


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class LayoutExecutor:
    """A layout, its working memory (allocated once), and the passes over it.

    Rows are computed in *blocks* that fit into the cache, and flows in *waves* of blocks: after
    each wave, the flows of its row nodes are fed to the cells below them.
    """

    def __init__(self, layout: Layout, team: ThreadTeam) -> None:
        self.layout, self.team = layout, team
        self.values = np.zeros(layout.entries)
        self.flows = np.empty(layout.entries)
        self.cells_alive = np.ones(len(layout.cells.kinds), dtype=np.uint8)
        self.rows_alive = np.ones(len(layout.row_nodes.kinds), dtype=np.uint8)
        # Given None, kernels are compiled without the code for dense blocks.
        self.cell_dense = layout.cell_dense if len(layout.cell_dense.sums) else None
        self.row_dense = layout.row_dense if len(layout.row_dense.sums) else None
        self.cell_slots = np.stack([layout.cell_dense.slots, layout.cell_dense.transposed])
        self.row_slots = np.stack([layout.row_dense.slots, layout.row_dense.transposed])
        self.buffers = np.empty(int(layout.cell_dense.buffers[-1]))
        self.dense_counts = np.zeros(len(layout.cell_dense.slots))
        self.memory = memory = RowMemory(layout, team.threads)
        nodes, cells = layout.row_nodes, layout.cells
        gathered = len(nodes.cells.nodes) * memory.wave * memory.width
        computed = len(nodes.children.nodes) + len(layout.row_dense.slots) + len(nodes.leaves)
        self.feed_bounds = shares(layout.feeds.gates.starts, self._parts(gathered))
        self.row_parts = self._parts(gathered + computed * memory.wave * memory.width)
        places = sum(len(links.nodes) for links in (nodes.children, nodes.cells, cells.children))
        places += len(layout.row_dense.slots) + len(cells.kinds) + len(nodes.kinds)
        self.log_loss = LOG_FLOOR + np.log(places) - LOG_EXACT
        self.stage_bounds = [self._stage_bounds(stage) for stage in layout.stages]

    def _stage_bounds(self, stage: Ints) -> list[int]:
        """Share out a stage's tasks: the first cell of every share, and the end of the last."""
        up_to = np.concatenate([[0], np.cumsum(self.layout.cell_costs)])[stage]
        return [int(stage[i]) for i in shares(up_to, self._parts(int(up_to[-1] - up_to[0])))]

    def _parts(self, cost: int) -> int:
        """Return how many parts to cut work of this cost into."""
        return self.team.threads if cost >= WORTH_SHARING else 1

    def one_blas_thread(self) -> AbstractContextManager[Any]:
        """Keep BLAS to one thread, since the team's threads call it in parallel."""
        numeric = bool(self.layout.encoded.index.leaf_groups)  # their statistics are products
        calls = numeric or self.cell_dense is not None or self.row_dense is not None
        return _blas().limit(limits=1, user_api="blas") if calls else nullcontext()

    # -- values --------------------------------------------------------------------------------

    def start(self, parameters: Parameters) -> None:
        """Compute everything below the row nodes: leaf values, live nodes, values of all cells."""
        layout, encoded, weights = self.layout, self.layout.encoded, parameters.weights
        self.weights = weights
        self.memory.wide.start(parameters)
        ratios = encoded.leaves.ratios(parameters, encoded.log_reference_tables)
        self.cell_matrices = weights[self.cell_slots]
        self.row_matrices = weights[self.row_slots]
        self._mark_alive(weights)
        leaves = layout.leaves
        self.values[leaves.entries] = ratios[leaves.sources] / leaves.reference
        flags = np.zeros(self.team.threads, dtype=np.int64)
        self.bounds: tuple[Ints, Floats] | None = None
        if encoded.index.leaf_groups:
            numeric = ratios[encoded.leaves.finite :]
            flags[0] = kernels.LOW if ((numeric > 0.0) & (numeric < kernels.FLOOR)).any() else 0
            self.bounds = encoded.log_bounds(ratios)

        def work(worker: int, first: int, last: int) -> None:
            flags[worker] |= kernels.cells_forward(
                first, last, layout.cells, self.cell_dense, weights, self.cell_matrices,
                layout.maps, self.cells_alive, self.values,
            )  # fmt: skip

        self._in_stages(work)
        self.cell_flags = int(np.bitwise_or.reduce(flags))
        self.upper_values = self.cells_upper_bound()

    def _in_stages(self, work: Callable[[int, int, int], None]) -> None:
        for bounds in self.stage_bounds:
            self.team.run(bounds, work)

    def _mark_alive(self, weights: Floats) -> None:
        """Mark the nodes that the root reaches through weights above zero; others are skipped."""
        cells, nodes = self.layout.cells, self.layout.row_nodes
        if (weights > 0.0).all():
            self.rows_alive[:] = 1
            self.cells_alive[:] = 1
            return
        self.rows_alive[:] = 0
        self.rows_alive[-1] = 1
        kernels.mark_alive(nodes.kinds, nodes.children, self.row_dense, weights, self.rows_alive)
        self.cells_alive[:] = 0
        edges = np.repeat(self.rows_alive, np.diff(nodes.cells.starts)) != 0
        self.cells_alive[nodes.cells.nodes[edges]] = 1
        kernels.mark_alive(cells.kinds, cells.children, self.cell_dense, weights, self.cells_alive)

    def log_likelihoods(self, found: Floats) -> None:
        """Write the log-likelihood of every row to `found`; NaN where the range was too small."""
        self._rows(self._block_bounds(0, self.memory.blocks), np.empty(0), False, found)

    def _block_bounds(self, first: int, last: int) -> list[int]:
        """Share out the blocks first … last-1, strip by strip; `first` is the first of a strip."""
        strip = self.memory.wide.blocks if self.memory.wide.groups else 1
        parts = even_bounds(-(-(last - first) // strip), self.row_parts)
        return [min(last, first + strip * part) for part in parts]

    def _rows(self, bounds: list[int], row_weights: Floats, flowing: bool, found: Floats) -> None:
        """Make one pass over the blocks within the bounds, which start at the first of a wave."""

        def work(worker: int, first: int, last: int) -> None:
            for start in range(first, last, self.memory.wide.blocks):
                stop = min(start + self.memory.wide.blocks, last)
                self._strip(worker, start, stop, bounds[0], row_weights, flowing, found)

        self.team.run(bounds, work)

    def _strip(
        self,
        worker: int,
        first: int,
        last: int,
        base: int,
        row_weights: Floats,
        flowing: bool,
        found: Floats,
    ) -> None:
        """Make one pass over the blocks first … last-1 of a wave that starts at block `base`."""
        layout, memory, wide = self.layout, self.memory, self.memory.wide
        rows = memory.rows_of(first, last)
        low = bool(wide.groups) and wide.fill(worker, rows)

        def compute() -> None:
            memory.flags[first:last] = kernels.LOW if low else 0
            kernels.rows_pass(
                first, last, memory.width, layout.row_nodes, self.row_dense, memory.places,
                layout.cells.offsets, self.weights, self.row_matrices, layout.maps, self.rows_alive,
                self.values, layout.reference, row_weights, memory.skipped, flowing, base,
                memory.values[worker], memory.flows[worker], memory.dense_flows[worker],
                memory.gate_flows, memory.block_counts, memory.dense_block_counts, memory.flags,
                found,
            )  # fmt: skip

        compute()
        doubtful = self._check_range(worker, first, last, found)
        if not flowing:
            return
        if doubtful:  # again, without the flow of those rows
            judged = found[rows].copy()
            memory.skipped[rows] = np.isnan(judged)
            compute()
            found[rows] = judged
        if wide.groups:
            wide.collect(worker, rows)

    # -- rows beyond the range of doubles ------------------------------------------------------

    def _check_range(self, worker: int, first: int, last: int, found: Floats) -> bool:
        """Compare rows with low numbers to their upper bounds; set them to NaN where these differ.

        Return whether any row was set to NaN.
        """
        layout, memory = self.layout, self.memory
        flags = memory.flags[first:last]
        flags |= self.cell_flags
        if not (flags & kernels.LOW).any():
            return False
        rows = memory.rows_of(first, last)
        own = found[rows]
        if self.bounds is not None:
            self._clear_flags(worker, rows, flags, own)
            if not (flags & kernels.LOW).any():
                return False
        above = memory.above[rows]
        above[:] = np.nan
        # The flows of inner nodes are not needed any more, but those of leaves are.
        flows, values = memory.flows[worker], memory.values[worker]
        uppers = values.copy() if memory.wide.groups else flows
        upper_bounds.rows_upper_bound(
            first, last, memory.width, layout.row_nodes, self.row_dense, memory.places,
            layout.cells.offsets, self.weights, self.row_matrices, layout.maps, memory.identity,
            self.rows_alive, self.upper_values, layout.reference, memory.flags, uppers,
            memory.above,
        )  # fmt: skip
        doubtful = above - own > upper_bounds.CLOSE * np.maximum(1.0, np.abs(own))
        own[doubtful] = np.nan
        # Rows beyond the ceiling were set to zero above, which says nothing about them.
        high = np.repeat(flags & kernels.HIGH, memory.width)[: len(own)] != 0
        own[(above == -np.inf) & ~high] = -np.inf
        return bool(doubtful.any())

    def _clear_flags(self, worker: int, rows: slice, flags: Ints, own: Floats) -> None:
        """Clear the flags of blocks in which no lost number can matter to any row.

        Whatever was lost at one place is less than the floor times one leaf value of each other
        column. Densities far from a value are often lost, so that this is worth finding out.
        """
        assert self.bounds is not None
        starts, table = self.bounds
        size = rows.stop - rows.start
        least = self.memory.wide.log_bounds(worker, size)
        kernels.add_by_code(rows.start, rows.stop, self.layout.encoded.codes, starts, table, least)
        least += self.log_loss
        exact = own - self.layout.reference[rows] > least
        blocks = np.logical_and.reduceat(exact, np.arange(0, size, self.memory.width))
        flags[blocks] &= ~kernels.LOW

    def cells_upper_bound(self) -> Floats:
        """Return upper bounds of the values of all cells: the values if none of them is low."""
        if not self.cell_flags & kernels.LOW:
            return self.values
        layout, values = self.layout, self.values.copy()

        def work(_: int, first: int, last: int) -> None:
            upper_bounds.cells_upper_bound(
                first, last, layout.cells, self.cell_dense, self.weights, self.cell_matrices,
                layout.maps, self.cells_alive, values,
            )  # fmt: skip

        self._in_stages(work)
        return values

    # -- flows ---------------------------------------------------------------------------------

    def flows_through_rows(
        self, row_weights: Floats, found: Floats, counts: Floats, tables: Sequence[Floats]
    ) -> None:
        """Compute log-likelihoods into `found`, and the flows of row nodes.

        Flows of edges between row nodes are added to `counts`, statistics of leaves over wide
        columns to `tables`; flows of gates are fed to the cells. Rows whose log-likelihood is NaN
        in the end have no flow.
        """
        layout, memory = self.layout, self.memory
        self.flows[:] = 0.0
        memory.skipped[:] = 0
        # Nodes that are dead in this pass may have left counts in the last one.
        for left in (memory.block_counts, memory.dense_block_counts, self.dense_counts):
            left[:] = 0.0
        for base in range(0, memory.blocks, memory.wave):
            end = min(base + memory.wave, memory.blocks)
            self._rows(self._block_bounds(base, end), row_weights, True, found)
            parts, dense_parts = memory.block_counts, memory.dense_block_counts
            kernels.add_counts(parts[: end - base], layout.row_nodes.children.slots, counts)
            kernels.add_counts(dense_parts[: end - base], layout.row_dense.slots, counts)
            self._feed(memory.rows_of(base, end))
            memory.wide.add()
        memory.wide.add_to(tables)

    def _feed(self, rows: slice) -> None:
        """Add a wave's flows to the cells."""
        layout, memory, size = self.layout, self.memory, rows.stop - rows.start

        def work(_: int, first: int, last: int) -> None:
            kernels.feed_cells(
                first, last, rows.start, size, memory.width, layout.feeds, layout.cells.offsets,
                layout.maps, memory.gate_flows, self.flows,
            )  # fmt: skip

        self.team.run(self.feed_bounds, work)

    def flows_through_cells(self, counts: Floats) -> None:
        """Compute the flows of all cells, and write those of their edges to `counts`."""
        layout = self.layout
        if self.cell_flags & kernels.HIGH:  # infinity times a flow of zero would be NaN
            self.values[~np.isfinite(self.values)] = 0.0

        def work(_: int, first: int, last: int) -> None:
            kernels.cells_backward(
                first, last, layout.cells, self.cell_dense, self.weights, self.cell_matrices,
                layout.maps, self.cells_alive, self.values, self.flows, self.buffers, counts,
                self.dense_counts,
            )  # fmt: skip

        for bounds in reversed(self.stage_bounds):
            self.team.run(bounds, work)
        counts[layout.cell_dense.slots] = self.dense_counts
