"""`CpuEngine`: a program opened on the compiled backend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.backends.numba.executor import LayoutExecutor
from spnc.backends.numba.layout_builder import make_layout
from spnc.backends.numba.log_domain import FlowTotals, LogDomain
from spnc.backends.numba.node_values import node_values
from spnc.backends.planning.encoding import EncodedTable, encode
from spnc.backends.planning.program_index import ProgramIndex
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

    encoded: EncodedTable
    executor: LayoutExecutor | None  # None: every row is computed in the log domain

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.encoded.rows


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
        encoded = encode(self.index, table).shuffled()
        executor = None
        enough = self.plan_rows if once else self.plan_rows / TRAINING_PASSES
        # Projections, and with them the codes of a column, are numbered by 16 bits.
        if table.rows >= max(1, enough) and encoded.codes.dtype == np.uint16:
            executor = LayoutExecutor(make_layout(encoded), self.team)
        return Batch(encoded, executor)

    def log_likelihood(self, parameters: Parameters, batch: Batch) -> Floats:
        """Return log p(row) for every loaded row; missing values are marginalised."""
        found = np.empty(batch.rows)
        found[batch.encoded.order] = self._log_likelihood(parameters, batch)
        return found

    def _log_likelihood(self, parameters: Parameters, batch: Batch) -> Floats:
        """Return the log-likelihoods in the batch's own order."""
        found = np.full(batch.rows, np.nan)
        executor = batch.executor
        if executor is not None:
            with executor.one_blas_thread():
                executor.start(parameters)
                executor.log_likelihoods(found)
        self.log_domain.finish(parameters, batch.encoded, found)
        return found

    def score(self, parameters: Parameters, batch: Batch) -> Score:
        """Return how well the loaded rows are explained."""
        return Score.of(self._log_likelihood(parameters, batch), batch.encoded.weights)

    def expected_counts(self, parameters: Parameters, batch: Batch) -> Counts:
        """Return flows through sum edges and leaves, summed over weighted rows, and the score."""
        found = np.full(batch.rows, np.nan)
        counts = np.zeros(self.program.slots)
        tables = tuple(np.zeros((len(t), t.statistic_count)) for t in self.program.leaves)
        encoded, executor = batch.encoded, batch.executor
        if executor is not None:
            with executor.one_blas_thread():
                executor.start(parameters)
                executor.flows_through_rows(encoded.weights, found, counts, tables)
                executor.flows_through_cells(counts)
                flows, leaves = np.zeros(encoded.leaves.count), executor.layout.leaves
                flows[leaves.sources] = executor.flows[leaves.entries]
                encoded.leaves.add_finite(flows, tables)
                encoded.leaves.add_numeric(flows, parameters, tables)
        self.log_domain.finish(parameters, encoded, found, FlowTotals(counts, tables))
        return Counts(counts, tables, Score.of(found, encoded.weights))

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
