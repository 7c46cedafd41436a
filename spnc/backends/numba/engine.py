"""`CpuEngine`: a program opened on the compiled backend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.backends.numba.executor import LayoutExecutor
from spnc.backends.numba.layout_builder import make_layout
from spnc.backends.numba.log_domain import FlowTotals, LogDomain
from spnc.backends.numba.node_values import node_values
from spnc.backends.planning.program_index import Codes, ProgramIndex, leaf_probabilities, shuffled
from spnc.common.arrays import Floats, Ints
from spnc.common.threads import ThreadTeam, thread_count
from spnc.data.dataset import Table
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts, Score

# Passes over a table that share the cost of planning it for training: an assumption, not measured.
TRAINING_PASSES = 50


@dataclass(eq=False)
class Batch:
    """Rows loaded for an engine, in shuffled order: as codes and, if there are many, a layout."""

    codes: Codes
    weights: Floats
    order: NDArray[np.intp]  # the position of each row in the table
    executor: LayoutExecutor | None  # None: every row is computed in the log domain

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.weights)


class CpuEngine:
    """A program opened on the compiled backend."""

    def __init__(self, program: Program, threads: int | None, plan_rows: int) -> None:
        self.program = program
        self.index = ProgramIndex(program)
        self.team = ThreadTeam(thread_count(threads))
        self.plan_rows = plan_rows
        self.log_domain = LogDomain(self.index, self.team)

    def load(self, table: Table, *, once: bool = False) -> Batch:
        """Encode and shuffle the rows; plan them if there are enough for planning to pay off.

        Planning costs about as much as evaluating 1,500 rows one by one, whatever the circuit.
        """
        codes, weights, order = shuffled(self.index, table)
        executor = None
        enough = self.plan_rows if once else self.plan_rows / TRAINING_PASSES
        # Projections, and with them the codes of a column, are numbered by 16 bits.
        if table.rows >= max(1, enough) and codes.dtype == np.uint16:
            executor = LayoutExecutor(make_layout(self.index, codes, weights), self.team)
        return Batch(codes, weights, order, executor)

    def log_likelihood(self, parameters: Parameters, batch: Batch) -> Floats:
        """Return log p(row) for every loaded row; missing values are marginalised."""
        found = np.empty(batch.rows)
        found[batch.order] = self._log_likelihood(parameters, batch)
        return found

    def _log_likelihood(self, parameters: Parameters, batch: Batch) -> Floats:
        """Return the log-likelihoods in the batch's own order."""
        found = np.full(batch.rows, np.nan)
        probabilities = leaf_probabilities(self.program, parameters)
        executor = batch.executor
        if executor is not None:
            with executor.one_blas_thread():
                executor.start(parameters.weights, probabilities)
                executor.log_likelihoods(found)
        self.log_domain.finish(parameters, probabilities, batch.codes, found)
        return found

    def score(self, parameters: Parameters, batch: Batch) -> Score:
        """Return how well the loaded rows are explained."""
        return Score.of(self._log_likelihood(parameters, batch), batch.weights)

    def expected_counts(self, parameters: Parameters, batch: Batch) -> Counts:
        """Return flows through sum edges and leaves, summed over weighted rows, and the score."""
        found = np.full(batch.rows, np.nan)
        counts = np.zeros(self.program.slots)
        states = np.zeros(self.index.probability_count)
        probabilities = leaf_probabilities(self.program, parameters)
        executor = batch.executor
        if executor is not None:
            with executor.one_blas_thread():
                executor.start(parameters.weights, probabilities)
                executor.flows_through_rows(batch.weights, found, counts)
                executor.flows_through_cells(counts)
            leaves = executor.layout.leaves
            states[leaves.sources] = executor.flows[leaves.entries]
        totals = FlowTotals(batch.weights, counts, states)
        self.log_domain.finish(parameters, probabilities, batch.codes, found, totals)
        return Counts(counts, self.index.leaf_tables(states), Score.of(found, batch.weights))

    def node_values(self, parameters: Parameters, table: Table, nodes: Ints) -> Floats:
        """Return the likelihood ratios of these nodes, `[node, row]`."""
        index, team = self.index, self.team
        return node_values(index, parameters, table, nodes, team, with_flows=False)[0]

    def node_values_and_flows(
        self, parameters: Parameters, table: Table, nodes: Ints
    ) -> tuple[Floats, Floats]:
        """Return the likelihood ratios of these nodes, and the flows through them."""
        index, team = self.index, self.team
        return node_values(index, parameters, table, nodes, team, with_flows=True)
