"""Time spnc on the benchmark's circuits, by the same protocol as its peers."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.circuits import lowered
from benchmarks.common.flat_circuit import Flat, columns_of, graph_of
from benchmarks.peers.speed_protocol import DOUBLE, Circuit, Rows, serve
from spnc.backends import Backend
from spnc.data.columns import Column
from spnc.data.table import Table, packed
from spnc.leaves.smoothing import Smoothing
from spnc.model import Model
from spnc.program.program import Parameters
from spnc.program.score import Score
from spnc.registry import BACKENDS
from spnc.training.m_step import m_step


class Spnc:
    """spnc on one of its backends."""

    version = version("spnc-forest")
    tolerance = DOUBLE

    def __init__(self, backend: Backend) -> None:
        self.backend = backend.resolved()

    def build(self, circuit: Circuit, rows: Rows) -> dict[str, Any]:
        """Lower the circuit to a program, and prepare the rows as training does."""
        flat = Flat.of(circuit)
        columns = columns_of(flat, rows)
        program, self.given = lowered(graph_of(flat, columns))
        self.engine = self.backend.open(program)
        self.rows = rows
        began = time.perf_counter()
        self.table = stored(rows, columns).distinct()
        self.batch = self.engine.load(self.table)
        prepared = time.perf_counter() - began
        began = time.perf_counter()
        self._use_everything_once()
        return {
            "backend": self.backend.plugin_name,
            "prepared": prepared,
            "first_use": time.perf_counter() - began,
            "distinct": self.table.rows,
        }

    def _use_everything_once(self) -> None:
        """Let the backend compile what it compiles at first use."""
        self.restore()
        self.em()
        self.restore()
        self.call()
        self.training_pass()

    def call(self) -> NDArray[np.float64]:
        """Return `model.log_likelihood(rows)`: rows checked, prepared and computed."""
        program, backend = self.engine.program, self.backend
        model = Model("speed", program, self.parameters, backend=backend, _engine=self.engine)
        return model.log_likelihood(self.rows)

    def training_pass(self) -> float:
        """Return the mean log-likelihood of the prepared rows."""
        found = self.engine.log_likelihood(self.parameters, self.batch)
        return Score.of(found, self.table.weights).average

    def restore(self) -> None:
        """Set the parameters back to a new copy, so that no cache can recognise them."""
        tables = tuple(table.copy() for table in self.given.tables)
        self.parameters = Parameters(self.given.weights.copy(), tables)

    def em(self) -> None:
        """Run one iteration of EM without a prior, since the peers have none."""
        counts = self.engine.expected_counts(self.parameters, self.batch)
        self.parameters = m_step(self.engine.program, self.parameters, counts, Smoothing.of(0.0))


def stored(rows: Rows, columns: Sequence[Column]) -> Table:
    """Return rows as a dataset stores them: codes in small integers, numbers in doubles."""
    cells = [
        packed(rows[:, i], column.states) if column.is_finite else rows[:, i]
        for i, column in enumerate(columns)
    ]
    return Table.of_columns(cells)


def backend_named(text: str) -> Backend:
    """Return the backend of a text such as `numpy` or `numba:threads=2`."""
    name, _, options = text.partition(":")
    pairs = (option.split("=") for option in options.split(",") if option)
    return BACKENDS[name](**{key: int(value) for key, value in pairs})  # type: ignore[no-any-return]


if __name__ == "__main__":
    serve(Spnc(backend_named(sys.argv[1])))
