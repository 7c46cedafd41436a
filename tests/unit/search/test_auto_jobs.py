"""`--auto` with several tries at a time: the best is kept, repeated to the bit, and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spnc
from spnc.search.auto import together
from spnc.search.trials import Trials
from tests.choosing import choose, made_again
from tests.pickling_workers import PicklingWorkers


def expect_a_sound_choice(found: spnc.Trained, run: Path) -> None:
    best = max(found.tries, key=lambda t: (t.valid.rank, -t.number))
    assert [t.number for t in found.tries if t.chosen] == [best.number]
    assert found.scores["valid"] == best.valid
    assert len({t.number for t in found.tries}) == len(found.tries)
    assert made_again(run) == (run / "model.spnc").read_bytes()


def test_the_best_of_all_is_chosen_and_its_recipe_makes_the_same_bits(tmp_path: Path) -> None:
    run, workers = tmp_path / "run", PicklingWorkers()
    found = choose(run, 16.0, workers=workers)
    assert len(found.tries) > 4
    assert workers.computed > 0
    expect_a_sound_choice(found, run)


def test_so_it_is_with_processes_and_the_time_is_kept(tmp_path: Path) -> None:
    run = tmp_path / "run"
    found = spnc.train_auto("builtin:asia", 10, out=run, n_jobs=2)
    assert found.tries[0].values["family"] == "chow-liu"
    expect_a_sound_choice(found, run)
    search = found.metrics.search
    assert search is not None
    # Wide, since a busy machine may take its time with what is not cut short.
    assert search.seconds < 60


def test_tries_that_came_back_before_an_interruption_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, run = Trials.add, tmp_path / "run"

    def adding(self: Trials, found: Any, *, report: bool) -> None:
        add(self, found, report=report)
        if len(self.outcomes) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Trials, "add", adding)
        with pytest.raises(KeyboardInterrupt):
            choose(run, 16.0, workers=PicklingWorkers())
    assert not (run / "model.spnc").exists()
    found = choose(run, 16.0, workers=PicklingWorkers(), resuming=True)
    assert len(found.tries) > 3
    expect_a_sound_choice(found, run)


def test_a_proposal_that_a_worker_gives_up_is_not_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_try, failed = together.run_try, []

    def failing(*arguments: Any, **more: Any) -> Any:
        if not failed:
            failed.append(1)
            raise MemoryError
        return run_try(*arguments, **more)

    monkeypatch.setattr(together, "run_try", failing)
    found = choose(tmp_path / "run", 16.0, workers=PicklingWorkers())
    assert failed
    assert len(found.tries) > 1
    expect_a_sound_choice(found, tmp_path / "run")
