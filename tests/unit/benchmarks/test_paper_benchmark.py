"""The paper's tables: what is bold, what links add, and that an interrupted run continues."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import paper
from benchmarks.common.paper_page import report
from benchmarks.common.published import (
    DATASETS,
    LEARN_SPN,
    LEARN_SPN_WITHOUT_EM,
    NAMES,
    SIZES,
    TEST,
    TRAIN,
    figure,
)
from benchmarks.common.trainings import RESULTS, Benchmark, Cell


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


def test_a_mean_at_or_above_the_paper_s_is_bold_and_has_an_interval() -> None:
    text = report([record("rspf10", 0, -6.02), record("rspf10", 1, -6.04)])
    assert "| RSPF 10 | -6.046<br>**-6.030** ± 0.127 |" in text  # 12.706 standard errors of 0.01
    assert "mean over 2 seeds" in text
    assert "-6.046<br>-6.060 |" in report([record("rspf10", 0, -6.06)])
    assert "2, 2 minutes in all" in text


def test_what_links_add_is_counted_seed_by_seed() -> None:
    plain = [record("rspf3", 0, -6.20), record("rspf3", 1, -6.10)]
    linked = [record("resspn3", 0, -6.10), record("resspn3", 2, -5.00)]
    text = report([*plain, *linked])
    assert "| ResSPN 3 | +0.100 |" in text  # one pair: no interval, so not bold
    text = report([*plain, *linked, record("resspn3", 1, -5.998)])
    assert "| ResSPN 3 | **+0.101** ± 0.013 |" in text


def test_learn_spn_is_shown_without_em_and_with_it() -> None:
    text = report([record(LEARN_SPN_WITHOUT_EM, 0, -6.10), record(LEARN_SPN, 0, -6.02)])
    assert "| LearnSPN, no EM | -6.110<br>**-6.100** |" in text
    assert "| LearnSPN, then EM | -6.110<br>**-6.020** |" in text
    cell = Cell("nltcs", LEARN_SPN_WITHOUT_EM, 1)
    assert paper.PAPER.spec(cell).name == "nltcs-learnspn.yaml"
    assert "optimizer.max_iterations=0" in paper.PAPER.settings(cell)


def test_the_page_lists_where_spnc_deviates_from_the_paper() -> None:
    assert "## Where spnc deviates from the paper" in report([record("rspf10", 0, -6.02)])


def test_the_recorded_page_is_made_from_the_records() -> None:
    page = (RESULTS / "paper.md").read_text(encoding="utf-8")
    made = report(json.loads((RESULTS / "paper.json").read_text(encoding="utf-8")))
    tables = made[: made.index("## Where spnc deviates")]
    assert tables in page.replace(page[page.index("## Fig. 3") : page.index("## Where")], "")


def test_an_interrupted_run_continues(
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
        paper.main()  # the recipes have changed: everything is trained again
    assert len(trained) == 2
