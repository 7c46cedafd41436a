"""The benchmark of questions: its rows, what workers reply, and what it writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import asking
from benchmarks.common.circuits import FALLBACK, Source, circuit, data_of
from benchmarks.common.steps import Steps
from benchmarks.peers.catalogue import ASKED_PEERS
from benchmarks.timing import asking_page
from benchmarks.timing.questions import Question, answers
from benchmarks.timing.spnc_asking_worker import AskedSpnc
from benchmarks.timing.workers import Contender


def small_question(title: str, work: str) -> Question:
    digits = data_of(FALLBACK)
    assert digits is not None
    flat = circuit(digits, "tree", Source(400, 0, 2))
    rows = digits.train.values[:20].copy()
    if work == "complete":
        rows[:, ::2] = np.nan
    return Question(title, work, flat, rows, rows[:5], 30, 10, most_seconds=1.0)


def test_there_is_one_query_for_every_two_columns_and_for_each_alone() -> None:
    rows = asking.pair_rows(4)
    known = [tuple(np.flatnonzero(row == 1.0).tolist()) for row in rows]
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    assert sorted(known) == sorted([*pairs, *((i,) for i in range(4))])
    assert (np.isnan(rows) | (rows == 1.0)).all()


def test_every_peer_has_a_worker_for_questions() -> None:
    for peer in ASKED_PEERS:
        assert peer.worker.with_name(asking.ASKING[peer.key]).is_file()


@pytest.mark.parametrize("work", ["call", "sample", "complete", "pairs"])
def test_spnc_answers_every_question(work: str) -> None:
    question = small_question("some", work)
    system = AskedSpnc()
    system.build(vars(question.flat), question.rows)
    found = system.sample(30) if work == "sample" else getattr(system, work)()
    assert np.isfinite(found).all()
    wanted: dict[str, Any] = {"call": (20,), "sample": (30, 64), "complete": (20, 64)}
    assert found.shape == wanted.get(work, (64, 64))


def test_a_worker_is_timed_and_one_that_fails_is_noted() -> None:
    own = Contender("spnc", "1", (sys.executable, "-m", "benchmarks.timing.spnc_asking_worker"))
    broken = Contender("broken", "1", (sys.executable, "-c", "raise SystemExit(3)"), is_peer=True)
    question = small_question("some rows", "call")
    found = answers(question, [own, broken], 1, 120.0, Steps())
    first, second = found["records"]
    assert len(first["seconds"]) == 1
    second["deviation"] = "it folds layers"
    assert first["units"] == 20 * question.flat.edges
    assert second["seconds"] == []
    assert "ended with 3" in second["unable"]
    run = {
        "version": "1", "cores": 2, "load": 0.0, "repeats": 1, "seconds": 60.0,
        "questions": [found, found], "start": [0.8, 0.9],
    }  # fmt: skip
    page = asking_page.page(json.loads(json.dumps(run)))
    assert page.count("broken 1: it folds layers.") == 1  # once, not for every question
    assert "| some rows | broken 1 |" in page
    assert "broken 1, some rows: its process ended with 3" in page
    assert "under 1 s" in page
    assert "spnc" in asking_page.text(run)


def test_the_page_can_be_written_from_the_results_alone(tmp_path: Path) -> None:
    record = {"system": "spnc", "version": "1", "size": "s", "units": 2e9, "seconds": [0.5, 1.0]}
    question = {
        "title": "new rows", "edges": 7, "unit": "M row-edges", "scale": 1e6,
        "least_rate": 2e9, "most_seconds": None, "records": [record],
    }  # fmt: skip
    run = {
        "version": "1", "cores": 2, "load": 0.0, "repeats": 2, "seconds": 1.0,
        "questions": [question], "start": [0.8],
    }  # fmt: skip
    (tmp_path / "asking.json").write_text(json.dumps(run), encoding="utf-8")
    asking.main(["--page-only", "--results", str(tmp_path)])
    page = (tmp_path / "asking.md").read_text(encoding="utf-8")
    assert "at least 2 G row-edges/s | 2.67 G row-edges/s" in page
