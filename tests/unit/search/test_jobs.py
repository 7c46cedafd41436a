"""Tries of a search side by side: the same tries, the same choice, resumed and ended in time."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.cli import main
from spnc.cluster import training
from spnc.common.observer import Observer
from spnc.common.workers import SERIAL
from spnc.model import to_bytes
from spnc.search.trials import Trials
from tests.pickling_workers import PicklingWorkers

SPEC = """
model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
optimizer: {max_iterations: {search: [3, 9, 6]}, stop: none}
forest:
  - {learner: extra-spn, count: 2, min_instances: 300, beta: {search: [0.4, 0.6]}}
seed: 3
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SPEC)
    return "small.yaml"


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> PicklingWorkers:
    """Workers in this process, which take the place of those that any number of jobs means."""
    made = PicklingWorkers()
    monkeypatch.setattr(training, "workers_for", lambda *_: made)
    return made


def tries_of(run: str) -> list[dict[str, str]]:
    """The table of tries, without the time they took."""
    with Path(run, "tries.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        assert float(row.pop("seconds")) >= 0
    return rows


def expect_the_same(run: str, plain: str) -> None:
    assert tries_of(run) == tries_of(plain)
    for name in ("model.spnc", "recipe.lock.yaml", "history.csv"):
        found, want = Path(run, name).read_bytes(), Path(plain, name).read_bytes()
        assert name == "history.csv" or found == want
        assert len(found.splitlines()) == len(want.splitlines())
    assert {p.name for p in Path(run).iterdir()} == {p.name for p in Path(plain).iterdir()}


@pytest.mark.parametrize("jobs", ["2", "-1"])
def test_jobs_change_nothing_but_the_time(spec: str, jobs: str) -> None:
    assert main(["train", spec, "--out", "plain", "--quiet"]) == 0
    assert main(["train", spec, "--out", "jobs", "--quiet", "--jobs", jobs]) == 0
    expect_the_same("jobs", "plain")


def test_rows_given_in_python_stay_here(workers: PicklingWorkers) -> None:
    rng = np.random.default_rng(1)
    table = {"a": rng.integers(2, size=200), "b": ["x", "y"] * 100, "c": rng.normal(size=200)}
    spec = {
        "model": "m",
        "data": {"split": [0.5, 0.5, 0]},
        "forest": [{"learner": "extra-spn", "min_instances": {"search": [20, 40, 60, 80]}}],
        "optimizer": {"max_iterations": 2},
    }
    found = spnc.train(spec, data=table)
    assert workers.computed == 4
    assert found.recipe.data.table is not None
    chosen = next(t.values["forest.0.min_instances"] for t in found.tries if t.chosen)
    again = spnc.train(spec, f"forest.0.min_instances={chosen}", data=table)
    assert to_bytes(again.model) == to_bytes(found.model)


def interrupted_after(tries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupt the search after a given number of tries."""
    add = Trials.add

    def adding(self: Trials, found: Any, *, report: bool) -> None:
        add(self, found, report=report)
        if len(self.outcomes) == tries:
            raise KeyboardInterrupt

    monkeypatch.setattr(Trials, "add", adding)


@pytest.mark.parametrize("with_workers", [False, True])
def test_an_interrupted_search_goes_on(
    spec: str, monkeypatch: pytest.MonkeyPatch, with_workers: bool
) -> None:
    spnc.train(spec, out="plain")
    workers = PicklingWorkers()
    with monkeypatch.context() as patch:
        patch.setattr(training, "workers_for", lambda *_: workers)
        interrupted_after(2, patch)
        with pytest.raises(spnc.Interrupted) as caught:
            spnc.train(spec, out="cut")
    said = str(caught.value)
    assert "interrupted with 3 tries under way; 2 finished tries kept" in said
    assert "--resume" in said
    computed = workers.computed
    with monkeypatch.context() as patch:
        if with_workers:
            patch.setattr(training, "workers_for", lambda *_: workers)
        spnc.train(spec, out="cut", resume=True)
    assert workers.computed == computed + (4 if with_workers else 0)
    expect_the_same("cut", "plain")


def test_nothing_is_left_of_one_that_had_not_come_to_anything(
    spec: str, workers: PicklingWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    spnc.train(spec, out="run")
    before = Path("run/model.spnc").read_bytes()

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trials, "add", interrupt)
    with pytest.raises(spnc.Interrupted, match="before there was anything to keep"):
        spnc.train(spec, out="run", overwrite=True)
    assert Path("run/model.spnc").read_bytes() == before


def test_when_the_time_is_over_the_best_so_far_is_kept(
    spec: str, workers: PicklingWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Observer):
        """Lets the time be over when the first try has come back."""

        def tried(self, number: int, what: str, valid: float, best: bool) -> None:
            from spnc.common.budget import Budget

            monkeypatch.setattr(Budget, "left", lambda _: -1.0)

    found = spnc.train(spec, progress=Slow(), budget="10min")
    # Those that were under way are trained no further, and kept if there is no model yet.
    assert len(found.tries) == workers.count
    assert found.metrics.limits is not None
    assert found.metrics.limits.ended == "search"
    with pytest.raises(spnc.InputError, match="E408"):
        spnc.train(spec, budget=0.001)


def test_a_problem_of_a_try_names_it(
    spec: str, workers: PicklingWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spnc.learners.extra_spn import ExtraSpn

    learn: Callable[..., int | None] = ExtraSpn.learn

    def failing(self: ExtraSpn, task: Any) -> int | None:
        if self.beta == 0.6:
            task.sink.error("E999", "this cannot be learned")
            return None
        task.sink.warning("W999", "this is odd")
        return learn(self, task)

    monkeypatch.setattr(ExtraSpn, "learn", failing)
    with pytest.raises(spnc.InputError, match="E999") as caught:
        spnc.train(spec)
    assert "in try " in str(caught.value)
    found = spnc.train(spec, "forest.0.beta=0.4")
    monkeypatch.setattr(training, "workers_for", lambda *_: SERIAL)
    alone = spnc.train(spec, "forest.0.beta=0.4")
    assert [str(d) for d in found.diagnostics] == [str(d) for d in alone.diagnostics] != []
