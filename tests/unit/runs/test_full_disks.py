"""A full disk, a quota: a diagnostic with the file and the reason, and nothing older touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from spnc.cli import main
from tests.full_disk import Attempt, on_full_disk

if os.name != "posix":
    pytest.skip("there is no small file system to be had", allow_module_level=True)

TEXT = """
model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 600}
optimizer: {max_iterations: 3}
"""
REASONS = {"disk": "No space left on device", "quota": "File too large"}
TRAIN = ["train", "small.yaml", "--out", "run", "--quiet"]
SEARCH = [*TRAIN, "--set", "optimizer.max_iterations={search: [2, 3]}"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec, from which commands are run."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "small.yaml").write_text(TEXT)
    monkeypatch.chdir(own)
    return own


def failures(attempts: Sequence[Attempt], how: str) -> list[Attempt]:
    """Return the attempts that failed, which all failed properly; others wrote everything."""
    failed = [a for a in attempts if a.code != 0]
    for attempt in failed:
        assert attempt.code == 1, attempt.shown
        assert "Traceback" not in attempt.shown
        assert "error[E120]: cannot write `" in attempt.shown
        assert REASONS[how] in attempt.shown
    for attempt in attempts:
        assert not [name for name in attempt.after if Path(name).name.startswith(".")]
        assert "run/in-use.json" not in attempt.after
    return failed


@pytest.mark.parametrize("how", ["disk", "quota"])
@pytest.mark.parametrize("command", [TRAIN, SEARCH], ids=["train", "search"])
def test_training_fails_properly_at_every_write_and_goes_on(
    folder: Path, command: list[str], how: str
) -> None:
    rooms = range(12) if how == "disk" else [0, 1, 3, 8]
    attempts = on_full_disk(folder, [command], rooms, how, "--resume")
    failed = failures(attempts, how)
    models = {a.then["run/model.spnc"] for a in attempts}
    assert len(models) == 1  # whatever had been written before
    assert 1 < len(failed) < len(attempts)
    for attempt in failed:
        assert attempt.again == 0
        assert "run/model.spnc" not in attempt.after
        assert "run/metrics.json" not in attempt.after  # results are written together
        assert "run/history.csv" not in attempt.after
        begun = "run/recipe.lock.yaml" in attempt.after
        assert ("--resume`" in attempt.shown) == begun
    if how == "disk":
        assert not any(name.startswith("run/") for name in failed[0].after)


def test_a_checkpoint_that_has_no_room_is_a_warning(folder: Path) -> None:
    # Two kilobytes: room for the lock file, which takes one, but not for a checkpoint.
    larger = [*TRAIN, "--set", "forest.0.min_instances=5"]
    attempts = on_full_disk(folder, [larger], [2], "quota")
    (attempt,) = failures(attempts, "quota")
    assert "warning[W403]: a checkpoint could not be written: File too large" in attempt.shown


@pytest.mark.parametrize("command", [TRAIN, SEARCH], ids=["train", "search"])
def test_a_run_is_overwritten_only_if_there_is_room_for_another(
    folder: Path, command: list[str]
) -> None:
    assert main(command) == 0
    words = [*command, "--overwrite", "--seed", "5"]
    attempts = on_full_disk(folder, [words], [0, 20], "disk")
    failed = failures(attempts, "disk")
    assert failed[0].after == failed[0].before
    assert attempts[-1].code == 0
    assert attempts[-1].after["run/model.spnc"] != attempts[-1].before["run/model.spnc"]


def test_choosing_fails_properly(folder: Path) -> None:
    words = ["train", "--auto", "builtin:asia", "--budget", "1s", "--out", "run", "--quiet"]
    attempts = on_full_disk(folder, [words], [0, 2, 4], "disk", "--resume")
    assert len(failures(attempts, "disk")) == 3
    assert all(a.again == 0 for a in attempts)


OUTPUTS = [
    ["compile", "small.yaml", "-o", "out.spnc"],
    ["report", "run", "-o", "out.html", "--no-data"],
    ["export", "model.spnc", "-o", "out.svg"],
    ["format", "small.yaml", "--to", "dsl", "-o", "out.spn"],
    ["sample", "model.spnc", "-n", "100", "-o", "out.csv"],
    ["impute", "model.spnc", "table.csv", "-o", "out.csv"],
    ["predict", "model.spnc", "table.csv", "--target", "xray", "-o", "out.csv"],
    ["anomalies", "model.spnc", "table.csv", "-o", "out.csv"],
    ["query", "model.spnc", "P(smoking = 1)", "--table", "table.csv", "-o", "out.csv"],
    ["eval", "model.spnc", "table.csv", "--per-row", "out.csv"],
    ["dependence", "model.spnc", "-o", "out.csv"],
    ["explore", "model.spnc", "-o", "out.html"],
    ["plot", "history", "run", "-o", "out.svg"],
]


def test_an_older_output_stays_if_there_is_no_room_for_a_new_one(folder: Path) -> None:
    assert main(TRAIN) == 0
    shutil.copy("run/model.spnc", "model.spnc")
    assert main(["sample", "model.spnc", "-n", "20", "-o", "table.csv"]) == 0
    for suffix in ("csv", "html", "spn", "spnc", "svg"):
        Path(f"out.{suffix}").write_text("older")
    attempts = on_full_disk(folder, OUTPUTS, [0], "quota")
    assert len(failures(attempts, "quota")) == len(OUTPUTS)
    for words, failed in zip(OUTPUTS, attempts, strict=True):
        (out,) = (word for word in words if word.startswith("out."))
        assert failed.after == failed.before
        assert f"cannot write `{out}`" in failed.shown
        assert failed.again == 0
        assert failed.then[out] != failed.before[out]
