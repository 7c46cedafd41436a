"""The mixed table of the speed benchmark: its mixture, its tree, and the work on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import speed
from benchmarks.common import mixed_table
from benchmarks.common.circuits import jittered_circuit, lowered
from benchmarks.common.flat_circuit import Flat, columns_of, flattened, graph_of
from benchmarks.common.mixed_table import (
    STATES,
    Mixture,
    known_mixture,
    mixed_circuit,
    mixed_dataset,
    mixed_tree,
)
from benchmarks.common.steps import Steps
from benchmarks.peers.speed_protocol import answer, leaf_distribution, leaf_parameters
from benchmarks.timing import speed_page
from benchmarks.timing.comparison import WORKS, Result, Task, compare
from benchmarks.timing.spnc_worker import Spnc, stored
from benchmarks.timing.workers import Contender
from spnc import checks
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.graph.nodes import Builder
from spnc.leaves.indicator import Indicator
from spnc.registry import BACKENDS
from tests.unit.benchmarks.flat_definition import after_em, log_likelihoods

ROWS = 1_500


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return mixed_dataset(ROWS)


@pytest.fixture(scope="module")
def flat(dataset: Dataset) -> Flat:
    return jittered_circuit(mixed_tree(dataset, smallest_share=1 / 5), 0)


def test_the_table_is_what_the_benchmark_promises(dataset: Dataset) -> None:
    kinds = [column.kind for column in dataset.columns]
    assert kinds == ["real"] * 10 + ["categorical"] * 10
    values = dataset.train.values
    for i, column in enumerate(dataset.columns):
        distinct = np.unique(values[:, i])
        if column.is_finite:
            assert 4 <= column.states <= 8
            assert distinct.tolist() == list(range(column.states))
        else:
            assert len(distinct) == ROWS
            assert column.scale is not None
            assert column.scale.low == distinct[0]
            assert column.scale.resolution < np.diff(distinct).min()
    assert (mixed_dataset(ROWS).train.values == values).all()
    assert not (mixed_dataset(ROWS, seed=1).train.values == values).all()


def test_the_mixture_is_normalised_and_its_rows_follow_it() -> None:
    mixture = Mixture.drawn(1, (3, 2), 4, seed=5)
    grid = np.linspace(-15, 15, 3001)
    cells = [(x, a, b) for a in range(3) for b in range(2) for x in grid]
    density = np.exp(mixture.log_density(np.array(cells))).reshape(6, -1)
    assert density.sum() * (grid[1] - grid[0]) == pytest.approx(1.0, abs=1e-6)
    rows = mixture.rows(40_000, seed=1)
    shares = density.sum(axis=1) * (grid[1] - grid[0])
    found = np.bincount((rows[:, 1] * 2 + rows[:, 2]).astype(int), minlength=6) / len(rows)
    np.testing.assert_allclose(found, shares, atol=0.01)
    assert rows[:, 0].mean() == pytest.approx(mixture.weights @ mixture.means[:, 0], abs=0.05)


def test_the_tree_is_valid_and_explains_the_table_better_than_independent_columns() -> None:
    dataset = mixed_dataset(ROWS)
    test = known_mixture().rows(500, seed=7)
    truth = known_mixture().log_density(test).mean()
    scores = []
    for share in (1 / 20, 2.0):  # above one, the first slice is not split
        graph = mixed_tree(dataset, smallest_share=share)
        sink = Sink()
        checks.check(graph, sink)
        assert sink.diagnostics == []
        assert max(graph.in_degree(n) for n in graph) == 1
        scores.append(log_likelihoods(flattened(*lowered(graph)), test).mean())
    assert truth > scores[0] > scores[1] + 1.0


def test_the_tree_of_the_benchmark_has_one_to_three_thousand_edges(dataset: Dataset) -> None:
    flat = mixed_circuit(dataset)
    assert 1_000 <= flat.edges <= 3_000
    assert flat.distributions == ["categorical", "gaussian"]
    again = mixed_circuit(dataset)
    for name, array in vars(flat).items():
        np.testing.assert_array_equal(array, getattr(again, name))


def test_the_file_says_what_spnc_computes(dataset: Dataset, flat: Flat, tmp_path: Path) -> None:
    flat.save(tmp_path / "circuit.npz")
    read = Flat.read(tmp_path / "circuit.npz")
    rows = dataset.train.values[:60]
    columns = columns_of(read, dataset.train.values)
    assert columns == list(dataset.columns)
    program, parameters = lowered(graph_of(read, columns))
    engine = BACKENDS["numpy"]().open(program)
    found = engine.log_likelihood(parameters, engine.load(stored(rows, columns)))
    np.testing.assert_allclose(found, log_likelihoods(read, rows), rtol=1e-10)
    assert read.edges == flat.edges == program.edges


def test_workers_read_leaves_from_the_file(flat: Flat) -> None:
    circuit = {name: np.asarray(array) for name, array in vars(flat).items()}
    for i in np.flatnonzero(flat.column >= 0).tolist():
        column, parameters = int(flat.column[i]), leaf_parameters(circuit, i)
        if column < mixed_table.REALS:
            assert leaf_distribution(circuit, i) == "gaussian"
            assert len(parameters) == 2
            assert parameters[1] > 0
        else:
            assert leaf_distribution(circuit, i) == "categorical"
            assert len(parameters) == STATES[column - mixed_table.REALS]
            assert sum(parameters) == pytest.approx(1.0)


def test_leaves_that_peers_do_not_have_are_refused() -> None:
    builder = Builder([Column("x0")])
    builder.leaf(0, Indicator(1))
    program, parameters = lowered(builder.graph)
    with pytest.raises(ValueError, match="no indicator leaves"):
        flattened(program, parameters)


class InProcess:
    """A system that is asked without a process of its own."""

    def __init__(self, told: dict[str, str]) -> None:
        self.system, self.told = Spnc(BACKENDS["numpy"]()), told

    def ask(self, seconds: float, **command: Any) -> dict[str, Any]:
        found = answer(self.system, {**command, "fill": 0.0})
        told = self.told if command["do"] == "build" else {}
        return json.loads(json.dumps({**found, **told}))

    def stop(self) -> None:
        pass


def compared(flat: Flat, rows: np.ndarray) -> list[Result]:
    systems = {"spnc": InProcess({}), "peer": InProcess({"deviation": "it rounds its leaves"})}
    task = Task("mixed", "tree", flat, rows, checked_rows=len(rows))
    contenders = [Contender(name, "1", (), is_peer=name == "peer") for name in systems]
    return compare(task, contenders, 1, 1.0, Steps(quiet=True), lambda c: systems[c.name])


def test_work_on_the_mixed_tree_is_what_the_definition_says(dataset: Dataset, flat: Flat) -> None:
    rows = dataset.train.values
    own, peer = compared(flat, rows)
    assert own.unable == peer.unable == own.differs == peer.differs == {}
    assert own.means["call"] == pytest.approx(log_likelihoods(flat, rows).mean(), rel=1e-10)
    later = log_likelihoods(after_em(flat, rows), rows).mean()
    assert own.means["em"] == pytest.approx(later, rel=1e-9)
    assert later > own.means["call"] + 0.1
    record = own.record()
    assert record["leaves"] == ["categorical", "gaussian"]
    assert record["distinct"] == ROWS


def test_the_page_names_deviations_and_the_readme_has_a_sentence(
    dataset: Dataset, flat: Flat
) -> None:
    records = json.loads(json.dumps([r.record() for r in compared(flat, dataset.train.values)]))
    for record, seconds in zip(records, (1.0, 150.0), strict=True):
        record["seconds"] = {work: [seconds] for work in WORKS}
    binary = [{**r, "data": "nltcs", "leaves": ["bernoulli"]} for r in records]
    for record, seconds in zip(binary, (1.0, 9.0), strict=True):
        record["seconds"] = {work: [seconds] for work in WORKS}
    run = {"cores": 2, "load": 0.1, "repeats": 1, "seconds": 60.0, "growth": []}
    run["records"] = [*binary, *records]
    assert "mixed tree: it rounds its leaves." in speed_page.page(run)
    lines = speed_page.readme_lines(run)
    assert "is 9 to 9 times faster" in lines
    assert "1,500 distinct rows, spnc is faster by 150 × in a call, 150 × in a pass" in (
        lines.replace("\n", " ")
    )
    # As recorded before there were mixed tables.
    before = [{k: v for k, v in r.items() if k != "leaves"} for r in binary]
    assert "distinct rows" not in speed_page.readme_lines({**run, "records": before})


def test_a_quick_run_measures_the_mixed_table_without_peers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[Task, list[str]]] = []

    def measured(task: Task, contenders: Any, *_: Any) -> list[Result]:
        asked.append((task, [c.name for c in contenders]))
        return [Result(c, task) for c in contenders]

    own, peer = Contender("spnc", "1", ()), Contender("peer", "1", (), is_peer=True)
    monkeypatch.setattr(speed, "compare", measured)
    monkeypatch.setattr(speed, "systems", lambda *_: [own, peer])
    monkeypatch.setattr(speed, "QUICK_MIXED_ROWS", 300)
    assert speed.main(["--quick", "--datasets", "mixed"]) == 0
    ((task, names),) = asked
    assert (task.data, task.circuit, len(task.rows)) == ("mixed", "tree", 300)
    assert names == ["spnc"]
    assert "mixed  tree" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        speed.main(["--datasets", "mixd"])


@pytest.mark.parametrize("problem", [{"unable": {"em": "E1"}}, {"differs": {"call": "other"}}])
@pytest.mark.parametrize("is_peer", [False, True])
def test_a_run_in_which_spnc_fails_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, problem: dict[str, Any], is_peer: bool
) -> None:
    def measured(task: Task, contenders: Any, *_: Any) -> list[Result]:
        return [
            Result(c, task, **(problem if c.name == "failing" else {}))  # type: ignore[arg-type]
            for c in contenders
        ]

    systems = [Contender("spnc", "1", ()), Contender("failing", "1", (), is_peer=is_peer)]
    monkeypatch.setattr(speed, "compare", measured)
    monkeypatch.setattr(speed, "systems", lambda *_: systems)
    monkeypatch.setattr(speed, "MIXED_ROWS", 300)
    assert speed.main(["--datasets", "mixed", "--no-growth"]) == (0 if is_peer else 1)


def test_a_call_that_reads_real_columns_otherwise_than_training_is_noted(
    dataset: Dataset, flat: Flat
) -> None:
    class Rounding(Spnc):
        """Its call gets whole numbers, as if real columns were codes."""

        def build(self, circuit: Any, rows: np.ndarray) -> dict[str, Any]:
            found = super().build(circuit, rows)
            self.rows = np.rint(rows)
            return found

    systems = {"spnc": InProcess({})}
    systems["spnc"].system = Rounding(BACKENDS["numpy"]())
    task = Task("mixed", "tree", flat, dataset.train.values, checked_rows=200)
    (result,) = compare(
        task, [Contender("spnc", "1", ())], 1, 1.0, Steps(quiet=True), lambda c: systems[c.name]
    )
    assert "mean log-likelihood of a call" in result.differs["call"]
