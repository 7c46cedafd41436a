"""`--log FILE`, and lines on the error stream where there is no terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spnc
from spnc.cli import main
from spnc.common import progress_display
from tests.interrupting import interrupted


def lines(path: str = "log.jsonl") -> list[dict[str, Any]]:
    """The lines of a log, each of which has what all have."""
    found = [json.loads(line) for line in Path(path).read_text().splitlines() if line]
    for line in found:
        assert line["seconds"] >= 0.0
        assert line["memory"] is None or line["memory"] > 10_000_000
    return found


def test_a_log_tells_what_happens_and_goes_on_when_a_run_is_resumed(spec: str) -> None:
    interrupted(spec, at=4, out="run", log="log.jsonl")
    first = lines()
    assert [first[0]["event"], first[-1]["event"]] == ["begin", "end"]
    assert first[-1]["outcome"] == "interrupted"
    stages = [line["stage"] for line in first if line["event"] == "stage"]
    assert stages[0] == "reading data"
    assert stages[-1] == "training"
    with Path("log.jsonl").open("a") as log:
        log.write('{"event": "stage", "st')  # killed at this moment
    trained = spnc.train(spec, out="run", resume=True, log="log.jsonl")
    text = Path("log.jsonl").read_text().splitlines()
    assert text[len(first)] == '{"event": "stage", "st'
    Path("rest.jsonl").write_text("\n".join(text[len(first) + 1 :]))
    rest = lines("rest.jsonl")
    both = [line for line in (*first, *rest) if line["event"] == "iteration"]
    history = trained.fitted.history
    assert [line["iteration"] for line in both] == [r.iteration for r in history[:-1]]
    assert [line["train"] for line in both] == [r.train for r in history[:-1]]
    assert [line["valid"] for line in both] == [r.valid for r in history[:-1]]
    assert rest[-1]["outcome"] == "finished"
    assert rest[-1]["scores"].keys() == {"train", "valid", "test"}
    assert rest[-1]["stopped"] == trained.fitted.stopped


def test_a_log_tells_of_tries(spec: str) -> None:
    spnc.train(spec, "optimizer.max_iterations={search: [1, 2]}", log="log.jsonl")
    spnc.train_auto("builtin:asia", 0.5, log="log.jsonl")
    found = lines()
    ends = [i for i, line in enumerate(found) if line["event"] == "end"]
    assert len(ends) == 2
    tried = [line for line in found[: ends[0]] if line["event"] == "tried"]
    assert [line["number"] for line in tried] == [1, 2]
    assert tried[0]["what"] == "max_iterations = 1"
    assert any(line["event"] == "tried" for line in found[ends[0] :])


def test_a_log_that_cannot_be_written_is_reported_before_anything_is_done(
    spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", spec, "--out", "run", "--log", "."]) == 1
    assert "E120" in capsys.readouterr().err
    assert not Path("run").exists()


def test_a_log_on_a_full_disk_does_not_end_the_training(
    spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no full device")
    assert main(["train", spec, "--out", "run", "--log", "/dev/full"]) == 0
    said = capsys.readouterr().err
    assert said.count("W404") == 1
    assert "No space left on device" in said
    assert main(["train", spec, "--out", "other"]) == 0
    assert Path("run/model.spnc").read_bytes() == Path("other/model.spnc").read_bytes()


def test_without_a_terminal_lines_are_printed_now_and_then(
    spec: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_display, "LINE_SECONDS", 0.0)
    assert main(["train", spec, "--out", "run"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert any(line.startswith("learning structure: components") for line in said)
    assert sum(line.startswith("training: ") for line in said) == 12
    assert main(["train", spec, "--out", "quiet", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress_display, "LINE_SECONDS", 3600.0)
    assert main(["train", spec, "--out", "short"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress_display, "LINE_SECONDS", 0.0)
    choice = "optimizer.max_iterations={search: [1, 2]}"
    assert main(["train", spec, "--out", "search", "--set", choice]) == 0
    assert "try 2 of 2: training: 0: train " in capsys.readouterr().err
