"""With `valid: 5-fold`, every row is judged once by a model that has not seen it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spnc
from spnc.common.observer import Observer
from spnc.compilation import compile_rows
from spnc.data.columns import Column, Scale
from spnc.data.dataset import Dataset
from spnc.data.folds import folds_of
from spnc.data.load import load
from spnc.data.options import DataOptions
from spnc.data.table import Table
from spnc.diagnostics import InputError, Sink
from spnc.held_out import hold_out
from spnc.model import to_bytes
from spnc.runs.folder import Interrupted

EM = {"method": "em", "max_iterations": 60, "patience": 3}


def rows(count: int = 90, seed: int = 0) -> np.ndarray:
    """Return rows of six binary columns: noisy copies of one hidden bit."""
    rng = np.random.default_rng(seed)
    hidden = rng.random((count, 1)) < 0.4
    return (hidden ^ (rng.random((count, 6)) < 0.25)).astype(int)


def written(folder: Path, name: str, values: np.ndarray) -> str:
    lines = [",".join(f"x{i}" for i in range(values.shape[1]))]
    lines += [",".join(map(str, row)) for row in values.tolist()]
    (folder / name).write_text("\n".join(lines) + "\n")
    return str(folder / name)


def spec(data: dict[str, Any], **changes: Any) -> dict[str, Any]:
    learner = {"learner": "hclt", "count": 2, "states": 3}
    found = {"model": "m", "data": data, "forest": [learner], "optimizer": EM, "seed": 4}
    return {**found, "backend": "numpy", **changes}


def test_every_row_is_held_out_once() -> None:
    columns = (Column("a"), Column("r", "real", 0, scale=Scale()))
    values = np.stack([np.arange(23) % 2, np.arange(23.0) ** 2], axis=1)
    dataset = Dataset("d", columns, {"train": Table(values), "test": Table(values[:2])})
    options = DataOptions(source="d", valid="5-fold", split_seed=3)
    held = []
    for fold in folds_of(dataset, options):
        assert set(fold.splits) == {"train", "valid"}
        own, others = fold.splits["valid"].values, fold.train.values
        assert len(own) in (4, 5)
        assert len(own) + len(others) == 23
        assert fold.columns[1].scale.high == others[:, 1].max()
        held += own[:, 1].tolist()
    assert sorted(held) == values[:, 1].tolist()
    again = [fold.train.values.tolist() for fold in folds_of(dataset, options)]
    assert again == [fold.train.values.tolist() for fold in folds_of(dataset, options)]
    other = replace(options, split_seed=4)
    assert again != [fold.train.values.tolist() for fold in folds_of(dataset, other)]


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what folds give, and the same from a training for each with files for the splits."""
    folder = tmp_path_factory.mktemp("folds")
    data = {"source": written(folder, "all.csv", rows()), "valid": "3-fold", "split_seed": 5}
    found = spnc.train(spec(data))
    table = Table(rows().astype(float))
    whole = Dataset("d", tuple(Column(f"x{i}") for i in range(6)), {"train": table})
    parts = []
    for fold in folds_of(whole, DataOptions(source="", valid="3-fold", split_seed=5)):
        files = {
            name: written(folder, f"{name}.csv", part.values.astype(int))
            for name, part in (("train", fold.train), ("valid", fold.in_memory("valid")))
        }
        parts.append(spnc.train(spec(files)))
    return {"folds": found, "parts": parts, "source": data["source"]}


def test_the_figure_is_that_of_all_rows_each_held_out(by_hand: dict[str, Any]) -> None:
    scores = [part.scores["valid"] for part in by_hand["parts"]]
    split = by_hand["folds"].metrics["splits"]["valid"]
    assert split["rows"] == 90
    assert split["avg_ll"] == pytest.approx(sum(score.total for score in scores) / 90, rel=1e-12)
    assert list(by_hand["folds"].metrics["splits"]) == ["train", "valid"]


