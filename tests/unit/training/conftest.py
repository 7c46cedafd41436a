"""A small spec for tests of training."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A spec in the present folder: three small components on the Asia network."""
    monkeypatch.chdir(tmp_path)
    text = """
model: small
data: {source: builtin:asia, split: [0.6, 0.2, 0.2]}
forest:
  - {learner: extra-spn, count: 3, min_instances: 300}
seed: 3
"""
    Path("small.yaml").write_text(text)
    return "small.yaml"
