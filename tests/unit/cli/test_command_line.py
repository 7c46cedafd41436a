"""The command line as such: bugs of ours, and terminals that cannot show everything."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from spnc.cli import main
from tests.places import ROOT


def test_a_bug_of_ours_exits_with_70_and_says_how_to_report_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("spnc.diagnostics.codes", lambda: 1 / 0)
    assert main(["explain"]) == 70
    assert "bug in spnc" in capsys.readouterr().err


def test_an_old_terminal_shows_question_marks_and_no_traceback() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    env["PYTHONPATH"] = str(ROOT)
    line = [sys.executable, "-m", "spnc", "data", "list"]
    done = subprocess.run(line, env=env, capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"??????" in done.stdout
