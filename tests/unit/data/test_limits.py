"""Files that stand for more than they hold are refused before memory is taken."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import spnc
from spnc.cli import main
from spnc.common import limits
from spnc.data.load import load_table
from spnc.diagnostics import Diagnostic, Sink
from tests.places import ROOT


def found(source: Path) -> list[Diagnostic]:
    sink = Sink()
    load_table(str(source), sink)
    return sink.diagnostics


def why_refused(source: Path) -> str:
    (diagnostic,) = found(source)
    assert diagnostic.code == "E322"
    assert "if you trust the file, set the environment variable SPNC_MAX_" in str(diagnostic.help)
    return diagnostic.message


def zeros(path: Path) -> Path:
    """An NPZ file of 80 kB that unpacks to 80 MB."""
    np.savez_compressed(path, all=np.zeros((800_000, 100), dtype=np.uint8))
    return path


def test_a_small_npz_file_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    assert "unpacks to more than" in why_refused(zeros(tmp_path / "zeros.npz"))


def test_the_environment_raises_and_lowers_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"0\n1\n" * 20_000))
    assert found(path) == []
    monkeypatch.setenv("SPNC_MAX_BYTES", "50k")
    assert "more than 51,200" in why_refused(path)
    monkeypatch.setenv("SPNC_MAX_BYTES", "1M")
    assert found(path) == []
    monkeypatch.setenv("SPNC_MAX_BYTES", "plenty")
    assert limits.most_unpacked(10) == limits.MOST_SMALL + 1000


def test_a_parquet_file_of_repeated_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "same.parquet"
    same = pa.array(np.zeros(1_000_000, dtype=np.int8))
    pa.parquet.write_table(pa.table({f"c{i}": same for i in range(150)}), path)
    assert "unpacks to more than" in why_refused(path)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".npy", ".parquet"])
def test_tables_with_too_many_columns_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tmp_path / f"wide{suffix}"
    names = [f"c{i}" for i in range(5)]
    if suffix == ".csv":
        path.write_text(f"{','.join(names)}\n0,1,0,1,0\n1,0,1,0,1\n")
    elif suffix == ".jsonl":
        path.write_text(json.dumps(dict.fromkeys(names, 1)))
    elif suffix == ".npy":
        np.save(path, np.eye(5))
    else:
        pa.parquet.write_table(pa.table({name: [0, 1] for name in names}), path)
    assert not any(d.code == "E322" for d in found(path))
    monkeypatch.setenv("SPNC_MAX_COLUMNS", "4")
    assert "has 5 columns; at most 4 are read" in why_refused(path)


def test_circuits_and_models_with_too_many_columns_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    circuit = ROOT / "tests/golden/good/circuits/mixed.spn"
    spnc.compile(circuit).save(tmp_path / "model.spnc")
    monkeypatch.setenv("SPNC_MAX_COLUMNS", "4")
    assert main(["check", str(circuit)]) == 1
    assert main(["check", str(tmp_path / "model.spnc")]) == 1
    said = capsys.readouterr().err
    assert "error[E322]: the circuit has 10 columns; at most 4 are read" in said
    assert "error[E322]: the model has 10 columns; at most 4 are read" in said


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs the device")
@pytest.mark.parametrize("command", [["data", "show"], ["check"], ["inspect"], ["query", "--json"]])
def test_a_device_without_end_is_not_read(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for suffix in ("", ".csv", ".yaml", ".json", ".npy", ".spnc"):
        path = Path("/dev/zero")
        if suffix:
            path = tmp_path / f"zero{suffix}"
            path.symlink_to("/dev/zero")
        assert main([*command, str(path)]) == 1
        said = capsys.readouterr()
        assert "device" in said.err or "not a regular file" in said.err


def test_an_endless_pipe_is_read_up_to_the_limit() -> None:
    command = [sys.executable, "-m", "spnc", "data", "show", "-"]
    environment = {**os.environ, "SPNC_MAX_BYTES": "20M"}
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(
            command, stdin=endless, env=environment, capture_output=True, text=True, cwd=ROOT
        )
    assert done.returncode == 1
    assert "error[E322]: more than 20,971,520 bytes came in, and no end" in done.stderr


def test_states_that_a_file_merely_claims_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A circuit of 200 bytes with 10⁹ states took 7 GB once it was a model."""
    circuit = tmp_path / "states.spn"
    circuit.write_text("circuit c variables { a: categorical(70000) } x = a ~ indicator(3)")
    assert main(["check", str(circuit)]) == 1
    said = capsys.readouterr().err
    assert "error[E224]" in said
    assert "70,000 states are more than 65,536" in said
    monkeypatch.setenv("SPNC_MAX_STATES", "100000")
    spnc.compile(circuit).save(tmp_path / "model.spnc")
    assert spnc.load(tmp_path / "model.spnc").columns[0].states == 70_000
    monkeypatch.delenv("SPNC_MAX_STATES")
    with pytest.raises(spnc.InputError, match=r"E504(.|\n)*SPNC_MAX_STATES to 70000"):
        spnc.load(tmp_path / "model.spnc")


LIMITED = """
import resource, sys
from spnc.cli import main
import spnc.data.load, spnc.api, spnc.model
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
sys.exit(main(sys.argv[2:]))
"""


def limited(room: int, *command: str) -> subprocess.CompletedProcess[str]:
    """A command in a process that may have this much address space."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(room), *command],
        env={**os.environ, **threads}, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on address space")
def test_declared_columns_cost_little_memory(tmp_path: Path) -> None:
    """One bit set for each declared column took 260 MB."""
    leaf = {"id": 1, "kind": "leaf", "variable": "c3", "distribution": "bernoulli", "p": 0.5}
    variables = {f"c{i}": "binary" for i in range(65_000)}
    circuit = tmp_path / "wide.json"
    circuit.write_text(json.dumps({"graph": {"variables": variables}, "nodes": [leaf]}))
    done = limited(900 << 20, "check", str(circuit))
    assert done.returncode == 1, done.stderr
    assert "error[E211]: the root does not model 64,999 columns" in done.stderr


def test_many_columns_and_few_rows_are_read(tmp_path: Path) -> None:
    """Each column had memory pages of its own, of which a process may have 65,530."""
    path = tmp_path / "wide.csv"
    cells = np.random.default_rng(0).integers(0, 2, (3, 20_000))
    names = ",".join(f"c{i}" for i in range(20_000))
    path.write_text("\n".join([names, *(",".join(map(str, row)) for row in cells)]))
    sink = Sink()
    dataset = load_table(str(path), sink)
    assert dataset is not None
    assert len(dataset.columns) == 20_000