def test_the_model_is_trained_on_all_rows_as_long_as_was_best_on_average(
    by_hand: dict[str, Any],
) -> None:
    kept = [part.fitted.kept_iteration for part in by_hand["parts"]]
    iterations = round(sum(kept) / 3)
    found = by_hand["folds"]
    assert found.metrics["optimizer"]["kept_iteration"] == iterations > 0
    assert found.fitted.history[-1].valid is None
    alone = {"method": "em", "max_iterations": iterations}
    plain = spnc.train(spec({"source": by_hand["source"]}, optimizer=alone))
    assert np.array_equal(found.model.parameters.weights, plain.model.parameters.weights)
    assert found.recipe.data.valid == "3-fold"


def test_the_fractions_for_training_and_validation_are_divided_together(tmp_path: Path) -> None:
    source = written(tmp_path, "all.csv", rows())
    data = {"source": source, "valid": "3-fold"}
    one = spnc.train(spec({**data, "split": [0.8, 0, 0.2]}))
    two = spnc.train(spec({**data, "split": [0.5, 0.3, 0.2]}))
    assert one.metrics["splits"] == two.metrics["splits"]
    assert [s["rows"] for s in one.metrics["splits"].values()] == [72, 72, 18]
    assert list(one.metrics["splits"]) == ["train", "valid", "test"]


def test_splits_that_data_come_with_are_divided_together(tmp_path: Path) -> None:
    table = rows().astype(np.uint8)
    np.savez(tmp_path / "d.npz", train=table[:50], valid=table[50:80], test=table[80:])
    found = spnc.train(spec({"source": str(tmp_path / "d.npz"), "valid": "4-fold"}))
    splits = found.metrics["splits"]
    assert {name: split["rows"] for name, split in splits.items()} == {
        "train": 80,
        "valid": 80,
        "test": 10,
    }


def test_rows_from_python_are_divided_too() -> None:
    table = {f"x{i}": column.tolist() for i, column in enumerate(rows().T)}
    table["x0"] = [None if i % 7 == 0 else value for i, value in enumerate(table["x0"])]
    found = spnc.train(spec({"source": "absent.csv", "valid": "3-fold"}), data=table)
    assert found.metrics["splits"]["valid"]["rows"] == 90


def test_rows_count_by_their_weight() -> None:
    """With weights of two, every fold has the rows twice; smoothing off, nothing else changes."""
    table: dict[str, Any] = {f"x{i}": column.tolist() for i, column in enumerate(rows().T)}
    data = {"source": "-", "valid": "3-fold"}
    one = spnc.train(spec(data, smoothing=0.5), data=table)
    data = {**data, "weight": "w"}
    two = spnc.train(spec(data, smoothing=1.0), data={**table, "w": [2.0] * 90})
    for name, split in one.metrics["splits"].items():
        assert two.metrics["splits"][name]["avg_ll"] == pytest.approx(split["avg_ll"], rel=1e-6)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_search_chooses_what_explains_the_rows_held_out_best(tmp_path: Path, jobs: int) -> None:
    data = {"source": written(tmp_path, "all.csv", rows()), "valid": "3-fold"}
    searched = spec(data, smoothing={"search": [0.1, 1.0, 30.0]})
    found = spnc.train(searched, n_jobs=jobs)
    alone = [spnc.train(spec(data, smoothing=value)) for value in (0.1, 1.0, 30.0)]
    scores = [each.metrics["splits"]["valid"]["avg_ll"] for each in alone]
    assert [each["valid"] for each in found.metrics["search"]["tries"]] == scores
    best = int(np.argmax(scores))
    assert found.metrics["search"]["chosen"] == best + 1
    assert to_bytes(found.model) == to_bytes(alone[best].model)


class Interrupting(Observer):
    """Interrupts the last of all fits, that to all rows, in its second iteration."""

    def __init__(self, folds: int) -> None:
        self._left = folds + 1

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        self._left -= number == 0
        if self._left == 0 and number == 2:
            raise KeyboardInterrupt


