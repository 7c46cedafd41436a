"""Measure how fast spnc reads a large circuit text, written plainly and with brackets."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from benchmarks.common.large_circuit import COLUMNS, circuit_text, with_brackets
from benchmarks.common.steps import Steps
from benchmarks.timing.workers import Contender, Start, asked
from spnc.common.atomic import write_text

EDGES = 150_000
TAKEN = ("seconds", "cpu_seconds", "model_seconds", "model_cpu_seconds", "peak_mb")


def circuits_read(
    spnc: Contender,
    folder: Path,
    edges: int,
    repeats: int,
    patience: float,
    steps: Steps,
    start: Start,
) -> dict[str, Any]:
    """Read both texts in turn, each time in a new process; return the records and conditions."""
    began, load = time.monotonic(), load_average()
    steps.say(f"writing a circuit of {edges:,} edges")
    text = circuit_text(edges)
    records: list[dict[str, Any]] = []
    for name, written in (("plain", text), ("brackets", with_brackets(text))):
        write_text(folder / f"{name}.spn", written)
        records.append({"written": name, **{key: [] for key in TAKEN}})
    size: dict[str, Any] = {}
    for repeat in range(repeats):
        for record in records:
            if "unable" in record:
                continue
            steps.say(f"spnc reads the {record['written']} circuit, {repeat + 1} of {repeats}")
            path = folder / f"{record['written']}.spn"
            told = asked(spnc, patience, start, {"do": "check", "path": str(path)})
            if "error" in told:
                record["unable"] = told["error"]
                continue
            for key in TAKEN:
                record[key].append(told[key])
            size = {key: told[key] for key in ("nodes", "edges")}
    return {
        "cores": os.cpu_count(),
        "load": load,
        "seconds": round(time.monotonic() - began, 1),
        "version": spnc.version,
        "columns": COLUMNS,
        "megabytes": len(text) / 1e6,
        "repeats": repeats,
        "nodes": 0,
        "edges": edges,
        **size,
        "records": records,
    }


def load_average() -> float:
    """Return how many processes were busy in the last minute, on average; zero if unknown."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
