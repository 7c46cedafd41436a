"""A small training for the tests of run folders."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def spec(tmp_path: Path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    text = """
model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
forest:
  - {learner: extra-spn, count: 3, min_instances: 300}
optimizer: {max_iterations: 12}
seed: 3
"""
    (tmp_path / "small.yaml").write_text(text)
    return "small.yaml"
