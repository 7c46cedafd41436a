"""A plan at work: its memory, how the work is shared out among threads, and the passes over it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from spnc.backends import Floats
from spnc.engine import kernels
from spnc.engine.crew import Crew, even_bounds, shares
from spnc.engine.plan import Ints, Plan
from spnc.engine.schedule import PER_NODE, WORTH_SHARING

CACHE_BYTES = 600_000  # half of a second-level cache, for a block's values and flows
DENSE_WIDTH = 64  # matrix products want at least so many rows
WAVE_BYTES = 32_000_000  # for the flows that wait to be fed to the cells


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class Running:
    """The working memory of a plan, made once, and the passes."""

    def __init__(self, plan: Plan, crew: Crew) -> None:
        self.plan, self.crew = plan, crew
        cells, nodes = plan.cells, plan.row_nodes
        count, edges = len(nodes.kinds), len(nodes.children.nodes)
        dense_edges = len(nodes.dense.slots)
        self.values = np.zeros(plan.entries)
        self.flows = np.empty(plan.entries)
        self.buffers = np.empty(plan.buffered)
        self.dense_counts = np.zeros(len(cells.dense.slots))
        self.uppers = self.values  # values from above, where some are below the floor
        self.signs = 0
        self.cells_alive = np.ones(len(cells.kinds), dtype=np.uint8)
        self.rows_alive = np.ones(count, dtype=np.uint8)

        narrow = DENSE_WIDTH if dense_edges else 16
        self.width = max(narrow, min(512, CACHE_BYTES // (16 * count) // 16 * 16))
        self.blocks = -(-plan.rows // self.width)
        self.row_values = [np.zeros(count * self.width) for _ in range(crew.threads)]
        self.row_flows = [np.zeros(count * self.width) for _ in range(crew.threads)]
        widest = int(np.diff(nodes.dense.starts).max(initial=0))
        self.dense_flows = [np.empty(widest * self.width) for _ in range(crew.threads)]
        self.places = np.arange(count) * self.width
        # A wave of blocks is computed at once, then its flows are fed to the cells.
        per_block = 8 * (len(nodes.gates) * self.width + edges + dense_edges)
        self.wave = min(self.blocks, max(crew.threads, WAVE_BYTES // per_block))
        self.gate_flows = np.empty((len(nodes.gates), self.wave * self.width))
        self.block_counts = np.zeros((self.wave, edges))
        self.dense_block_counts = np.zeros((self.wave, dense_edges))

        self.stage_bounds = [self._stage_bounds(stage) for stage in plan.stages]
        gathered = len(nodes.cells.nodes) * self.wave * self.width
        self.feed_bounds = shares(plan.feeds.gates.starts, self._parts(gathered))
        self.row_parts = self._parts(gathered + (edges + dense_edges) * self.wave * self.width)
        self._no_weights = np.empty(0)
        self.is_dense = dense_edges + len(cells.dense.slots) > 0

    def _stage_bounds(self, stage: Ints) -> list[int]:
        """A stage's tasks shared out: the first cell of every share, and the end."""
        cells = self.plan.cells
        cost = cells.sizes * (1 + np.diff(cells.children.starts)) + PER_NODE
        up_to = np.concatenate([[0], np.cumsum(cost)])[stage]
        return [int(stage[i]) for i in shares(up_to, self._parts(int(up_to[-1] - up_to[0])))]

    def _parts(self, cost: int) -> int:
        """In how many parts work is shared out."""
        return self.crew.threads if cost >= WORTH_SHARING else 1

    def quietly(self) -> AbstractContextManager[Any]:
        """Matrix products on one thread each: the crew's threads are the parallel ones."""
        return _blas().limit(limits=1, user_api="blas") if self.is_dense else nullcontext()

    def start(self, weights: Floats, probabilities: Floats) -> None:
        """Everything below the rows: leaf values, what is alive, the values of all cells."""
        plan = self.plan
        self.weights = weights
        self.cell_matrices = weights[plan.cells.dense.slots]
        self.row_matrices = weights[plan.row_nodes.dense.slots]
        self.cell_transposed = weights[plan.cells.dense.transposed]
        self.row_transposed = weights[plan.row_nodes.dense.transposed]
        self._mark_alive(weights)
        leaves = plan.leaves
        self.values[leaves.entries] = probabilities[leaves.sources] / leaves.reference
        self.signs = self._cells_forward(False, self.values)
        self.uppers = self.values
        if self.signs & kernels.LOW:
            self.uppers = self.values.copy()
            self._cells_forward(True, self.uppers)

    def _cells_forward(self, from_above: bool, values: Floats) -> int:
        plan = self.plan
        signs = np.zeros(self.crew.threads, dtype=np.int64)

        def work(worker: int, first: int, last: int) -> None:
            signs[worker] |= kernels.cells_forward(
                first, last, plan.cells, self.weights, self.cell_matrices, plan.maps,
                self.cells_alive, from_above, values,
            )  # fmt: skip

        for bounds in self.stage_bounds:
            self.crew.run(bounds, work)
        return int(np.bitwise_or.reduce(signs))

    def _mark_alive(self, weights: Floats) -> None:
        """What lies below weights of zero alone costs nothing."""
        cells, nodes = self.plan.cells, self.plan.row_nodes
        if (weights > 0.0).all():
            self.rows_alive[:] = 1
            self.cells_alive[:] = 1
            return
        self.rows_alive[:] = 0
        self.rows_alive[-1] = 1
        kernels.mark_alive(nodes.kinds, nodes.children, nodes.dense, weights, self.rows_alive)
        self.cells_alive[:] = 0
        edges = np.repeat(self.rows_alive, np.diff(nodes.cells.starts)) != 0
        self.cells_alive[nodes.cells.nodes[edges]] = 1
        kernels.mark_alive(cells.kinds, cells.children, cells.dense, weights, self.cells_alive)

    def log_likelihoods(self, found: Floats) -> None:
        """The log-likelihood of every row; not a number where doubles do not reach."""
        bounds = even_bounds(self.blocks, self.row_parts)
        self._rows(bounds, self._no_weights, False, found)

    def flows_through_rows(self, row_weights: Floats, found: Floats, counts: Floats) -> None:
        """The same, with flows: of edges between row nodes into `counts`, of gates to cells."""
        plan, crew = self.plan, self.crew
        nodes = plan.row_nodes
        self.flows[:] = 0.0
        for base in range(0, self.blocks, self.wave):
            end = min(base + self.wave, self.blocks)
            row = base * self.width
            size = min(end * self.width, plan.rows) - row

            def feed(_: int, first: int, last: int, row: int = row, size: int = size) -> None:
                kernels.feed_cells(
                    first, last, row, size, plan.feeds, plan.cells.offsets, plan.maps,
                    self.gate_flows, self.flows,
                )  # fmt: skip

            bounds = [base + b for b in even_bounds(end - base, self.row_parts)]
            self._rows(bounds, row_weights, True, found)
            kernels.add_counts(self.block_counts[: end - base], nodes.children.slots, counts)
            kernels.add_counts(self.dense_block_counts[: end - base], nodes.dense.slots, counts)
            crew.run(self.feed_bounds, feed)

    def _rows(self, bounds: list[int], row_weights: Floats, flowing: bool, found: Floats) -> None:
        """One pass over the blocks within the bounds, the first of which is a wave's first."""
        plan, base = self.plan, bounds[0]

        def work(worker: int, first: int, last: int) -> None:
            kernels.rows_pass(
                first, last, self.width, plan.row_nodes, self.places, plan.cells.offsets,
                self.weights, self.row_matrices, self.row_transposed, plan.maps, self.rows_alive,
                self.values, self.uppers, self.signs, plan.reference, row_weights, flowing, base,
                self.row_values[worker], self.row_flows[worker], self.dense_flows[worker],
                self.gate_flows, self.block_counts, self.dense_block_counts, found,
            )  # fmt: skip

        self.crew.run(bounds, work)

    def flows_through_cells(self, counts: Floats) -> None:
        """The flows of all cells; those of their edges into `counts`."""
        plan = self.plan
        if self.signs & kernels.HIGH:  # an infinity must not meet a flow of zero
            self.values[~np.isfinite(self.values)] = 0.0

        def work(_: int, first: int, last: int) -> None:
            kernels.cells_backward(
                first, last, plan.cells, self.weights, self.cell_matrices, self.cell_transposed,
                plan.maps, self.cells_alive, self.values, self.flows, self.buffers, counts,
                self.dense_counts,
            )  # fmt: skip

        for bounds in reversed(self.stage_bounds):
            self.crew.run(bounds, work)
        counts[plan.cells.dense.slots] = self.dense_counts
