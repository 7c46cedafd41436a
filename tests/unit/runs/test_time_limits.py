"""`limits: {time: …}` and `--budget`: training ends in time and keeps the best so far."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spnc
from spnc.cli import main
from spnc.common.budget import Budget
from spnc.common.deadline import OutOfTimeError
from spnc.diagnostics import Sink
from spnc.model import to_bytes
from spnc.pipeline import train
from spnc.runs.results import report_changed_files
from spnc.search.grid import search
from spnc.spec.read import recipe_from, spec_source
from spnc.spec.recipe import Recipe
from spnc.trained import Trained
from spnc.training.time_limit import TimeLimit
from tests.choosing import Clock
from tests.interrupting import interrupted
from tests.sealing import json_resealed


def recipe(**changes: Any) -> Recipe:
    """A small recipe with validation rows, for a few iterations."""
    sink = Sink()
    given = {
        "model": "small",
        "data": {"source": "builtin:asia", "split": [0.6, 0.2, 0.2]},
        "forest": [{"learner": "chow-liu", "count": 1}],
        "optimizer": {"method": "em", "max_iterations": 6, "stop": "none", "patience": "none"},
        "backend": "numpy",
        **changes,
    }
    return sink.require(recipe_from(sink.require(spec_source(given, sink)), sink))


def all_ends(given: Recipe) -> dict[str | None, Trained]:
    """What training comes to within longer and longer times, by what was ended; None: nothing.

    A look at the clock takes a second. Every model is that of its recipe, without a limit.
    """
    found: dict[str | None, Trained] = {}
    for seconds in range(1, 60):
        try:
            trained = train(given, Sink(), budget=Budget(seconds + 0.5, Clock(1.0)))
        except OutOfTimeError:
            continue
        ended = trained.ended.fit if trained.ended is not None else None
        if ended not in found or seconds % 4 == 0:
            again = train(trained.recipe, Sink())
            assert again.ended is None
            assert to_bytes(again.model) == to_bytes(trained.model)
            assert again.scores == trained.scores
        found[ended] = trained
        if ended is None:
            return found
    raise AssertionError("it is never finished")


@pytest.mark.parametrize(
    "optimizer",
    [
        {"method": "em", "average": 0.5, "dropout": 0.1},
        {"method": "stepwise-em", "batch_rows": 1000},
        {"method": "sgd", "batch_rows": 1000, "schedule": "cosine"},  # which `cut` cannot cut
    ],
    ids=lambda optimizer: str(optimizer["method"]),
)
def test_a_training_that_is_ended_has_a_recipe_for_the_same_bits(
    optimizer: dict[str, Any],
) -> None:
    options = {**optimizer, "max_iterations": 4, "stop": "none"}
    found = all_ends(recipe(optimizer=options))
    assert found.keys() == {"training", None}
    assert found["training"].fitted.stopped == "time"


def test_pruning_that_is_not_finished_is_left_out() -> None:
    forest = [{"learner": "extra-spn", "count": 2, "min_instances": 300}]
    found = all_ends(recipe(forest=forest, prune={"flow_below": 0.05}))
    assert found.keys() == {"training", "pruning", None}
    assert found["pruning"].recipe.prune is None
    edges = {ended: trained.metrics.model["edges"] for ended, trained in found.items()}
    assert edges["training"] == edges["pruning"] > edges[None]


def test_the_fit_to_an_objective_is_ended_too() -> None:
    objective = {"kind": "conditional", "target": "cancer", "max_iterations": 4}
    found = all_ends(recipe(objective=objective))
    assert found.keys() == {"training", "objective", None}
    for trained in found.values():
        assert trained.metrics.splits["valid"].conditional_ll is not None


def test_a_search_ends_with_the_best_so_far() -> None:
    options = {"method": "em", "max_iterations": {"search": [2, 4, 6]}, "stop": "none"}
    given = recipe(optimizer=options, limits={"time": "1h"})
    tried = set()
    for seconds in range(4, 60, 3):
        budget = Budget(seconds + 0.5, Clock(1.0))
        try:
            found = search(given, Sink(), budget=budget)
        except OutOfTimeError:
            continue
        tried.add(len(found.tries))
        assert found.metrics.limits is not None
        best = max(found.tries, key=lambda t: t.valid.rank)
        assert next(t for t in found.tries if t.chosen).number == best.number
        assert to_bytes(train(found.recipe, Sink()).model) == to_bytes(found.model)
        unfinished = found.metrics.limits.ended
        if unfinished is None:
            assert len(found.tries) == 3
            break
        assert unfinished == "search"
    assert tried == {1, 2, 3}


def ending_at(iteration: int) -> Any:
    """A `TimeLimit.enough` that ends training after an iteration."""
    return lambda _, history: history[-1].iteration >= iteration


def test_it_ends_well_says_so_and_its_lock_file_makes_the_same_model(
    spec: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(TimeLimit, "enough", ending_at(5))
        assert main(["train", spec, "--out", "run", "--budget", "2h"]) == 0
    said = capsys.readouterr().out
    assert "em stopped by time after 5 iterations" in said
    assert "the time limit of 2 h 0 min ended the training" in said
    metrics = json.loads(Path("run/metrics.json").read_text())
    assert metrics["optimizer"]["stopped"] == "time"
    assert metrics["limits"]["ended"] == "training"
    assert metrics["limits"]["time"] == 7200
    files = [Path("run", name) for name in ("recipe.lock.yaml", "model.spnc", "history.csv")]
    assert not report_changed_files(Path("run/metrics.json"), files, Sink())
    assert main(["train", "run/recipe.lock.yaml", "--out", "again"]) == 0
    assert Path("again/model.spnc").read_bytes() == Path("run/model.spnc").read_bytes()
    assert not Path("run/time-used.json").exists()


def test_limits_that_are_not_reached_change_no_byte(spec: str) -> None:
    spnc.train(spec, out="free")
    found = spnc.train(spec, "limits={time: 2h, memory: 100GB}", out="limited")
    assert found.recipe.limits is None
    assert found.metrics.limits is not None
    assert found.metrics.limits.ended is None
    for name in ("model.spnc", "recipe.lock.yaml"):
        assert Path("free", name).read_bytes() == Path("limited", name).read_bytes()


def test_the_time_of_interrupted_runs_counts(spec: str) -> None:
    said = interrupted(spec, at=4, out="run", budget="2h")
    assert "--out run --budget 2h --resume" in said
    used = json.loads(Path("run/time-used.json").read_text())
    assert 0.0 < used["seconds"] < 7200.0
    json_resealed(Path("run/time-used.json"), seconds=8000.0)
    found = spnc.train(spec, out="run", resume=True, budget="2h")
    assert found.ended is not None
    assert found.fitted.history[-1].iteration == 5  # that of the checkpoint, which is scored
    assert found.metrics.limits is not None
    assert found.metrics.limits.used > 8000.0


def test_a_longer_limit_goes_on_where_a_shorter_one_was_interrupted(spec: str) -> None:
    whole = spnc.train(spec)
    interrupted(spec, at=4, out="run", budget="2h")
    found = spnc.train(spec, out="run", resume=True, budget="3h")
    assert to_bytes(found.model) == to_bytes(whole.model)


def test_a_damaged_count_of_time_is_reported(spec: str) -> None:
    interrupted(spec, at=4, out="run")
    Path("run/time-used.json").write_text("{}")
    with pytest.raises(spnc.InputError, match="E403"):
        spnc.train(spec, out="run", resume=True)


def test_the_stages_that_took_the_time_are_named(spec: str) -> None:
    with pytest.raises(spnc.InputError) as caught:
        spnc.train(spec, budget=1e-6)
    assert [d.code for d in caught.value.diagnostics] == ["E408"]
    assert any("reading data took" in note for note in caught.value.diagnostics[0].notes)
    with pytest.raises(spnc.InputError, match="E137"):
        spnc.train(spec, budget="soon")
