"""What an iteration of EM costs on a cluster however few rows it has: partitions, counts sent."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.common.circuits import made
from benchmarks.scaling.edges import forest_of
from spnc.backends.numba.backend import NumbaBackend
from spnc.cluster.connection import connected
from spnc.cluster.dask_rows import DaskCluster
from spnc.cluster.joining import Connection
from spnc.common.observer import silent
from spnc.data.parted import PartedTable, PartInMemory, in_memory
from spnc.data.table import Table
from spnc.graph.circuit_arrays import recorded_circuit
from spnc.learners.hclt import HiddenChowLiu
from spnc.passes.on_arrays import run_on_arrays
from spnc.program.lower import lower_arrays
from spnc.program.program import Parameters, Program
from spnc.spec.recipe import Component

COLUMNS, ROWS_OF_PART = 100, 16
STATES = (4, 80)  # of hidden Chow-Liu trees: circuits of some 2,000 and 640,000 edges
PARTS = (16, 64, 256)
PASSES = 3  # of which the fastest counts


class Overhead(NamedTuple):
    """The seconds of a pass over nearly empty partitions, and the size of its expected counts."""

    edges: int
    megabytes: float
    parts: int
    seconds: float


class Costs(NamedTuple):
    """What `Overhead`s say: seconds of a partition, and of a megabyte of one's counts."""

    partition: float
    megabyte: float


def measured(parts: Sequence[int] = PARTS, states: Sequence[int] = STATES) -> Iterator[Overhead]:
    """Yield what passes over nearly empty partitions cost on two workers."""
    with connected("local:2") as client:
        for count in states:
            program, parameters, table = _circuit(count)
            size = parameters.weights.nbytes + sum(own.nbytes for own in parameters.tables)
            for number in parts:
                pieces = [
                    PartInMemory(table.take(slice(i, i + ROWS_OF_PART))) for i in range(number)
                ]
                rows = PartedTable(pieces, table, table.rows, table.total)
                batch = (
                    DaskCluster(Connection.of(client))
                    .passes(rows)
                    .load(NumbaBackend(), program, once=False)
                )
                batch.expected_counts(parameters)  # sends the program, lays out the rows
                taken = []
                for _ in range(PASSES):
                    began = time.perf_counter()
                    batch.expected_counts(parameters)
                    taken.append(time.perf_counter() - began)
                yield Overhead(program.edges, round(size / 1e6, 3), number, round(min(taken), 4))


def costs(found: Sequence[Overhead]) -> Costs:
    """Fit seconds = partitions · (partition + megabyte · megabytes), by least squares of ratios."""
    each = np.array([[one.parts, one.parts * one.megabytes] for one in found], dtype=float)
    seconds = np.array([one.seconds for one in found])
    fitted, *_ = np.linalg.lstsq(each / seconds[:, None], np.ones(len(found)), rcond=None)
    return Costs(*map(float, fitted))


def _circuit(states: int) -> tuple[Program, Parameters, Table]:
    """Return a hidden Chow-Liu tree, and rows for it."""
    dataset = made("overhead", COLUMNS, 1_000)
    forest = forest_of(dataset, Component(learner=HiddenChowLiu(states=states)))
    circuit = recorded_circuit(forest.builder)
    assert circuit is not None
    circuit = run_on_arrays(circuit)
    assert circuit is not None
    program, parameters = lower_arrays(circuit)
    NumbaBackend().prepare(program, silent)
    return program, parameters, in_memory(dataset.splits["train"])
