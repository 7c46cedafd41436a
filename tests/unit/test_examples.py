"""Every example runs, says something, and warns of nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SAYS = {
    "complete_digits": "average test log-likelihood",
    "distance_to_the_truth": "nats from the truth",
    "graph_by_hand": "P(rain | wet) = 0.3913",
    "spellings": "read back, it is the same recipe: True",
    "train_and_load": "the loaded model agrees to the last bit: True",
}


def test_every_example_is_known_here() -> None:
    assert sorted(SAYS) == [path.stem for path in EXAMPLES]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs(path: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(path), "--small"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert SAYS[path.stem] in done.stdout
    assert "False" not in done.stdout
    assert list(tmp_path.iterdir()) == []  # it leaves nothing behind


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_short_and_says_what_it_shows(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) < 60
    assert ast.get_docstring(ast.parse(text))


def test_the_readme_shows_what_the_broken_circuit_really_prints(monkeypatch, capsys) -> None:
    from spnc.cli import main

    root = ROOT
    monkeypatch.chdir(root)
    assert main(["check", "examples/broken.spn"]) == 1
    shown = capsys.readouterr().err
    assert shown.count("error[") == 3
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert f"$ spnc check examples/broken.spn\n{shown.rstrip()}\n```" in readme
