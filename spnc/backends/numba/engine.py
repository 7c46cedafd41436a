"""`CpuEngine`: a program opened on the compiled backend."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from spnc.backends.certain_rows import settle
from spnc.backends.numba.direct import DirectPass
from spnc.backends.numba.direct_rows import DirectRows
from spnc.backends.numba.log_domain import FlowTotals, LogDomain
from spnc.backends.numba.node_values import node_values
from spnc.backends.planning.encoding import EncodedTable, encode
from spnc.backends.planning.program_index import ProgramIndex
from spnc.backends.spilling import Spilled
from spnc.common.arrays import Floats, Ints
from spnc.common.threads import ThreadTeam, thread_count
from spnc.common.wall_time import WallTime
from spnc.data.table import Table
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts, Score

if TYPE_CHECKING:
    from spnc.backends.numba.executor import LayoutExecutor


@dataclass(eq=False)
class Batch:
    """Rows loaded for an engine: for many passes, as codes in shuffled order and a layout.

    Without a layout, log-likelihoods come from a direct pass, and flows from the log domain.
    """

    index: ProgramIndex
    table: Table
    executor: LayoutExecutor | None
    direct: DirectRows | None  # None: there is a layout

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.table.rows

    @cached_property
    def encoded(self) -> EncodedTable:
        """The rows as codes, in shuffled order."""
        if self.executor is not None:
            return self.executor.layout.encoded
        return encode(self.index, self.table).shuffled()


class CpuEngine:
    """A program opened on the compiled backend."""

    def __init__(self, program: Program, threads: int | None, plan_rows: int) -> None:
        self.program = program
        self.index = ProgramIndex(program)
        self.team = ThreadTeam(thread_count(threads))
        self.plan_rows = plan_rows
        self.log_domain = LogDomain(self.index, self.team)
        self._planning = WallTime()

    @property
    def planning(self) -> float:
        """Seconds spent on planning so far."""
        return self._planning.seconds

    @property
    def loads_at_once(self) -> int:
        """How many tables may be loaded at the same time: planning one takes one thread."""
        return self.team.threads

    def load(self, table: Table, *, once: bool = False) -> Batch:
        """Plan the rows if they are for many passes, and enough for planning to pay off.

        Planning costs more than a single pass, whatever the circuit and the number of rows.
        """
        if not once and table.rows >= max(1, self.plan_rows):
            # Planning is a large part of the backend, which single passes do without.
            from spnc.backends.numba.executor import LayoutExecutor
            from spnc.backends.numba.layout_builder import make_layout

            with self._planning:
                encoded = encode(self.index, table).shuffled()
                # Projections, and with them the codes of a column, are numbered by 16 bits.
                if encoded.codes.dtype == np.uint16:
                    executor = LayoutExecutor(make_layout(encoded), self.team)
                    return Batch(self.index, table, executor, None)
        return Batch(self.index, table, None, self.direct.load(table))

    def spilled(self, batch: Batch) -> SpilledBatch:
        """Return loaded rows whose arrays wait on disk. Raises OSError if there is no space."""
        return SpilledBatch(self, batch)

    @cached_property
    def direct(self) -> DirectPass:
        """The program, ready for rows that are seen once."""
        return DirectPass(self.index, self.team)

    def log_likelihood(self, parameters: Parameters, batch: Batch) -> Floats:
        """Return log p(row) for every loaded row; missing values are marginalised."""
        if batch.direct is not None:
            return self._direct(parameters, batch.table, batch.direct)
        found = np.empty(batch.rows)
        found[batch.encoded.order] = self._planned(parameters, batch)
        return found

    def _direct(self, parameters: Parameters, table: Table, rows: DirectRows) -> Floats:
        """Return the log-likelihoods from a single pass."""
        found = self.direct.log_likelihood(parameters, rows)
        left = np.flatnonzero(np.isnan(found))
        if len(left):
            own = found[left]
            self.log_domain.finish(parameters, encode(self.index, table.take(left)), own)
            found[left] = own
        settle(self.program, table, found)
        return found

    def _planned(self, parameters: Parameters, batch: Batch) -> Floats:
        """Return the log-likelihoods in the layout's own order."""
        executor = batch.executor
        assert executor is not None
        found = np.full(batch.rows, np.nan)
        with executor.one_blas_thread():
            executor.start(parameters)
            executor.log_likelihoods(found)
        self.log_domain.finish(parameters, batch.encoded, found)
        settle(self.program, batch.table, found, batch.encoded.order)
        return found

    def score(self, parameters: Parameters, batch: Batch) -> Score:
        """Return how well the loaded rows are explained."""
        if batch.direct is not None:
            found = self._direct(parameters, batch.table, batch.direct)
            return Score.of(found, batch.table.weights)
        return Score.of(self._planned(parameters, batch), batch.encoded.weights)

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
        settle(self.program, batch.table, found, encoded.order)
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
        return node_values(index, parameters, table, nodes, team)

    def node_flows(self, parameters: Parameters, table: Table, nodes: Ints) -> Floats:
        """Return the flows through these nodes, `[node, row]`."""
        index, team = self.index, self.team
        return node_values(index, parameters, table, nodes, team, with_values=False)[1]


class SpilledBatch:
    """Loaded rows whose arrays wait on disk. Working memory is not kept."""

    def __init__(self, engine: CpuEngine, batch: Batch) -> None:
        self._engine = engine
        layout = batch.executor.layout if batch.executor is not None else None
        self._spilled = Spilled((batch.table, layout, batch.direct), engine.index)

    def restored(self) -> Batch:
        """Return the rows, loaded again."""
        from spnc.backends.numba.executor import LayoutExecutor

        table, layout, direct = self._spilled.restored()
        executor = LayoutExecutor(layout, self._engine.team) if layout is not None else None
        return Batch(self._engine.index, table, executor, direct)
