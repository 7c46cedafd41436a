"""Runs with `objective: conditional`: what they write, how they are resumed, what they refuse."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.data.hiding import hide_cells, hide_columns
from spnc.data.table import Table
from spnc.training import State
from tests.unit.training.test_optimizers import break_off, train

TARGET = "objective={kind: conditional, target: dyspnoea, max_iterations: 6, batch_rows: 400}"
EM = "optimizer={method: em, max_iterations: 6}"


def conditional(model: spnc.Model, table: Table, column: int) -> float:
    """Return the average log-likelihood of a column given the others, by two plain questions."""
    engine = model.engine
    whole = engine.log_likelihood(model.parameters, engine.load(table))
    rest = engine.log_likelihood(model.parameters, engine.load(hide_columns(table, [column])))
    return float((whole - rest).mean())


def test_the_target_is_predicted_better_than_by_the_generative_fit(spec: str) -> None:
    joint = spnc.train(spec, [EM])
    fitted = spnc.train(spec, [EM, TARGET])
    objective = fitted.metrics.objective
    assert objective is not None
    assert objective.target == ("dyspnoea",)
    assert objective.judged_on == "valid"
    assert objective.start is not None
    assert objective.reached is not None
    assert objective.reached > objective.start
    assert joint.metrics.objective is None
    valid, before = (run.metrics.splits["valid"] for run in (fitted, joint))
    assert valid.conditional_ll == pytest.approx(objective.reached)
    assert before.conditional_ll is None
    # The generative fit is the same, and its result is where the other began.
    count = len(joint.fitted.history)
    assert [r.train for r in fitted.fitted.history[:count]] == [
        r.train for r in joint.fitted.history
    ]
    assert fitted.fitted.history[count].train == pytest.approx(
        joint.fitted.history[joint.fitted.kept_iteration].train
    )


def test_metrics_and_history_are_what_two_questions_to_the_model_give(spec: str) -> None:
    assert train(spec, "run", EM, TARGET) == 0
    model = spnc.load("run/model.spnc")
    metrics = json.loads(Path("run/metrics.json").read_text())
    with Path("run/history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    first = next(i for i, row in enumerate(rows) if row["train_conditional"])
    assert all(not row["valid_conditional"] for row in rows[:first])
    assert len(rows) - first == metrics["objective"]["iterations"] + 1
    kept = rows[metrics["optimizer"]["kept_iteration"]]
    for name in ("train", "valid"):
        found = metrics["splits"][name]["conditional_ll"]
        assert float(kept[f"{name}_conditional"]) == pytest.approx(found)
        assert float(kept[name]) == pytest.approx(metrics["splits"][name]["avg_ll"])
    column = [c.name for c in model.columns].index("dyspnoea")
    from spnc.data.load import load
    from spnc.diagnostics import Sink
    from spnc.spec.read import read_recipe

    recipe = read_recipe(Path(spec), Sink())
    assert recipe is not None
    dataset = load(recipe.data, Sink())
    assert dataset is not None
    wanted = conditional(model, dataset.splits["test"], column)
    assert metrics["splits"]["test"]["conditional_ll"] == pytest.approx(wanted)


@pytest.mark.parametrize("prune", [(), ("prune.flow_below=0.02",)], ids=["whole", "pruned"])
@pytest.mark.parametrize("hide", [0.0, 0.3])
def test_a_run_is_resumed_from_the_fit_to_the_target(
    spec: str, monkeypatch: pytest.MonkeyPatch, hide: float, prune: tuple[str, ...]
) -> None:
    settings = (EM, TARGET, f"objective.hide={hide}", *prune)
    assert train(spec, "whole", *settings) == 0

    def in_the_last_fit(state: State) -> bool:
        return state.history[-1].train_conditional is not None and len(state.history) == 3

    with monkeypatch.context() as patch:
        break_off(patch, in_the_last_fit)
        assert train(spec, "cut", *settings) == 130
    assert train(spec, "cut", *settings, resume=True) == 0
    assert Path("cut/model.spnc").read_bytes() == Path("whole/model.spnc").read_bytes()
    cut, whole = (json.loads(Path(f, "metrics.json").read_text()) for f in ("cut", "whole"))
    for name in ("objective", "optimizer", "splits"):
        assert cut[name] == whole[name]


def test_the_number_of_threads_does_not_change_the_bits(spec: str) -> None:
    models = []
    for threads in (1, 2):
        settings = [EM, TARGET, f"backend={{name: numba, threads: {threads}}}"]
        models.append(spnc.train(spec, settings).model)
    one, two = (model.parameters for model in models)
    assert one.weights.tobytes() == two.weights.tobytes()
    assert [t.tobytes() for t in one.tables] == [t.tobytes() for t in two.tables]


def test_a_search_chooses_by_the_target(spec: str) -> None:
    found = spnc.train(spec, [EM, TARGET, "objective.prior={search: [0.01, 100]}"])
    scores = [one.valid.average for one in found.tries]
    chosen = next(one for one in found.tries if one.chosen)
    assert chosen.valid.average == max(scores)
    assert chosen.valid.average == pytest.approx(found.metrics.splits["valid"].conditional_ll)
    assert scores[0] != scores[1]


@pytest.mark.parametrize("path", ["target={search: [smoke, asia]}", "kind={search: [joint]}"])
def test_what_is_predicted_cannot_be_searched_for(spec: str, path: str) -> None:
    with pytest.raises(spnc.InputError) as caught:
        spnc.train(spec, [TARGET, f"objective.{path}"])
    assert {d.code for d in caught.value.diagnostics} >= {"E132"}


def test_numbers_with_missing_cells_predict_and_are_predicted() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=400)
    data: dict[str, Any] = {
        "kind": np.array(["a", "b", "c"])[kind],
        "width": np.where(rng.random(400) < 0.2, np.nan, np.round(rng.normal(kind * 2.0, 1.5), 2)),
        "height": np.round(rng.normal(kind * -1.0, 1.0), 2),
    }
    recipe = {
        "model": "m",
        "data": {"split": [0.7, 0.3, 0.0]},
        "forest": [{"learner": "hclt", "count": 2, "states": 4}],
        "optimizer": {"method": "em", "max_iterations": 20},
        "objective": {"kind": "conditional", "target": ["kind"], "hide": 0.2},
    }
    found = spnc.train(recipe, data=data)
    assert found.metrics.objective is not None
    assert found.metrics.objective.reached > found.metrics.objective.start  # type: ignore[operator]
    number = {**recipe, "objective": {"kind": "conditional", "target": "width"}}
    found = spnc.train(number, data=data)
    assert found.metrics.objective is not None
    assert found.metrics.objective.reached >= found.metrics.objective.start  # type: ignore[operator]


def test_a_target_without_values_is_refused() -> None:
    values = ["x", "y"] * 20
    recipe = {
        "model": "m",
        "data": {"columns": {"b": {"kind": "binary", "labels": ["u", "v"]}}},
        "forest": [{"learner": "hclt"}],
        "objective": {"kind": "conditional", "target": "b"},
    }
    with pytest.raises(spnc.InputError) as caught:
        spnc.train(recipe, data={"a": values, "b": [None] * 40})
    assert "E406" in {d.code for d in caught.value.diagnostics}


def test_hidden_cells_are_missing_and_all_others_are_kept() -> None:
    codes = np.array([[0, 1, 255]], dtype=np.uint8)
    table = Table.of_columns([codes[0], np.array([0.5, np.nan, 2.0])], np.array([1.0, 2.0, 3.0]))
    hidden = np.array([[True, False], [False, False], [False, True]])
    found = hide_cells(table, hidden)
    assert found.values == pytest.approx(
        np.array([[np.nan, 0.5], [1.0, np.nan], [np.nan, np.nan]]), nan_ok=True
    )
    assert [b.cells.dtype for b in found.blocks] == [b.cells.dtype for b in table.blocks]
    assert (found.weights == table.weights).all()
