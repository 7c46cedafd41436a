"""A plan at work: its memory, how the work is shared out among threads, and the passes over it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from spnc.backends.numba import bracket, kernels
from spnc.backends.numba.schedule import WORTH_SHARING
from spnc.backends.planning.plan import Plan
from spnc.common.arrays import Floats, Ints
from spnc.common.threads import ThreadTeam, even_bounds, shares

CACHE_BYTES = 600_000  # half of a second-level cache, for a block's values and flows
DENSE_WIDTH = 64  # matrix products want at least so many rows
WAVE_BYTES = 32_000_000  # for the flows that wait to be fed to the cells


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class Running:
    """The working memory of a plan, made once, and the passes."""

    def __init__(self, plan: Plan, team: ThreadTeam) -> None:
        self.plan, self.team = plan, team
        self.values = np.zeros(plan.entries)
        self.flows = np.empty(plan.entries)
        self.cells_alive = np.ones(len(plan.cells.kinds), dtype=np.uint8)
        self.rows_alive = np.ones(len(plan.row_nodes.kinds), dtype=np.uint8)
        # Kernels leave out what concerns dense blocks when told that there are none.
        self.cell_dense = plan.cell_dense if len(plan.cell_dense.sums) else None
        self.row_dense = plan.row_dense if len(plan.row_dense.sums) else None
        self.buffers = np.empty(int(plan.cell_dense.buffers[-1]))
        self.dense_counts = np.zeros(len(plan.cell_dense.slots))
        self._make_room_for_blocks()
        self.stage_bounds = [self._stage_bounds(stage) for stage in plan.stages]

    def _make_room_for_blocks(self) -> None:
        """How many rows a block has, how many blocks a wave, and who computes them."""
        plan, threads = self.plan, self.team.threads
        nodes = plan.row_nodes
        count, edges, dense = len(nodes.kinds), len(nodes.children.nodes), len(plan.row_dense.slots)
        fitting = CACHE_BYTES // (16 * count) // 16 * 16
        self.width = max(DENSE_WIDTH if dense else 16, min(512, fitting))
        self.blocks = -(-plan.rows // self.width)
        self.places = np.arange(count) * self.width
        self.straight = np.arange(self.width, dtype=np.uint16)
        self.row_values = [np.zeros(count * self.width) for _ in range(threads)]
        self.row_flows = [np.zeros(count * self.width) for _ in range(threads)]
        widest = int(np.diff(plan.row_dense.starts).max(initial=0))
        self.dense_flows = [np.empty(widest * self.width) for _ in range(threads)]
        self.signs = np.zeros(self.blocks, dtype=np.int64)
        # A wave of blocks is computed at once, then its flows are fed to the cells.
        per_block = 8 * (len(nodes.gates) * self.width + edges + dense)
        self.wave = min(self.blocks, max(threads, WAVE_BYTES // per_block))
        self.gate_flows = np.empty((len(nodes.gates), self.wave * self.width))
        self.block_counts = np.zeros((self.wave, edges))
        self.dense_block_counts = np.zeros((self.wave, dense))
        gathered = len(nodes.cells.nodes) * self.wave * self.width
        self.feed_bounds = shares(plan.feeds.gates.starts, self._parts(gathered))
        self.row_parts = self._parts(gathered + (edges + dense) * self.wave * self.width)

    def _stage_bounds(self, stage: Ints) -> list[int]:
        """A stage's tasks shared out: the first cell of every share, and the end."""
        up_to = np.concatenate([[0], np.cumsum(self.plan.cell_costs)])[stage]
        return [int(stage[i]) for i in shares(up_to, self._parts(int(up_to[-1] - up_to[0])))]

    def _parts(self, cost: int) -> int:
        """In how many parts work is shared out."""
        return self.team.threads if cost >= WORTH_SHARING else 1

    def quietly(self) -> AbstractContextManager[Any]:
        """Matrix products on one thread each: the team's threads are the parallel ones."""
        is_dense = self.cell_dense is not None or self.row_dense is not None
        return _blas().limit(limits=1, user_api="blas") if is_dense else nullcontext()

    # -- values --------------------------------------------------------------------------------

    def start(self, weights: Floats, probabilities: Floats) -> None:
        """Everything below the rows: leaf values, what is alive, the values of all cells."""
        plan = self.plan
        self.weights = weights
        self.cell_matrices = weights[_both(plan.cell_dense.slots, plan.cell_dense.transposed)]
        self.row_matrices = weights[_both(plan.row_dense.slots, plan.row_dense.transposed)]
        self._mark_alive(weights)
        leaves = plan.leaves
        self.values[leaves.entries] = probabilities[leaves.sources] / leaves.reference
        signs = np.zeros(self.team.threads, dtype=np.int64)

        def work(worker: int, first: int, last: int) -> None:
            signs[worker] |= kernels.cells_forward(
                first, last, plan.cells, self.cell_dense, weights, self.cell_matrices, plan.maps,
                self.cells_alive, self.values,
            )  # fmt: skip

        self._in_stages(work)
        self.cell_signs = int(np.bitwise_or.reduce(signs))

    def _in_stages(self, work: Callable[[int, int, int], None]) -> None:
        for bounds in self.stage_bounds:
            self.team.run(bounds, work)

    def _mark_alive(self, weights: Floats) -> None:
        """What lies below weights of zero alone costs nothing."""
        cells, nodes = self.plan.cells, self.plan.row_nodes
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
        """The log-likelihood of every row; not a number where doubles do not reach."""
        bounds = even_bounds(self.blocks, self.row_parts)
        self._rows(bounds, np.empty(0), False, found)
        self._judge(bounds, found)

    def _rows(self, bounds: list[int], row_weights: Floats, flowing: bool, found: Floats) -> None:
        """One pass over the blocks within the bounds, the first of which is a wave's first."""
        plan, base = self.plan, bounds[0]

        def work(worker: int, first: int, last: int) -> None:
            kernels.rows_pass(
                first, last, self.width, plan.row_nodes, self.row_dense, self.places,
                plan.cells.offsets, self.weights, self.row_matrices, plan.maps, self.rows_alive,
                self.values, plan.reference, row_weights, flowing, base, self.row_values[worker],
                self.row_flows[worker], self.dense_flows[worker], self.gate_flows,
                self.block_counts, self.dense_block_counts, self.signs, found,
            )  # fmt: skip

        self.team.run(bounds, work)

    # -- what may have been lost ---------------------------------------------------------------

    def _judge(self, bounds: list[int], found: Floats) -> bool:
        """Compute rows from above where numbers were low; whether a row lost its value by that."""
        signs = self.signs[bounds[0] : bounds[-1]]
        signs |= self.cell_signs
        if not (signs & kernels.LOW).any():
            return False
        plan = self.plan
        uppers = self._cells_from_above()
        above = np.full(len(found), np.nan)

        def work(worker: int, first: int, last: int) -> None:
            bracket.rows_from_above(
                first, last, self.width, plan.row_nodes, self.row_dense, self.places,
                plan.cells.offsets, self.weights, self.row_matrices, plan.maps, self.straight,
                self.rows_alive, uppers, plan.reference, self.signs, self.row_flows[worker], above,
            )  # fmt: skip

        self.team.run(bounds, work)
        own = found[self._rows_of(bounds)]
        above = above[self._rows_of(bounds)]
        doubtful = above - own > bracket.CLOSE * np.maximum(1.0, np.abs(own))
        own[doubtful] = np.nan
        own[above == -np.inf] = -np.inf
        return bool(doubtful.any())

    def _rows_of(self, bounds: list[int]) -> slice:
        return slice(bounds[0] * self.width, bounds[-1] * self.width)

    def _cells_from_above(self) -> Floats:
        if not self.cell_signs:
            return self.values
        plan, values = self.plan, self.values.copy()

        def work(_: int, first: int, last: int) -> None:
            bracket.cells_from_above(
                first, last, plan.cells, self.cell_dense, self.weights, self.cell_matrices,
                plan.maps, self.cells_alive, values,
            )  # fmt: skip

        self._in_stages(work)
        return values

    # -- flows ---------------------------------------------------------------------------------

    def flows_through_rows(self, row_weights: Floats, found: Floats, counts: Floats) -> None:
        """Log-likelihoods, and flows: of edges between row nodes into `counts`, of gates to cells.

        Rows that are not a number in the end have no flow.
        """
        plan = self.plan
        self.flows[:] = 0.0
        # What is dead in this pass may have left something in the last one.
        for left in (self.block_counts, self.dense_block_counts, self.dense_counts):
            left[:] = 0.0
        for base in range(0, self.blocks, self.wave):
            end = min(base + self.wave, self.blocks)
            bounds = [base + b for b in even_bounds(end - base, self.row_parts)]
            self._rows(bounds, row_weights, True, found)
            if self._judge(bounds, found):  # once more, without the flow of those rows
                rows = self._rows_of(bounds)
                judged, weights = found[rows].copy(), row_weights.copy()
                weights[rows][np.isnan(judged)] = 0.0
                self._rows(bounds, weights, True, found)
                found[rows] = judged
            parts, dense_parts = self.block_counts, self.dense_block_counts
            kernels.add_counts(parts[: end - base], plan.row_nodes.children.slots, counts)
            kernels.add_counts(dense_parts[: end - base], plan.row_dense.slots, counts)
            self._feed(base * self.width, min(end * self.width, plan.rows))

    def _feed(self, first_row: int, last_row: int) -> None:
        """Hand a wave's flows to the cells."""
        plan, size = self.plan, last_row - first_row

        def work(_: int, first: int, last: int) -> None:
            kernels.feed_cells(
                first, last, first_row, size, self.width, plan.feeds, plan.cells.offsets,
                plan.maps, self.gate_flows, self.flows,
            )  # fmt: skip

        self.team.run(self.feed_bounds, work)

    def flows_through_cells(self, counts: Floats) -> None:
        """The flows of all cells; those of their edges into `counts`."""
        plan = self.plan
        if self.cell_signs & kernels.HIGH:  # an infinity must not meet a flow of zero
            self.values[~np.isfinite(self.values)] = 0.0

        def work(_: int, first: int, last: int) -> None:
            kernels.cells_backward(
                first, last, plan.cells, self.cell_dense, self.weights, self.cell_matrices,
                plan.maps, self.cells_alive, self.values, self.flows, self.buffers, counts,
                self.dense_counts,
            )  # fmt: skip

        for bounds in reversed(self.stage_bounds):
            self.team.run(bounds, work)
        counts[plan.cell_dense.slots] = self.dense_counts


def _both(one: Ints, other: Ints) -> Ints:
    return np.stack([one, other])
