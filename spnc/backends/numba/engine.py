"""`CpuEngine`: a program opened on the compiled backend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.backends.numba.layout import make_plan
from spnc.backends.numba.node_values import node_values
from spnc.backends.numba.row_by_row import Flowing, RowByRow
from spnc.backends.numba.running import Running
from spnc.backends.planning.plan import Codes
from spnc.backends.planning.skeleton import Skeleton, leaf_probabilities, shuffled
from spnc.common.arrays import Floats, Ints
from spnc.common.threads import ThreadTeam, thread_count
from spnc.data.dataset import Table
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts, Score


@dataclass(eq=False)
class Batch:
    """Rows laid out for an engine, shuffled: as codes, and as a plan if they are many."""

    codes: Codes
    weights: Floats
    order: NDArray[np.intp]  # where the rows were
    running: Running | None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.weights)


class CpuEngine:
    """A program opened on the compiled backend."""

    def __init__(self, program: Program, threads: int | None, plan_rows: int) -> None:
        self.program = program
        self.skeleton = Skeleton(program)
        self.team = ThreadTeam(thread_count(threads))
        self.plan_rows = plan_rows
        self.row_by_row = RowByRow(self.skeleton, self.team)

    def load(self, table: Table, *, once: bool = False) -> Batch:
        """Codes, and a plan where there is enough to save.

        Planning costs about as much as evaluating some 1,500 rows one by one, whatever the circuit.
        """
        codes, weights, order = shuffled(self.skeleton, table)
        running = None
        enough = self.plan_rows if once else self.plan_rows / 50
        # Plans number projections, and so the codes of a column, by 16 bits.
        if table.rows >= max(1, enough) and codes.dtype == np.uint16:
            running = Running(make_plan(self.skeleton, codes, weights), self.team)
        return Batch(codes, weights, order, running)

    def log_likelihood(self, parameters: Parameters, batch: Batch) -> Floats:
        """log p(row) for every row loaded; missing values are marginalised."""
        found = np.empty(batch.rows)
        found[batch.order] = self._log_likelihood(parameters, batch)
        return found

    def _log_likelihood(self, parameters: Parameters, batch: Batch) -> Floats:
        """The same, in the batch's own order."""
        found = np.full(batch.rows, np.nan)
        probabilities = leaf_probabilities(self.program, parameters)
        running = batch.running
        if running is not None:
            with running.quietly():
                running.start(parameters.weights, probabilities)
                running.log_likelihoods(found)
        self.row_by_row.finish(parameters, probabilities, batch.codes, found)
        return found

    def score(self, parameters: Parameters, batch: Batch) -> Score:
        """How well the rows loaded are explained."""
        return Score.of(self._log_likelihood(parameters, batch), batch.weights)

    def expected_counts(self, parameters: Parameters, batch: Batch) -> Counts:
        """Flows through every edge and leaf, summed over rows by weight; and the score."""
        found = np.full(batch.rows, np.nan)
        counts = np.zeros(self.program.slots)
        states = np.zeros(self.skeleton.probability_count)
        probabilities = leaf_probabilities(self.program, parameters)
        running = batch.running
        if running is not None:
            with running.quietly():
                running.start(parameters.weights, probabilities)
                running.flows_through_rows(batch.weights, found, counts)
                running.flows_through_cells(counts)
            leaves = running.plan.leaves
            states[leaves.sources] = running.flows[leaves.entries]
        flowing = Flowing(batch.weights, counts, states)
        self.row_by_row.finish(parameters, probabilities, batch.codes, found, flowing)
        return Counts(counts, self.skeleton.leaf_tables(states), Score.of(found, batch.weights))

    def node_values(self, parameters: Parameters, table: Table, nodes: Ints) -> Floats:
        """Return the likelihood ratios of these nodes, `[node, row]`."""
        skeleton, team = self.skeleton, self.team
        return node_values(skeleton, parameters, table, nodes, team, with_flows=False)[0]

    def node_values_and_flows(
        self, parameters: Parameters, table: Table, nodes: Ints
    ) -> tuple[Floats, Floats]:
        """Return the likelihood ratios of these nodes, and the flows through them."""
        skeleton, team = self.skeleton, self.team
        return node_values(skeleton, parameters, table, nodes, team, with_flows=True)
