"""`spnc train --auto` killed, resumed, and given what it cannot use."""

from __future__ import annotations

import json
import os
import pathlib
from pathlib import Path
from typing import Any

import pytest

import spnc
from spnc.diagnostics import Sink
from spnc.runs.folder import RunFolder
from spnc.search import journal as search_folder
from spnc.search.one_try import TryPlan
from spnc.search.trials import Trials
from tests.choosing import choose, made_again
from tests.interrupting import Killed, killing
from tests.sealing import json_resealed


def killed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a run of 12 s that was killed after its ninth write."""
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, "replace", killing(9, before=False))
        with pytest.raises(Killed):
            choose(run, 12.0, 0.05)
    return run


@pytest.mark.parametrize("before", [True, False])
def test_killed_at_any_point_it_goes_on_and_chooses_the_best_of_all_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    at, seen = 0, 0
    while True:
        at += 3 if at > 6 else 1
        run = tmp_path / f"run-{at}"
        with monkeypatch.context() as patch:
            patch.setattr(pathlib.Path, "replace", killing(at, before=before))
            try:
                choose(run, 6.0, 0.05)
                break
            except Killed:
                pass
        journal = run / "search.json"
        if not journal.is_file():  # before there was anything to resume, or after all was done
            assert at == 1 or (run / "model.spnc").is_file() or not (run / "best-1.spnc").exists()
            continue
        kept = json.loads(journal.read_text())
        found = choose(run, 6.0, 0.05, resuming=True)
        seen += 1
        before_kill = [t["valid"]["total"] for t in kept["tries"]]
        assert [t.valid.total for t in found.tries[: len(before_kill)]] == before_kill
        best = next(t for t in found.tries if t.chosen)
        assert best.valid.rank == max(t.valid.rank for t in found.tries)
        assert made_again(run) == (run / "model.spnc").read_bytes()
        assert not (run / "search.json").exists()
        assert not list(run.glob("best-*"))
    assert seen > 4


def test_the_time_between_the_last_word_and_a_kill_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A try may learn its structure for long without writing: signs of life tell."""
    run = killed_run(tmp_path, monkeypatch)
    json_resealed(run / "search.json", plan=None)
    json_resealed(run / "time-used.json", seconds=4.0)
    kept = json.loads((run / "search.json").read_text())
    in_use, sign = run / "in-use.json", 7.9
    in_use.write_text(json.dumps({"since": "2026-01-01T00:00:00+00:00"}))
    sign += json.loads((run / "time-used.json").read_text())["written"]
    os.utime(in_use, (sign, sign))
    found = choose(run, 12.0, 0.05, resuming=True)
    assert len(found.tries) == len(kept["tries"])  # 11.9 of 12 s are spent: no time for one more


def test_the_time_before_a_kill_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = killed_run(tmp_path, monkeypatch)
    kept = json.loads((run / "search.json").read_text())
    assert 0.0 < json.loads((run / "time-used.json").read_text())["seconds"] < 12.0
    json_resealed(run / "search.json", plan=None)
    json_resealed(run / "time-used.json", seconds=11.9)
    found = choose(run, 12.0, 0.05, resuming=True)
    assert len(found.tries) == len(kept["tries"])  # no time for one more


def test_a_try_under_way_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = RunFolder.keep
    whole = choose(tmp_path / "whole", 6.0, 0.05)

    def deadly(self: RunFolder, state: Any) -> None:
        keep(self, state)
        if len(state.history) == 7:
            self.write_checkpoint()
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "keep", deadly)
        with pytest.raises(Killed):
            choose(tmp_path / "run", 6.0, 0.05)
    kept = json.loads((tmp_path / "run" / "search.json").read_text())
    plan = kept["plan"]
    found = choose(tmp_path / "run", 6.0, 0.05, resuming=True)
    number = len(kept["tries"])
    assert found.tries[number].values["change"] == plan["what"]
    assert found.tries[number].valid == whole.tries[number].valid


def test_another_table_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, "replace", killing(9, before=False))
        with pytest.raises(Killed):
            choose(tmp_path / "run", 12.0, 0.05)
    for other in ("seed=4", "data.split_seed=3", "smoothing=0.3"):
        with pytest.raises(spnc.InputError, match="another recipe or other data"):
            choose(tmp_path / "run", 12.0, 0.05, given=[other], resuming=True)


def test_what_was_kept_and_then_damaged_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = killed_run(tmp_path, monkeypatch)
    kept = (run / "search.json").read_text()
    for old, new in (("learner", "lerner"), ('"family"', '"famly"'), ("axis", "axes"), ("{", "[")):
        (run / "search.json").write_text(kept.replace(old, new))
        with pytest.raises(spnc.InputError, match="E403"):
            choose(run, 12.0, 0.05, resuming=True)
    for name, value in (("plan", "xyz"), ("plan", 5), ("best", None), ("tries", [[[]]])):
        (run / "search.json").write_text(kept)
        json_resealed(run / "search.json", **{name: value})
        with pytest.raises(spnc.InputError, match="E403"):
            choose(run, 12.0, 0.05, resuming=True)


def test_killed_between_a_better_recipe_and_its_being_kept_it_says_what_it_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    write = search_folder.write_text

    def deadly(path: Path, text: str) -> None:
        write(path, text)
        if path.name == "recipe.yaml" and "try 2" in text:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(search_folder, "write_text", deadly)
        with pytest.raises(Killed):
            choose(run, 12.0, 0.05)
    kept = json.loads((run / "search.json").read_text())
    assert len(kept["tries"]) == 1
    json_resealed(run / "search.json", plan=None)
    json_resealed(run / "time-used.json", seconds=11.99)
    half = run / ".best-2.spnc.abcdefgh"
    half.write_bytes(b"half a model")
    assert len(choose(run, 12.0, 0.05, resuming=True).tries) == 1
    assert "try 1," in (run / "recipe.yaml").read_text()
    assert made_again(run) == (run / "model.spnc").read_bytes()
    assert not half.exists()


def test_a_try_that_cannot_be_made_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Trials.run

    def failing(self: Trials, plan: TryPlan, **more: Any) -> Any:
        if "states" in plan.values["change"]:
            sink = Sink()
            sink.error("E402", "no")
            sink.stop()
        return run(self, plan, **more)

    monkeypatch.setattr(Trials, "run", failing)
    found = choose(None, 5.0)
    assert found.tries[0].values["family"] == "chow-liu"
