"""The record of fuzzing: runs add up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fuzz import __main__ as command_line
from tests.fuzz.record import RESULTS, page, record
from tests.fuzz.running import Fuzzed


def test_runs_of_a_day_add_up_and_the_page_has_the_totals(tmp_path: Path) -> None:
    record(Fuzzed("npz", 1000, 60.0, 60.0, 1), tmp_path)
    record(Fuzzed("yaml", 5, 3.0, 3.0, 0), tmp_path)
    record(Fuzzed("npz", 500, 60.0, 60.0, 0), tmp_path)
    lines = json.loads((tmp_path / "fuzz.json").read_text())
    assert [(one["reader"], one["inputs"]) for one in lines] == [("npz", 1500), ("yaml", 5)]
    shown = (tmp_path / "fuzz.md").read_text()
    assert "| npz | 1,500 | 2.0 | 1 |" in shown
    assert "| all | 1,505 | 2.0 | 1 |" in shown


def test_the_runs_of_other_days_and_versions_stay(tmp_path: Path) -> None:
    old = {"date": "2020-01-01", "version": "0", "reader": "npz", "inputs": 7, "cpu_seconds": 60.0}
    (tmp_path / "fuzz.json").write_text(json.dumps([{**old, "findings": 2}]))
    record(Fuzzed("npz", 3, 0.0, 0.0, 0), tmp_path)
    assert len(json.loads((tmp_path / "fuzz.json").read_text())) == 2
    assert "| npz | 10 | 1.0 | 2 |" in (tmp_path / "fuzz.md").read_text()


def test_the_command_records_every_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "fuzz", lambda reader, *_: Fuzzed(reader, 4, 1.0, 1.0, 0))
    line = ["fuzz", "--jobs", "2", "--record", "--results", str(tmp_path), "--plain"]
    monkeypatch.setattr("sys.argv", [*line, "--reader", "npz", "--reader", "csv"])
    assert command_line.main() == 0
    lines = json.loads((tmp_path / "fuzz.json").read_text())
    assert sorted(one["reader"] for one in lines) == ["csv", "npz"]
    assert "random mutations" in capsys.readouterr().out


def test_the_recorded_page_is_current() -> None:
    lines = json.loads((RESULTS / "fuzz.json").read_text("utf-8"))
    assert (RESULTS / "fuzz.md").read_text("utf-8") == page(lines)
