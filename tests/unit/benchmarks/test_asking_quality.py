"""The benchmark of imputation and prediction, on a small table in which one column says it all."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import asking_quality
from benchmarks.common.hidden_tables import (
    folds,
    hidden,
    imputation_scores,
    log_loss,
    read_table,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table under the name of a known one: the state, twice, and a number that follows it."""
    (tmp_path / "tables").mkdir()
    rng = np.random.default_rng(0)
    for split, rows in (("train", 300), ("valid", 60), ("test", 80)):
        state = rng.integers(0, 3, rows)
        number = np.round(10.0 * state + rng.normal(size=rows), 2)
        lines = [f"{s},{s + 1},{x}" for s, x in zip(state, number, strict=True)]
        text = "\n".join(["discrete14,discrete1,real2", *lines]) + "\n"
        (tmp_path / "tables" / f"german.{split}.csv").write_text(text)
    kinds = {"discrete14": "discrete", "discrete1": "discrete", "real2": "real"}
    (tmp_path / "tables" / "types.json").write_text(json.dumps({"german": kinds}))
    monkeypatch.setenv("SPNC_DATA", str(tmp_path))
    return tmp_path


def test_scores_are_those_of_the_hidden_cells(folder: Path) -> None:
    table = read_table("german")
    truth = table.splits["test"]
    mask = hidden(truth)
    assert 0.1 < mask.mean() < 0.3
    assert not mask.all(axis=1).any()
    assert imputation_scores(table, "test", mask, truth) == (0.0, 1.0)
    wrong = np.where(mask, truth + 1.0, truth)
    error, accuracy = imputation_scores(table, "test", mask, wrong)
    assert error == pytest.approx(1.0 / table.splits["train"][:, 2].std())
    assert accuracy == 0.0
    assert log_loss(table, "test", np.full((len(truth), 3), 1 / 3)) == pytest.approx(np.log(3.0))


def test_folds_use_every_row_but_the_test_rows_once(folder: Path) -> None:
    table = read_table("german")
    parts = folds(table, 5)
    judged = np.concatenate([part.splits["test"] for part in parts])
    own = np.concatenate([table.splits["train"], table.splits["valid"]])
    assert sorted(map(tuple, judged)) == sorted(map(tuple, own))
    for part in parts:
        assert sum(len(rows) for rows in part.splits.values()) == len(own)


def test_a_circuit_and_its_peers_are_measured_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_quality, "FOLDS", 2)
    line = ["--tables", "german", "--recipes", "hclt-24,target trees", "--results", str(folder)]
    assert asking_quality.main(line) == 0
    found = json.loads((folder / "asking_quality.json").read_text())["german"]
    own = found["test: hclt-24"]  # the other recipe is made for the target
    assert own["accuracy"] > 0.95
    assert own["error"] < 0.25
    losses = {recipe: found[f"choice: {recipe}"] for recipe in ("hclt-24", "target trees")}
    for task in ("complete", "hidden"):
        best = min(losses, key=lambda recipe: losses[recipe][task])
        assert found[f"test: {best}"][task] < 0.2
    assert found["sklearn: impute"]["mean, mode"]["accuracy"] < 0.6
    assert found["sklearn: predict"]["forest"]["complete"] < 0.05
    page = (folder / "asking_quality.md").read_text()
    assert "| german |" in page
    assert "0 of 1 tables" in page  # no better than what is listed beside the real table
    capsys.readouterr()
    assert asking_quality.main(line) == 0
    assert capsys.readouterr().out == page + "\n"  # nothing was measured again
