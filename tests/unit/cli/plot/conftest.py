"""A folder of its own for every test of a picture, and a run to draw."""

from __future__ import annotations

from pathlib import Path

import pytest

from spnc.cli import main

SPEC = """
model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
forest:
  - {learner: extra-spn, count: 2, min_instances: 300}
optimizer: {max_iterations: 8}
backend: numpy
seed: 3
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "small.yaml").write_text(SPEC)
    assert main(["train", str(folder / "small.yaml"), "--out", str(folder / "run")]) == 0
    return folder / "run"
