"""The speed benchmark: its circuits, what it gives to other systems, and what it writes."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import benchmarks
from benchmarks import speed
from benchmarks.common import circuits
from benchmarks.common.flat_circuit import Flat, columns_of, graph_of
from benchmarks.common.markdown import marks
from benchmarks.common.steps import Steps
from benchmarks.common.trainings import RESULTS
from benchmarks.peers.speed_protocol import SUM, System, answer
from benchmarks.timing import speed_page
from benchmarks.timing.comparison import WORKS, Result, Task, compare
from benchmarks.timing.curves import Curve, Point, fitted_exponent
from benchmarks.timing.spnc_worker import Spnc
from benchmarks.timing.workers import Contender, GoneError
from spnc import checks
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Graph
from spnc.registry import BACKENDS
from tests.unit.benchmarks.flat_definition import log_likelihoods

FOLDER = Path(benchmarks.__path__[0])
COMMANDS = sorted(file.stem for file in FOLDER.glob("[!_]*.py"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_importable_and_listed(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert callable(module.main)
    assert f"`python -m benchmarks.{name}`" in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def digits() -> Dataset:
    found = circuits.data_of(circuits.FALLBACK)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def forest(digits: Dataset) -> Graph:
    return circuits.linked(digits, 300, 1, 3)


@pytest.fixture(scope="module")
def flat(digits: Dataset) -> Flat:
    return circuits.circuit(digits, "forest", circuits.Source(300, 1, 3))


def problems(graph: Graph) -> list[str]:
    sink = Sink()
    checks.check(graph, sink)
    return [d.message for d in sink.diagnostics]


def test_the_tree_is_a_valid_circuit_and_a_tree(digits: Dataset) -> None:
    graph = circuits.tree(digits, 300, 1)
    assert problems(graph) == []
    assert max(graph.in_degree(n) for n in graph) == 1


def test_the_linked_forest_is_a_valid_dag_that_shares_inner_nodes(forest: Graph) -> None:
    assert problems(forest) == []
    assert nx.is_directed_acyclic_graph(forest)
    shared = [n for n in forest if forest.in_degree(n) > 1 and forest.out_degree(n) > 0]
    assert len(shared) >= 5


def test_links_do_not_depend_on_the_run(digits: Dataset, forest: Graph) -> None:
    again = circuits.linked(digits, 300, 1, 3)
    assert list(again.edges(data="weight")) == list(forest.edges(data="weight"))


def test_links_add_about_as_many_edges_as_asked_for(digits: Dataset, forest: Graph) -> None:
    without = circuits.grown(digits, 3, 300, 1).builder.graph.number_of_edges()
    assert without < forest.number_of_edges() <= 1.5 * without + 400


def test_what_is_handed_over_is_shared_and_strictly_between_zero_and_one(flat: Flat) -> None:
    parents = Counter(flat.children.tolist())
    assert any(count > 1 and flat.kind[n] == SUM for n, count in parents.items())
    assert flat.distributions == ["bernoulli"]
    assert flat.parameters.min() > 0
    assert flat.parameters.max() < 1
    assert flat.weights.min() > 0
    assert (flat.children < np.repeat(np.arange(len(flat.kind)), np.diff(flat.starts))).all()


def test_the_file_says_what_spnc_computes(digits: Dataset, flat: Flat, tmp_path: Path) -> None:
    flat.save(tmp_path / "circuit.npz")
    read = Flat.read(tmp_path / "circuit.npz")
    rows = digits.train.values[:40]
    program, parameters = circuits.lowered(graph_of(read, columns_of(read, rows)))
    engine = BACKENDS["numpy"]().open(program)
    found = engine.log_likelihood(parameters, engine.load(Table(rows)))
    np.testing.assert_allclose(found, log_likelihoods(read, rows), rtol=1e-10)
    assert read.edges == flat.edges == program.edges


def test_the_exponent_is_the_slope_in_log_log() -> None:
    sizes = [10, 100, 1000]
    assert fitted_exponent(sizes, [3 * n**1.5 for n in sizes]) == pytest.approx(1.5)
    points = tuple(Point(n, 2e-3 * n, None, {}) for n in sizes)
    assert "to the power of 1.00" in Curve("EM", "rows", points).text()


class InProcess:
    """A system that is asked without a process of its own."""

    def __init__(self, system: System | None = None, fails: str = "", wrong: float = 0.0) -> None:
        self.system = system or Spnc(BACKENDS["numpy"]())
        self.fails, self.wrong = fails, wrong

    def ask(self, seconds: float, **command: Any) -> dict[str, Any]:
        if command["do"] == self.fails:
            raise GoneError("not done after 1 s")
        # The least work: nothing is repeated to fill time.
        found = answer(self.system, {**command, "fill": 0.0})
        if found.get("mean") is not None:
            found["mean"] += self.wrong
        return json.loads(json.dumps(found))

    def stop(self) -> None:
        pass


class Peer:
    """A system that prepares nothing, so it has no pass of its own."""

    version, tolerance = "1", Spnc.tolerance

    def __init__(self) -> None:
        spnc = Spnc(BACKENDS["numpy"]())
        self.build, self.call, self.restore, self.em = spnc.build, spnc.call, spnc.restore, spnc.em


def compared(digits: Dataset, flat: Flat, **others: InProcess) -> list[Result]:
    systems = {"spnc": InProcess(), **others}
    task = Task("digits", "forest", flat, digits.train.values[:50])
    contenders = [Contender(name, "1", (), is_peer=name != "spnc") for name in systems]
    return compare(task, contenders, 2, 1.0, Steps(quiet=True), lambda c: systems[c.name])


def run_of(results: list[Result]) -> dict[str, Any]:
    about = {"cores": 2, "load": 0.1, "repeats": 2, "seconds": 60.0, "growth": ["a curve"]}
    return {**about, "records": json.loads(json.dumps([r.record() for r in results]))}


def test_records_have_what_they_promise(digits: Dataset, flat: Flat) -> None:
    (record,) = run_of(compared(digits, flat))["records"]
    named = {k: record[k] for k in ("system", "version", "data", "circuit")}
    assert named == {
        "system": "spnc", "version": Spnc.version, "data": "digits", "circuit": "forest"
    }  # fmt: skip
    assert (record["rows"], record["edges"]) == (50, flat.edges)
    assert record["differs"] == record["unable"] == {}
    for work in WORKS:
        assert len(record["seconds"][work]) == 2
        assert record["peak_mb"][work] > 0
        assert speed_page.rate(record, work) > 0
    means = record["checked_means"]
    assert means["call"] == pytest.approx(means["pass"], rel=1e-12)
    assert means["em"] > means["call"]


def test_a_system_that_disagrees_is_marked(digits: Dataset, flat: Flat) -> None:
    results = compared(digits, flat, other=InProcess(wrong=0.5))
    assert set(results[1].differs) == set(WORKS)
    page = speed_page.page(run_of(results))
    assert "* |" in page
    assert "mean log-likelihood before training" in page
    assert "*: spnc" in speed_page.text(run_of(results))


def test_a_system_that_cannot_has_a_dash_and_a_reason(digits: Dataset, flat: Flat) -> None:
    results = compared(digits, flat, other=InProcess(fails="em"))
    assert results[1].unable["em"] == "not done after 1 s"
    assert results[1].seconds["em"] == []
    page = speed_page.page(run_of(results))
    assert "no EM: not done after 1 s" in page
    assert "not done after 1 s" in speed_page.text(run_of(results))


def test_tables_have_one_number_of_columns(digits: Dataset, flat: Flat) -> None:
    page = speed_page.page(run_of(compared(digits, flat, other=InProcess())))
    tables = [block for block in page.split("\n\n") if block.startswith("|")]
    assert len(tables) == 3
    for block in tables:
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_a_peer_without_preparation_has_its_call_for_a_pass(digits: Dataset, flat: Flat) -> None:
    results = compared(digits, flat, peer=InProcess(Peer()))
    assert results[0].about["prepares"]
    assert not results[1].about["prepares"]
    assert results[1].seconds["pass"] == results[1].seconds["call"] != []
    assert results[0].seconds["pass"] != results[0].seconds["call"]


def test_the_summary_compares_with_the_fastest_peer(digits: Dataset, flat: Flat) -> None:
    run = run_of(compared(digits, flat, slow=InProcess(), fast=InProcess()))
    for record, seconds in zip(run["records"], (1.0, 70.0, 7.0), strict=True):
        record["seconds"] = {work: [seconds, seconds] for work in WORKS}
    assert speed_page.summary(run["records"])[0][-3:] == ["7 ×"] * 3
    lines = speed_page.readme_lines(run)
    assert "is 7 to 7 times faster" in lines
    assert lines.count("\n") == 4


def test_the_docs_show_the_recorded_speed() -> None:
    docs = speed.DOCS.read_text(encoding="utf-8")
    page = (RESULTS / "speed.md").read_text(encoding="utf-8")
    begin, end = marks("speed")
    shown = docs.partition(begin)[2].partition(end)[0]
    assert shown.strip()
    assert page.endswith(shown)
