"""The record of model digests: what has changed is found, and other versions are reported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spnc
from benchmarks import digests
from spnc.runs.lock import versions

ONLY = ["--only", "specs/t*.yaml"]


def trained(spec: str) -> tuple[str, float]:
    return f"digest of {spec}", 0.1


@pytest.fixture
def record(tmp_path: Path) -> Path:
    file = tmp_path / "digests.json"
    assert digests.main([*ONLY, "--record", "--file", str(file)], trained) == 0
    return file


def compare(file: Path) -> int:
    return digests.main([*ONLY, "--file", str(file)], trained)


def change(file: Path, **values: str) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def test_the_record_is_a_flat_object_of_specs_and_versions(record: Path) -> None:
    found = json.loads(record.read_text())
    assert found.pop("versions") == versions()
    assert found["specs/tiny.yaml"] == "digest of specs/tiny.yaml"
    assert all((digests.ROOT / spec).is_file() for spec in found)


def test_equal_models_pass(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(record) == 0
    said = capsys.readouterr().out
    assert "CHANGED" not in said
    assert "versions" not in said


def test_a_changed_model_fails(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(record, **{"specs/tiny.yaml": "another"})
    assert compare(record) == 1
    assert "CHANGED  specs/tiny.yaml" in capsys.readouterr().out


def test_other_versions_are_reported(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(record, versions="spnc 0.0.1")
    assert compare(record) == 0
    said = capsys.readouterr().out
    assert "taken with spnc 0.0.1" in said
    assert versions() in said


def test_a_record_never_mixes_versions(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(record, versions="spnc 0.0.1")
    before = record.read_text()
    assert digests.main(["--record", "--file", str(record)], trained) == 1
    assert record.read_text() == before
    assert "Delete the file" in capsys.readouterr().out


def test_an_interrupted_record_continues(record: Path) -> None:
    kept = {"specs/tiny.yaml": "from before"}
    record.write_text(json.dumps(kept))
    assert digests.main([*ONLY, "--record", "--file", str(record)], trained) == 0
    found = json.loads(record.read_text())
    assert found["specs/tiny.yaml"] == "from before"
    assert found["specs/tea.yaml"] == "digest of specs/tea.yaml"


def test_a_digest_covers_the_circuit_but_not_the_format(tmp_path: Path) -> None:
    old = Path(__file__).parents[2] / "records" / "models" / "version-1.spnc"
    model, new = spnc.load(old), tmp_path / "model.spnc"
    model.save(new)
    assert new.read_bytes() != old.read_bytes()
    assert digests.digest_of_file(new) == digests.digest_of_file(old)
    parameters = model.parameters
    weights = np.nextafter(parameters.weights, 0.0)
    other = replace(model, parameters=replace(parameters, weights=weights))
    other.save(new)
    assert digests.digest_of_file(new) != digests.digest_of_file(old)
