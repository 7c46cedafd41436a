"""Times spnc on the benchmark's circuits, through the same questions as its peers."""

from __future__ import annotations

import sys
import time
from importlib.metadata import version
from typing import Any

from benchmarks.circuits import Flat, graph_of, lowered
from benchmarks.peers.speed_protocol import DOUBLE, Circuit, Rows, serve
from spnc.backends import Backend
from spnc.data.dataset import Table
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import Parameters
from spnc.program.score import Score
from spnc.registry import BACKENDS
from spnc.training.m_step import m_step


class Spnc:
    """A backend of spnc, by name."""

    version = version("spnc-forest")
    tolerance = DOUBLE

    def __init__(self, backend: Backend) -> None:
        self.backend = backend.resolved()

    def build(self, circuit: Circuit, rows: Rows) -> dict[str, Any]:
        """Graph to program, and the rows laid out as training lays them out, once."""
        flat = Flat(**{**circuit, "root": int(circuit["root"])})  # type: ignore[arg-type]
        program, self.given = lowered(graph_of(flat, rows.shape[1]))
        self.engine = self.backend.open(program)
        began = time.perf_counter()
        self.table = Table(rows).distinct()
        self.batch = self.engine.load(self.table)
        prepared = time.perf_counter() - began
        began = time.perf_counter()
        self.restore()
        self.em()  # whatever a backend compiles or lays out at first use
        self.restore()
        self.log_likelihood()
        return {
            "backend": self.backend.plugin_name,
            "prepared": prepared,
            "first_use": time.perf_counter() - began,
            "distinct": self.table.rows,
        }

    def log_likelihood(self) -> float:
        """One pass, and the mean."""
        found = self.engine.log_likelihood(self.parameters, self.batch)
        return Score.of(found, self.table.weights).average

    def restore(self) -> None:
        """A copy, so that nobody can know the parameters again and answer from memory."""
        tables = tuple(table.copy() for table in self.given.tables)
        self.parameters = Parameters(self.given.weights.copy(), tables)

    def em(self) -> None:
        """Expected counts, then new parameters, without a prior: the peers have none."""
        counts = self.engine.expected_counts(self.parameters, self.batch)
        self.parameters = m_step(self.engine.program, self.parameters, counts, Smoothing.of(0.0))


def backend_named(text: str) -> Backend:
    """`numpy`, or `numba:threads=2`."""
    name, _, options = text.partition(":")
    pairs = (option.split("=") for option in options.split(",") if option)
    return BACKENDS[name](**{key: int(value) for key, value in pairs})  # type: ignore[no-any-return]


if __name__ == "__main__":
    serve(Spnc(backend_named(sys.argv[1])))
