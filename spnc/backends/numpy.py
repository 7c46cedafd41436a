"""The NumPy backend: plain array operations in the log domain, which define what is correct.

Values and flows are `[node, row]` with rows contiguous. Rows are taken in chunks, so that memory
does not grow with their number. Each segment of the program takes a few array operations: gather
the children, reduce them per node.

Flows follow the EM of the paper on any DAG: the root receives the row's weight; a sum's edge to
child c receives F(n) · w · S_c / S_n; a product's edge receives F(n); a node's flow is the sum
over its parents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.backends.certain_rows import settle
from spnc.backends.passes import ByChild, downward, logs, upward
from spnc.backends.planning.encoding import encode
from spnc.backends.planning.program_index import ProgramIndex
from spnc.common.arrays import Floats, Ints
from spnc.common.column_sets import members
from spnc.common.observer import Progress
from spnc.data.table import Table
from spnc.diagnostics import Diagnostic
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts, Score
from spnc.registry import BACKENDS, Options, option


@BACKENDS.register("numpy")
@dataclass(frozen=True, kw_only=True)
class NumpyBackend(Options):
    """The definition: array operations in the log domain, on one core."""

    priority: ClassVar[int] = 0

    chunk_mb: float = option(32.0, "working memory for one chunk of rows, in megabytes", above=0)

    def why_not(self) -> Diagnostic | None:
        """Return None: it can always run."""
        return None

    def expected_here(self) -> bool:
        """Return True: NumPy is always installed."""
        return True

    def resolved(self) -> NumpyBackend:
        """Return itself."""
        return self

    def prepare(self, program: Program, progress: Progress) -> None:
        """Do nothing: there is nothing to compile."""

    def open(self, program: Program) -> NumpyEngine:
        """Return an engine for the program."""
        return NumpyEngine(program, self.chunk_mb)


class NumpyEngine:
    """A program opened on the NumPy backend."""

    def __init__(self, program: Program, chunk_mb: float) -> None:
        self.program = program
        widest = max((len(s.children) for s in program.segments), default=0)
        bytes_per_row = 8 * (2 * program.nodes + 4 * widest + len(program.columns))
        self.chunk_rows = max(1, int(chunk_mb * 1e6 / bytes_per_row))
        self._by_child = [ByChild.of(s) for s in program.segments]

    def load(self, table: Table, *, once: bool = False) -> Table:
        """Return the table: this engine needs no layout."""
        del once
        return table

    def log_likelihood(self, parameters: Parameters, batch: Table) -> Floats:
        """Return log p(row) for every row; missing values are marginalised."""
        log_weights = logs(parameters.weights)
        found = np.empty(batch.rows)
        for rows in self._chunks(batch.rows):
            columns = np.ascontiguousarray(batch.take(rows).values.T)
            found[rows] = self._forward(parameters, log_weights, columns)[self.program.root]
        settle(self.program, batch, found)
        return found

    def score(self, parameters: Parameters, batch: Table) -> Score:
        """Return how well the rows are explained."""
        return Score.of(self.log_likelihood(parameters, batch), batch.weights)

    def expected_counts(self, parameters: Parameters, batch: Table) -> Counts:
        """Return flows through sum edges and leaves, summed over weighted rows, and the score."""
        log_weights = logs(parameters.weights)
        weights = np.zeros(self.program.slots)
        tables = [np.zeros((len(t), t.statistic_count)) for t in self.program.leaves]
        log_likelihoods = np.empty(batch.rows)
        for rows in self._chunks(batch.rows):
            columns = np.ascontiguousarray(batch.take(rows).values.T)
            values = self._forward(parameters, log_weights, columns)
            log_likelihoods[rows] = values[self.program.root]
            flows = self._backward(log_weights, values, batch.weights[rows], weights)
            pairs = zip(self.program.leaves, parameters.tables, tables, strict=True)
            for leaf, table, counts in pairs:
                own, cells = flows[leaf.first : leaf.last], columns[leaf.variables]
                counts += leaf.kind.statistics(cells, own, table, leaf.columns)
        settle(self.program, batch, log_likelihoods)
        return Counts(weights, tuple(tables), Score.of(log_likelihoods, batch.weights))

    def node_values(self, parameters: Parameters, table: Table, nodes: Ints) -> Floats:
        """Return the likelihood ratios of these nodes, `[node, row]`."""
        return self._node_values(parameters, table, nodes, with_flows=False)[0]

    def node_values_and_flows(
        self, parameters: Parameters, table: Table, nodes: Ints
    ) -> tuple[Floats, Floats]:
        """Return the likelihood ratios of these nodes, and the flows through them."""
        return self._node_values(parameters, table, nodes, with_flows=True)

    def node_flows(self, parameters: Parameters, table: Table, nodes: Ints) -> Floats:
        """Return the flows through these nodes, `[node, row]`."""
        return self._node_values(parameters, table, nodes, with_flows=True)[1]

    def _node_values(
        self, parameters: Parameters, table: Table, nodes: Ints, *, with_flows: bool
    ) -> tuple[Floats, Floats]:
        """Return ratios and flows; without `with_flows`, the array of flows has no nodes."""
        log_reference = encode(ProgramIndex(self.program), table).log_reference_cells()
        return self.ratios_and_flows(parameters, table, nodes, log_reference, with_flows=with_flows)

    def ratios_and_flows(
        self,
        parameters: Parameters,
        table: Table,
        nodes: Ints,
        log_reference: Floats,
        *,
        with_flows: bool,
    ) -> tuple[Floats, Floats]:
        """Return the ratios of nodes to a reference distribution, and the flows through them.

        `log_reference[column, row]` is the log density of every cell in the reference. Without
        `with_flows`, the array of flows has no nodes.
        """
        log_weights = logs(parameters.weights)
        all_scopes = self.program.scopes()
        scopes = [members(all_scopes[n]) for n in nodes.tolist()]
        ratios = np.empty((len(nodes), table.rows))
        flows = np.empty((len(nodes) if with_flows else 0, table.rows))
        for rows in self._chunks(table.rows):
            columns = np.ascontiguousarray(table.take(rows).values.T)
            values = self._forward(parameters, log_weights, columns)
            for i, (n, scope) in enumerate(zip(nodes.tolist(), scopes, strict=True)):
                ratios[i, rows] = values[n] - log_reference[scope, rows].sum(axis=0)
            if with_flows:
                edge_counts = np.zeros(self.program.slots)
                found = self._backward(log_weights, values, table.weights[rows], edge_counts)
                flows[:, rows] = found[nodes]
        with np.errstate(over="ignore"):  # a ratio above the range of doubles is infinite
            return np.exp(ratios, out=ratios), flows

    def _chunks(self, rows: int) -> Iterator[slice]:
        for start in range(0, rows, self.chunk_rows):
            yield slice(start, min(start + self.chunk_rows, rows))

    def _forward(self, parameters: Parameters, log_weights: Floats, columns: Floats) -> Floats:
        """Return the log value of every node, `[node, row]`, for `columns[column, row]`."""
        values = np.empty((self.program.nodes, columns.shape[1]))
        for leaf, table in zip(self.program.leaves, parameters.tables, strict=True):
            cells = columns[leaf.variables]
            values[leaf.first : leaf.last] = leaf.kind.log_density(table, cells, leaf.columns)
        return upward(self.program, log_weights, values)

    def _backward(
        self, log_weights: Floats, values: Floats, row_weights: Floats, edge_counts: Floats
    ) -> Floats:
        """Return the flow of every node, `[node, row]`; add that of sum edges to `edge_counts`."""
        return downward(self.program, self._by_child, log_weights, values, row_weights, edge_counts)
