"""The attack on spnc: how files are damaged, what counts as a finding, and what it writes."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import spnc
from benchmarks import faults
from benchmarks.attack import page
from benchmarks.attack.damage import WAYS, damaged
from benchmarks.attack.damaging import read_damaged, totals
from benchmarks.attack.kills import Attack, Trainee
from benchmarks.attack.kinds import KINDS, LONG
from benchmarks.attack.memory import CASES, measured
from benchmarks.attack.victims import Victim
from benchmarks.common.markdown import marks
from benchmarks.common.trainings import RESULTS
from spnc.diagnostics import InputError


def test_every_way_of_damaging_changes_a_file_and_is_the_same_for_a_seed() -> None:
    content = bytes(range(256)) * 8
    for way in WAYS:
        found = [way(content, random.Random(seed)) for seed in range(50)]
        assert found == [way(content, random.Random(seed)) for seed in range(50)]
        assert sum(one != content for one in found) > 40
    assert all(damaged(b"x", random.Random(seed)) != b"x" for seed in range(200))


def test_a_damaged_file_is_refused_identical_wrong_or_a_crash(tmp_path: Path) -> None:
    def read(folder: Path) -> bytes:
        text = (folder / "file").read_text()
        if "refuse" in text:
            raise InputError([])
        return str(int(text)).encode()

    victim = Victim("file", "a reader", tmp_path, "file", read)
    victim.path.write_text("7")
    for changed, outcome in (
        (b"refuse", "refused"), (b" 7", "identical"), (b"8", "wrong"), (b"x", "crashed"),
    ):  # fmt: skip
        assert read_damaged(victim, b"7", b"7", changed)[0] == outcome
        assert victim.path.read_bytes() == b"7"


def test_a_training_is_killed_and_one_that_ends_otherwise_is_noticed(tmp_path: Path) -> None:
    spec = tmp_path / "tiny.yaml"
    spec.write_text(
        "model: tiny\ndata: {source: builtin:asia, split: [0.6, 0.2, 0.2]}\n"
        "forest: [{learner: extra-spn, min_instances: 600}]\nbackend: numpy\n"
        "optimizer: {max_iterations: 100000, stop: none, patience: none}\n"
    )
    trainee = Trainee.start(["train", str(spec)], tmp_path / "run", "--resume")
    assert not trainee.wait(0.05)
    assert trainee.held >= 0.05
    assert trainee.kill()
    refused = Trainee.start(["train", str(tmp_path / "none.yaml")], tmp_path / "other")
    assert refused.wait()
    assert "exit 1: error[" in str(refused.trouble())
    attack = Attack(KINDS[0], tmp_path, random.Random(0))
    for name, model in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.spnc").write_bytes(model)
        (tmp_path / name / "recipe.lock.yaml").write_bytes(b"same")
    assert attack._wrong(tmp_path / "a", tmp_path / "b", []) is None
    assert attack._wrong(tmp_path / "a", tmp_path / "c", []) == "another model.spnc"


def test_the_chosen_try_has_to_be_the_best_and_none_may_be_lost(tmp_path: Path) -> None:
    attack = Attack(KINDS[-1], tmp_path, random.Random(0))
    tries = tmp_path / "tries.csv"
    tries.write_text("try,valid,chosen\n1,-2.0,true\n2,-1.0,false\n")
    assert attack._wrong(tmp_path, tmp_path, []) == "the chosen try is not the best"
    tries.write_text("try,valid,chosen\n1,-2.0,false\n2,-1.0,true\n")
    assert "some are lost" in str(attack._wrong(tmp_path, tmp_path, [-2.5]))


def test_kinds_of_training_have_specs_and_windows(tmp_path: Path) -> None:
    assert [kind.name for kind in KINDS] == [
        "structure", "links", "decoder", "EM", "search", "auto",
    ]  # fmt: skip
    seconds = {"data": 1.0, "structure": 2.0, "residual": 3.0, "compile": 1.0, "prepare": 0.5}
    metrics = {"seconds": {**seconds, "plan": 0.5, "train": 9.0}, "search": {"seconds": 30.0}}
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    found = [kind.window(tmp_path) for kind in KINDS]
    assert found == [(1, 3), (3, 6), (1, 3), (8, 17), (1, 30), (1, 30)]
    for kind in (*KINDS[:-1], LONG):
        assert spnc.check(kind.arguments(tmp_path)[1]) == []


def test_a_small_file_that_stands_for_much_is_measured(tmp_path: Path) -> None:
    (case,) = (case for case in CASES if "states" in case.name)
    found = measured(case, tmp_path)
    assert (found["outcome"], found["fine"]) == ("E504", True)
    assert 20 < found["peak_mb"] < 1500


def run_of(**changes: Any) -> page.Run:
    tally = {"file": "f", "reader": "r", "damaged": 3, "refused": 2, "identical": 1, "wrong": 0}
    kills = {"kind": "EM", "kills": 2, "runs": 1, "undisturbed_seconds": 4.0, "other_bits": 0}
    fuzzed = {"reader": "npz", "tried": 50, "seconds": 2.0, "findings": 0}
    memory = {"case": "c", "kilobytes": 2.0, "seconds": 1.0, "peak_mb": 90.0, "outcome": "E322"}
    return {
        "quick": True, "seed": 3, "cores": 2, "load": 0.5, "seconds": 60.0,
        "kills": [{**kills, "redone_seconds": [1.0], "problems": [], **changes.get("kills", {})}],
        "damage": [{**tally, "crashed": 0, "examples": [], **changes.get("damage", {})}],
        "fuzz": {"guided": False, "seconds": 2, "readers": [{**fuzzed, **changes.get("fuzz", {})}]},
        "memory": [{**memory, "fine": True, **changes.get("memory", {})}],
    }  # fmt: skip


def test_the_page_shows_every_part_and_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of()
    assert page.findings(run) == []
    shown = page.page(run)
    assert "`python -m benchmarks.faults --quick --seed 3`" in shown
    assert "| EM | 2 | 1 | 4.0 | 1.0 | 1.0 | 0 | 0 |" in shown
    assert "- 3 damaged files: 0 other answers, 0 crashes" in shown
    assert totals(run["damage"])["refused"] == 2
    for part, change in (
        ("kills", {"problems": ["another model.spnc"], "other_bits": 1}),
        ("damage", {"wrong": 1, "examples": ["7 became 8"]}),
        ("fuzz", {"findings": 1}),
        ("memory", {"fine": False}),
    ):
        bad = run_of(**{part: change})
        assert len(page.findings(bad)) == 1
        assert "## Findings" in page.page(bad)
        monkeypatch.setattr(faults, "attacked", lambda *_, bad=bad: bad)
        assert faults.main(["--quick"]) == 1
    monkeypatch.setattr(faults, "attacked", lambda *_: run)
    assert faults.main(["--quick", "--results", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "faults.json").read_text(encoding="utf-8")) == run
    (tmp_path / "faults.md").unlink()
    assert faults.main(["--page-only", "--results", str(tmp_path)]) == 0
    assert (tmp_path / "faults.md").read_text(encoding="utf-8") == shown
    with pytest.raises(SystemExit):
        faults.main(["--only", "kills,nothing"])
    assert "'nothing' is none of kills, damage, fuzz, memory" in capsys.readouterr().err


def test_the_docs_show_the_recorded_figures() -> None:
    run = json.loads((RESULTS / "faults.json").read_text(encoding="utf-8"))
    begin, end = marks("faults")
    docs = faults.DOCS.read_text(encoding="utf-8")
    assert docs.partition(begin)[2].partition(end)[0] == page.figures(run)
    assert (RESULTS / "faults.md").read_text(encoding="utf-8") == page.page(run)
    assert page.findings(run) == []