@pytest.mark.parametrize("smoothing", [0.1, {"search": [0.1]}])
def test_an_interrupted_run_is_resumed_to_the_same_model(tmp_path: Path, smoothing: Any) -> None:
    data = {"source": written(tmp_path, "all.csv", rows()), "valid": "3-fold"}
    asked = spec(data, smoothing=smoothing)
    with pytest.raises(Interrupted):
        spnc.train(asked, out=tmp_path / "run", progress=Interrupting(3))
    resumed = spnc.train(asked, out=tmp_path / "run", resume=True)
    whole = spnc.train(asked, out=tmp_path / "whole")
    assert resumed.model.parameters.weights.tolist() == whole.model.parameters.weights.tolist()
    again = spnc.train(asked, out=tmp_path / "run", resume=True)
    assert again.was_finished
    assert again.scores["valid"].average == pytest.approx(whole.scores["valid"].average)


@pytest.mark.parametrize("jobs", [1, 2])
def test_components_fitted_alone_and_their_shares_follow_the_folds(
    tmp_path: Path, jobs: int
) -> None:
    entries = [
        {"learner": "hclt", "count": 2, "states": 4, "fit": 40},
        {"learner": "chow-liu"},
    ]
    alone = {"optimizer": {"method": "em", "max_iterations": 0}}
    source = written(tmp_path, "all.csv", rows())
    asked = spec({"source": source, "valid": "3-fold"}, forest=entries, shares="fitted", **alone)
    recipe = spnc.train(asked).recipe
    found = spnc.train(asked, n_jobs=jobs)
    dataset = load(recipe.data, Sink())
    assert dataset is not None
    grown = [
        compile_rows(recipe, fold, Sink(), Observer()).grown
        for fold in folds_of(dataset, recipe.data)
    ]
    fits = [kept for one in grown if one is not None for _, kept in one.fits]
    shares = [one.shares[0] for one in grown if one is not None]
    assert len(fits) == 6
    assert 0 < min(fits) < max(fits) < 40
    given = [
        {**entries[0], "fit": round(sum(fits) / 6), "weight": sum(shares) / 3 / 2},
        {**entries[1], "weight": 1.0 - sum(shares) / 3},
    ]
    plain = spnc.train(spec({"source": source}, forest=given, **alone))
    weights = found.model.parameters.weights
    assert weights == pytest.approx(plain.model.parameters.weights, rel=1e-12)


def test_pruning_and_objectives_follow_the_folds(tmp_path: Path) -> None:
    data = {"source": written(tmp_path, "all.csv", rows()), "valid": "3-fold"}
    objective = {"kind": "conditional", "target": ["x0"], "max_iterations": 8}
    found = spnc.train(spec(data, objective=objective, prune={"flow_below": 0.01}))
    split = found.metrics["splits"]["valid"]
    assert split["conditional_ll"] < 0.0
    assert found.metrics["objective"]["judged_on"] == "train"
    assert found.metrics["objective"]["iterations"] <= 8


def test_a_run_without_the_time_for_all_folds_is_no_run(tmp_path: Path) -> None:
    data = {"source": written(tmp_path, "all.csv", rows()), "valid": "3-fold"}
    with pytest.raises(InputError) as caught:
        spnc.train(spec(data), budget=1e-3)
    assert [d.code for d in caught.value.diagnostics] == ["E408"]


def test_a_problem_says_which_part_was_held_out() -> None:
    recipe = spnc.train(spec({"source": "builtin:asia", "valid": "2-fold"})).recipe

    def failing(compile_fold: Any, sink: Sink) -> Any:
        sink.error("E402", "nothing to learn from")
        sink.stop()

    with pytest.raises(InputError) as caught:
        hold_out(recipe, [Any, Any], failing, Observer())
    assert caught.value.diagnostics[0].notes == ("while part 1 of 2 was held out",)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        (
            {
                "forest": [{"learner": "hclt", "refine": True}],
                "objective": {"kind": "conditional", "target": ["lung"]},
                "optimizer": {"method": "em", "max_iterations": 0},
            },
            "`refine`",
        ),
        ({"forest": ["continuous-mixture"]}, "`continuous-mixture`"),
    ],
)
def test_what_needs_validation_rows_to_the_end_is_refused(
    changes: dict[str, Any], what: str
) -> None:
    (problem,) = spnc.check(spec({"source": "builtin:asia", "valid": "5-fold"}, **changes))
    assert problem.code == "E111"
    assert what in problem.message
