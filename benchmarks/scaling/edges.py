"""Time and memory from a learner to the first iteration of EM, by the number of edges.

    python -m benchmarks.scaling.edges --edges 1e6,3e6,1e7
    python -m benchmarks.scaling.edges --edges 1e6 --learner extra-spn

Each size is a process of its own, in which the stages of `spnc train` run one after another. The
table has the seconds of each stage and the peak memory of the process when it ended.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.common.circuits import SMOOTHING, made
from benchmarks.peers.speed_protocol import peak_mb
from benchmarks.timing.curves import apart, fitted_exponent
from spnc.backends.numba.backend import NumbaBackend
from spnc.checks.array_proof import is_plainly_valid
from spnc.cli.output import table
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import silent
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.forest.grow import grow, put_top_sum
from spnc.graph.circuit_arrays import recorded_circuit
from spnc.graph.forest import Forest
from spnc.learners import Learner
from spnc.learners.extra_spn import ExtraSpn
from spnc.learners.hclt import HiddenChowLiu
from spnc.passes.on_arrays import run_on_arrays
from spnc.program.lower import lower_arrays
from spnc.spec.recipe import Component

COLUMNS, ROWS = 100, 4_000
# Of a component: about the number of its edges, and the learner that makes it.
LEARNERS: dict[str, tuple[int, Callable[[], Learner]]] = {
    "hclt": (640_000, lambda: HiddenChowLiu(states=80)),
    "extra-spn": (20_000, lambda: ExtraSpn(min_instances=20)),
}


class Stage(NamedTuple):
    """A stage, how long it took, and the peak memory of the process so far."""

    name: str
    seconds: float
    peak_mb: float


class Measured(NamedTuple):
    """A circuit, and what each stage cost."""

    edges: int
    stages: tuple[Stage, ...]

    @staticmethod
    def from_json(plain: dict[str, Any]) -> Measured:
        """Return what `_asdict` made, read back from JSON."""
        return Measured(plain["edges"], tuple(Stage(*stage) for stage in plain["stages"]))

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(stage.seconds for stage in self.stages)


def measured(edges: int, learner: str) -> Measured:
    """Make a circuit of about this many edges, and take it to its first iteration of EM."""
    stages: list[Stage] = []

    def run(name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        began = time.perf_counter()
        with gc_paused():
            found = work(*arguments)
        stages.append(Stage(name, time.perf_counter() - began, peak_mb()))
        return found

    own, make = LEARNERS[learner]
    dataset = made("edges", COLUMNS, ROWS)
    component = Component(learner=make(), count=max(1, round(edges / own)))
    forest = run("learn", forest_of, dataset, component)
    circuit = run("arrays", recorded_circuit, forest.builder)
    del forest
    if not run("check", is_plainly_valid, circuit):
        raise ValueError("the circuit was not proved valid")
    circuit = run("passes", run_on_arrays, circuit)
    program, parameters = run("lower", lower_arrays, circuit)
    del circuit
    backend = NumbaBackend()
    backend.prepare(program, silent)
    engine = backend.open(program)
    batch = run("plan", engine.load, dataset.distinct["train"])
    run("first EM", engine.expected_counts, parameters, batch)
    run("next EM", engine.expected_counts, parameters, batch)
    return Measured(program.edges, tuple(stages))


def forest_of(dataset: Dataset, component: Component) -> Forest:
    """Learn a component, with a sum over its copies on top."""
    sink = Sink()
    forest = grow([component], dataset, smoothing=SMOOTHING, seed=0, sink=sink)
    sink.stop()
    put_top_sum(forest)
    return forest


def growth(sizes: Sequence[int], learner: str) -> list[Measured]:
    """Measure circuits of these sizes, each in a process of its own."""
    return [apart(measured, size, learner)[0] for size in sizes]


def page(found: Sequence[Measured]) -> str:
    """Return a table of all sizes, with the exponents of growth."""
    head = ["edges", *(stage.name for stage in found[0].stages), "all", "peak MB", "plan / EM"]
    rows = []
    for one in found:
        seconds = {stage.name: stage.seconds for stage in one.stages}
        rows.append(
            [
                f"{one.edges:,}",
                *(f"{value:.2f}" for value in (*seconds.values(), one.seconds)),
                f"{one.stages[-1].peak_mb:,.0f}",
                f"{seconds['plan'] / seconds['next EM']:.1f}",
            ]
        )
    text = table(head, rows)
    if len(found) > 1:
        sizes = [one.edges for one in found]
        slopes = {
            "seconds": fitted_exponent(sizes, [one.seconds for one in found]),
            "memory": fitted_exponent(sizes, [one.stages[-1].peak_mb for one in found]),
        }
        text += "\n" + "; ".join(f"{k} grow as edges^{v:.2f}" for k, v in slopes.items())
    return text


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", default="1e6,3e6,1e7", help="sizes, with commas between them")
    parser.add_argument("--learner", default="hclt", choices=sorted(LEARNERS))
    given = parser.parse_args()
    sizes = [int(float(size)) for size in given.edges.split(",")]
    print(page(growth(sizes, given.learner)))


if __name__ == "__main__":
    main()
