"""Small files that stand for much more than they hold: the memory that a command takes for each."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import spnc
from benchmarks.timing.workers import ROOT
from spnc.program.model_file import FORMAT
from tests.sealing import arrays_resealed

PATIENCE = 300.0  # seconds
MOST_MB = 1500.0  # what a command may take for any of these files; most of it is libraries
_PEAK = re.compile(r"VmHWM:\s+(\d+) kB")
_CODE = re.compile(r"error\[(E\d+)\]")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Case:
    """A file that makes a careless reader allocate; `make` writes it into a folder."""

    name: str
    make: Callable[[Path], Path]
    command: tuple[str, ...]
    accepted: bool = False  # whether the file is fine, only large


def _ordinary(folder: Path) -> Path:
    path = folder / "ordinary.csv"
    path.write_text("a,b\n" + "0,1\n1,0\n1,1\n0,0\n" * 10, encoding="ascii")
    return path


def _zeros_npz(folder: Path) -> Path:
    """Write an NPZ file of 300 kB that unpacks to 300 MB, and to 2.4 GB as doubles."""
    path = folder / "zeros.npz"
    rows, columns = 3_000_000, 100
    head = io.BytesIO()
    about = {"descr": "|u1", "fortran_order": False, "shape": (rows, columns)}
    np.lib.format.write_array_header_1_0(head, about)
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("all.npy", "w") as file,
    ):
        file.write(head.getvalue())
        for _ in range(rows // 10_000):
            file.write(bytes(10_000 * columns))
    return path


def _zeros_gzip(folder: Path) -> Path:
    path = folder / "zeros.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,b\n")
        for _ in range(1000):
            file.write(b"0,1\n" * 250_000)
    return path


def _same_parquet(folder: Path) -> Path:
    path = folder / "same.parquet"
    same = pa.array(np.zeros(4_000_000, dtype=np.int8))
    pa.parquet.write_table(pa.table({f"c{i}": same for i in range(200)}), path)
    return path


def _many_states(folder: Path) -> Path:
    """Write a model that claims a column of a thousand million states."""
    path = folder / "states.spnc"
    spnc.compile(ROOT / "tests/golden/good/circuits/mixed.spn").save(path)

    def claim(about: dict[str, Any], tensors: dict[str, Any]) -> None:
        del tensors
        column = next(c for c in about["columns"] if c.get("kind") == "categorical")
        column["states"] = 10**9
        column.pop("labels", None)

    arrays_resealed(path, FORMAT, claim)
    return path


def _declared(folder: Path, count: int) -> Path:
    leaf = {"id": 1, "kind": "leaf", "variable": "c3", "distribution": "bernoulli", "p": 0.5}
    variables = {f"c{i}": "binary" for i in range(count)}
    path = folder / f"declared-{count}.json"
    path.write_text(json.dumps({"graph": {"variables": variables}, "nodes": [leaf]}))
    return path


def _wide(folder: Path, columns: int) -> Path:
    path = folder / f"wide-{columns}.csv"
    cells = np.random.default_rng(0).integers(0, 2, (5, columns))
    names = ",".join(f"c{i}" for i in range(columns))
    path.write_text("\n".join([names, *(",".join(map(str, row)) for row in cells)]))
    return path


def _laughs(folder: Path) -> Path:
    """Write a spec in which ten levels of aliases stand for ten thousand million words."""
    path = folder / "laughs.yaml"
    lines = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    for i in range(1, 10):
        lines.append(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]")
    path.write_text("\n".join([*lines, "model: *a9"]), encoding="ascii")
    return path


def _nested(folder: Path) -> Path:
    path = folder / "nested.json"
    path.write_text('{"graph": ' + "[" * 500_000 + "]" * 500_000 + "}", encoding="ascii")
    return path


SHOW, CHECK = ("data", "show"), ("check",)
CASES = (
    Case("an ordinary table, to compare", _ordinary, SHOW, accepted=True),
    Case("NPZ, 300 MB of zeros", _zeros_npz, SHOW),
    Case("CSV in gzip, 1 GB of one line", _zeros_gzip, SHOW),
    Case("Parquet, 800 MB of one value", _same_parquet, SHOW),
    Case("model that claims 10⁹ states", _many_states, CHECK),
    Case("circuit with a million declared columns", lambda f: _declared(f, 1_000_000), CHECK),
    Case("circuit with 65,000 declared columns", lambda f: _declared(f, 65_000), CHECK),
    Case("CSV of 100,000 columns by 5 rows", lambda f: _wide(f, 100_000), SHOW),
    Case("CSV of 60,000 columns by 5 rows", lambda f: _wide(f, 60_000), SHOW, accepted=True),
    Case("YAML with ten levels of aliases", _laughs, CHECK),
    Case("JSON, 500,000 lists in one another", _nested, CHECK),
    Case("/dev/zero as a table", lambda _: Path("/dev/zero"), SHOW),
    Case("/dev/zero as a model", lambda f: _link(f, "zero.spnc"), CHECK),
)


def _link(folder: Path, name: str) -> Path:
    path = folder / name
    path.symlink_to("/dev/zero")
    return path


def attack(say: Say) -> list[dict[str, Any]]:
    """Give every file to its command, and return what it took."""
    found = []
    for case in CASES:
        say(f"memory: {case.name}")
        with tempfile.TemporaryDirectory() as name:
            found.append(measured(case, Path(name)))
    return found


def measured(case: Case, folder: Path) -> dict[str, Any]:
    """Run a command on a file of a case; return its size, and time, memory and outcome."""
    path = case.make(folder)
    began = time.monotonic()
    with (folder / "said.txt").open("w+", encoding="utf-8", errors="replace") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "spnc", *case.command, str(path)],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL, stderr=said,
        )  # fmt: skip
        peak, code = _watched(process)
        said.seek(0)
        told = said.read()
    diagnostics = _CODE.findall(told)
    refused = code == 1 and bool(diagnostics)
    return {
        "case": case.name,
        "kilobytes": round(path.stat().st_size / 1000, 1),
        "seconds": round(time.monotonic() - began, 1),
        "peak_mb": round(peak, 1),
        "outcome": diagnostics[0] if refused else "read" if code == 0 else f"exit {code}",
        "fine": (code == 0 if case.accepted else refused) and peak <= MOST_MB,
    }


def _watched(process: subprocess.Popen[bytes]) -> tuple[float, int]:
    """Return the largest resident size of a process, in MB, and its exit code.

    It is read while the process runs, since the one that the system tells afterwards begins with
    the size of the process that started it.
    """
    status, peak, limit = Path(f"/proc/{process.pid}/status"), 0.0, time.monotonic() + PATIENCE
    while process.poll() is None:
        with suppress(OSError):
            found = _PEAK.search(status.read_text(encoding="ascii", errors="replace"))
            peak = max(peak, int(found[1]) / 1000 * 1.024 if found else 0.0)
        if time.monotonic() > limit:
            process.kill()
        time.sleep(0.01)
    return peak, process.returncode
