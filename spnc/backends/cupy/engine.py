"""`CupyEngine`: a program opened on a device."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spnc.backends.certain_rows import settle
from spnc.backends.cupy import trouble
from spnc.backends.cupy.batches import encoded_batches
from spnc.backends.cupy.device import Device
from spnc.backends.cupy.launches import DEFAULT_LIMITS, cell_launches
from spnc.backends.cupy.layout import Layout, make_layout
from spnc.backends.cupy.sweep import Batch, Sweep
from spnc.backends.cupy.tables import (
    Chunks,
    chunk_sizes,
    least_workspace_bytes,
    tables,
    workspace_bytes,
)
from spnc.backends.numba.backend import NumbaBackend
from spnc.backends.numba.engine import CpuEngine
from spnc.backends.planning.encoding import EncodedTable
from spnc.backends.planning.program_index import ProgramIndex
from spnc.common.arrays import Floats, Ints
from spnc.data.table import Table
from spnc.leaves.smoothing import SUM_TOLERANCE
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts, Score

SINGLE_TOLERANCE = 1e-6  # how far from one a sum in single precision may be: eight roundings
SHARE_OF_MEMORY = 0.5  # of what is free, for one table: others may be loaded beside it


@dataclass(frozen=True, eq=False)
class LoadedTable:
    """A table's rows on a device: one batch, or several if a column has very many values."""

    table: Table
    batches: tuple[Batch, ...]


class CupyEngine:
    """A program opened on a device."""

    def __init__(
        self, program: Program, device: Device, real: np.dtype[np.generic], memory: float | None
    ) -> None:
        self.program, self.device, self.real, self.memory = program, device, real, memory
        self.limits = DEFAULT_LIMITS
        self.planning = 0.0  # seconds spent so far

    @cached_property
    def index(self) -> ProgramIndex:
        """What layouts need to know about the program."""
        return ProgramIndex(self.program)

    # -- rows ----------------------------------------------------------------------------------

    def load(self, table: Table, *, once: bool = False) -> LoadedTable:
        """Lay out the rows on the CPU, and copy the result to the device."""
        del once
        began = time.perf_counter()
        batches = [self._load(encoded) for encoded in encoded_batches(self.index, table)]
        self.planning += time.perf_counter() - began
        return LoadedTable(table, tuple(batches))

    def _load(self, encoded: EncodedTable) -> Batch:
        layout = make_layout(encoded)
        with self.device.here():
            chunks = Chunks(layout.rows, self._chunk_rows(layout))
            arrays = tables(layout, chunks, encoded.weights)
            on_device = {name: self.device.upload(array) for name, array in arrays.items()}
        launches = cell_launches(layout, self.limits)
        return Batch(layout, chunks, encoded, on_device, self.limits, launches)

    def _chunk_rows(self, layout: Layout) -> int:
        """Return how many rows fit into the memory that may be used."""
        limit = self.memory
        if limit is None:
            limit = SHARE_OF_MEMORY * self.device.free_bytes()
        return chunk_rows(layout, self.real, limit)

    # -- passes --------------------------------------------------------------------------------

    def log_likelihood(self, parameters: Parameters, batch: LoadedTable) -> Floats:
        """Return log p(row) for every loaded row; missing values are marginalised."""
        found = np.empty(batch.table.rows)
        for own in batch.batches:
            found[own.encoded.order] = self._log_likelihood(parameters, own)
        self._settle(batch, found)
        return found

    def _settle(
        self, batch: LoadedTable, found: Floats, order: NDArray[np.intp] | None = None
    ) -> None:
        """Set the log-likelihoods of certain rows to exactly 0."""
        single = self.real == np.float32
        tolerance = SINGLE_TOLERANCE if single else SUM_TOLERANCE
        settle(self.program, batch.table, found, order, tolerance)

    def _log_likelihood(self, parameters: Parameters, batch: Batch) -> Floats:
        """Return the log-likelihoods in the batch's own order."""
        with self.device.here():
            work = Sweep(self.device, batch, self.real, flowing=False)
            work.start(parameters)
            for row, count in batch.chunks.bounds():
                work.rows_forward(row, count)
            return work.log_likelihoods()

    def score(self, parameters: Parameters, batch: LoadedTable) -> Score:
        """Return how well the loaded rows are explained."""
        score = Score()
        for own in batch.batches:
            found = self._log_likelihood(parameters, own)
            self._settle(batch, found, own.encoded.order)
            score += Score.of(found, own.encoded.weights)
        return score

    def expected_counts(self, parameters: Parameters, batch: LoadedTable) -> Counts:
        """Return flows through sum edges and leaves, summed over weighted rows, and the score."""
        counts, score = np.zeros(self.program.slots), Score()
        found = tuple(np.zeros((len(t), t.statistic_count)) for t in self.program.leaves)
        for own in batch.batches:
            edge_counts, leaf_flows, log_likelihoods = self._flows(parameters, own)
            counts += edge_counts
            leaves, entries = own.encoded.leaves, own.layout.leaves
            flows = np.zeros(leaves.count)
            flows[entries.sources] = leaf_flows[entries.entries]
            leaves.add_finite(flows, found)
            leaves.add_numeric(flows, parameters, found)
            self._settle(batch, log_likelihoods, own.encoded.order)
            score += Score.of(log_likelihoods, own.encoded.weights)
        return Counts(counts, found, score)

    def _flows(self, parameters: Parameters, batch: Batch) -> tuple[Floats, Floats, Floats]:
        """Return the counts of edges, the flows of leaf entries and the log-likelihoods."""
        with self.device.here():
            work = Sweep(self.device, batch, self.real, flowing=True)
            work.start(parameters)
            for chunk, (row, count) in enumerate(batch.chunks.bounds()):
                work.rows_forward(row, count)
                work.rows_backward(chunk, row, count)
            work.cells_backward()
            return work.edge_counts(), work.leaf_flows(), work.log_likelihoods()

    # -- single nodes --------------------------------------------------------------------------

    @cached_property
    def _host(self) -> CpuEngine:
        """The compiled CPU engine, with as many threads as it takes by default."""
        return NumbaBackend().open(self.program)

    def node_values(self, parameters: Parameters, table: Table, nodes: Ints) -> Floats:
        """Return the likelihood ratios of these nodes, `[node, row]`; computed on the CPU.

        The strategies that need them ask about many small circuits, each only once, so that a
        layout on the device would never be used again.
        """
        return self._host.node_values(parameters, table, nodes)

    def node_values_and_flows(
        self, parameters: Parameters, table: Table, nodes: Ints
    ) -> tuple[Floats, Floats]:
        """Return the likelihood ratios of these nodes and the flows through them; on the CPU."""
        return self._host.node_values_and_flows(parameters, table, nodes)

    def node_flows(self, parameters: Parameters, table: Table, nodes: Ints) -> Floats:
        """Return the flows through these nodes, computed on the host."""
        return self._host.node_flows(parameters, table, nodes)


def chunk_rows(layout: Layout, real: np.dtype[np.generic], memory: float) -> int:
    """Return how many rows at once fit into this many bytes; raise E706 if none do."""
    for size in chunk_sizes(layout):
        if workspace_bytes(layout, size, real) <= memory:
            return size
    raise trouble.no_room(least_workspace_bytes(layout, real), memory)
