"""`CupyEngine`: a program opened on a device."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from spnc.backends.cupy import trouble
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
from spnc.backends.planning.program_index import ProgramIndex, leaf_probabilities, shuffled
from spnc.common.arrays import Floats, Ints
from spnc.data.dataset import Table
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts, Score

SHARE_OF_MEMORY = 0.5  # of what is free, for one table: others may be loaded beside it


class CupyEngine:
    """A program opened on a device."""

    def __init__(
        self, program: Program, device: Device, real: np.dtype[np.generic], memory: float | None
    ) -> None:
        self.program, self.device, self.real, self.memory = program, device, real, memory
        self.limits = DEFAULT_LIMITS

    @cached_property
    def index(self) -> ProgramIndex:
        """What layouts need to know about the program."""
        return ProgramIndex(self.program)

    # -- rows ----------------------------------------------------------------------------------

    def load(self, table: Table, *, once: bool = False) -> Batch:
        """Lay out the rows on the CPU, and copy the result to the device."""
        del once
        codes, weights, order = shuffled(self.index, table)
        layout = make_layout(self.index, codes, weights)
        with self.device.here():
            chunks = Chunks(table.rows, self._chunk_rows(layout))
            arrays = tables(layout, chunks, weights)
            on_device = {name: self.device.upload(array) for name, array in arrays.items()}
        launches = cell_launches(layout, self.limits)
        return Batch(layout, chunks, weights, order, on_device, self.limits, launches)

    def _chunk_rows(self, layout: Layout) -> int:
        """Return how many rows fit into the memory that may be used."""
        limit = self.memory
        if limit is None:
            limit = SHARE_OF_MEMORY * self.device.free_bytes()
        return chunk_rows(layout, self.real, limit)

    # -- passes --------------------------------------------------------------------------------

    def log_likelihood(self, parameters: Parameters, batch: Batch) -> Floats:
        """Return log p(row) for every loaded row; missing values are marginalised."""
        found = np.empty(batch.layout.rows)
        found[batch.order] = self._log_likelihood(parameters, batch)
        return found

    def _log_likelihood(self, parameters: Parameters, batch: Batch) -> Floats:
        """Return the log-likelihoods in the batch's own order."""
        probabilities = leaf_probabilities(self.program, parameters)
        with self.device.here():
            work = Sweep(self.device, batch, self.real, flowing=False)
            work.start(parameters, probabilities)
            for row, count in batch.chunks.bounds():
                work.rows_forward(row, count)
            return work.log_likelihoods()

    def score(self, parameters: Parameters, batch: Batch) -> Score:
        """Return how well the loaded rows are explained."""
        return Score.of(self._log_likelihood(parameters, batch), batch.weights)

    def expected_counts(self, parameters: Parameters, batch: Batch) -> Counts:
        """Return flows through sum edges and leaves, summed over weighted rows, and the score."""
        probabilities = leaf_probabilities(self.program, parameters)
        with self.device.here():
            work = Sweep(self.device, batch, self.real, flowing=True)
            work.start(parameters, probabilities)
            for chunk, (row, count) in enumerate(batch.chunks.bounds()):
                work.rows_forward(row, count)
                work.rows_backward(chunk, row, count)
            work.cells_backward()
            edge_counts, leaf_flows = work.edge_counts(), work.leaf_flows()
            found = work.log_likelihoods()
        states = np.zeros(self.index.probability_count)
        states[batch.layout.leaves.sources] = leaf_flows[batch.layout.leaves.entries]
        score = Score.of(found, batch.weights)
        return Counts(edge_counts, self.index.leaf_tables(states), score)

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


def chunk_rows(layout: Layout, real: np.dtype[np.generic], memory: float) -> int:
    """Return how many rows at once fit into this many bytes; raise E706 if none do."""
    for size in chunk_sizes(layout):
        if workspace_bytes(layout, size, real) <= memory:
            return size
    raise trouble.no_room(least_workspace_bytes(layout, real), memory)
