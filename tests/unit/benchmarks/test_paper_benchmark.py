"""The paper's tables: what is bold, what links add, and that a broken-off run goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import paper
from benchmarks.paper_figures import DATASETS, NAMES, SIZES, TEST, TRAIN, figure
from benchmarks.paper_report import report
from benchmarks.runs import Benchmark, Cell


def record(system: str, seed: int, test: float, recipe: str = "") -> dict[str, Any]:
    numbers = {"train": -6.0, "valid": -6.0, "test": test, "edges": 1000, "layers": 10}
    about = {"data": "nltcs", "system": system, "seed": seed, "recipe": recipe}
    return {**about, **numbers, "iterations": 5, "seconds": 60.0}


def test_every_figure_of_the_paper_has_its_six_places() -> None:
    for table in (TEST, TRAIN, SIZES):
        for system, row in table.items():
            assert len(row) == len(DATASETS)
            assert system in NAMES
    assert figure(TEST, "rspf10", "plants") == -14.573
    assert figure(TEST, "hclt10", "plants") is None


def test_a_mean_at_or_above_the_paper_s_is_bold_and_the_spread_is_shown() -> None:
    text = report([record("rspf10", 0, -6.02), record("rspf10", 1, -6.04)])
    assert "| RSPF 10 | -6.046<br>**-6.030** (-6.040 … -6.020) |" in text
    assert "-6.046<br>-6.060 |" in report([record("rspf10", 0, -6.06)])
    assert "2, 2 minutes in all" in text


def test_what_links_add_is_counted_seed_by_seed() -> None:
    plain = [record("rspf3", 0, -6.20), record("rspf3", 1, -6.10)]
    linked = [record("resspn3", 0, -6.10), record("resspn3", 2, -5.00)]
    text = report([*plain, *linked])
    assert "| ResSPN 3 | **+0.100** |" in text


def test_a_run_that_was_broken_off_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trained: list[Cell] = []
    monkeypatch.setattr(Benchmark, "fingerprint", lambda _, cell: f"recipe of {cell.system}")

    def train(benchmark: Benchmark, cell: Cell) -> dict[str, Any]:
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(cell)
        return record(cell.system, cell.seed, -6.0, recipe=benchmark.fingerprint(cell))

    monkeypatch.setattr(Benchmark, "trained", train)
    command = ["paper", "--quick", "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(KeyboardInterrupt):
        paper.main()
    assert len(json.loads((tmp_path / "paper.json").read_text())) == 2
    first, trained[:] = list(trained), []
    assert paper.main() == 0
    assert len(trained) == 1
    assert trained[0] not in first
    assert "RSPF 3" in capsys.readouterr().out
    trained.clear()
    monkeypatch.setattr(Benchmark, "fingerprint", lambda _, cell: f"another {cell.system}")
    with pytest.raises(KeyboardInterrupt):
        paper.main()  # recipes have changed: all is trained again
    assert len(trained) == 2
