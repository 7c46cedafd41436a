"""`spnc train` in a process of its own: its seconds by stage, its peak memory, its test score."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


class FailedError(Exception):
    """A training did not end well; the text has the last lines that it printed."""


@dataclass(frozen=True)
class Training:
    """What one training took, and how good its model is."""

    seconds: float  # of the process, from start to end
    stages: dict[str, float]
    peak_mb: float
    edges: int
    iterations: int
    test: float
    model_mb: float

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def trained_apart(
    spec: Path, run: Path, *more: str, environment: Mapping[str, str] | None = None
) -> Training:
    """Train a spec into the folder `run`, and return what it took.

    `more` are options of `spnc train`. Raises `FailedError`.
    """
    command = [sys.executable, "-m", "spnc", "train", str(spec), "--out", str(run), "--quiet"]
    command += more
    began = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        _, status, usage = os.wait4(process.pid, 0)  # its own peak, not that of all children
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        said.seek(0)
        text = said.read().decode(errors="replace")
    if process.returncode:
        raise FailedError(f"`spnc train` ended with {process.returncode}: {text[-500:].strip()}")
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes, or else kilobytes
    return Training(
        seconds=round(seconds, 2),
        stages={name: value for name, value in metrics["seconds"].items() if name != "total"},
        peak_mb=round(usage.ru_maxrss / unit, 1),
        edges=metrics["model"]["edges"],
        iterations=metrics["optimizer"]["iterations"],
        test=metrics["splits"]["test"]["avg_ll"],
        model_mb=round((run / "model.spnc").stat().st_size / 1e6, 2),
    )


def bits(run: Path) -> str:
    """Return a digest of the model in a run's folder."""
    return hashlib.sha256((run / "model.spnc").read_bytes()).hexdigest()[:16]
