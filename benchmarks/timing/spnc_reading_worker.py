"""Measure how spnc reads a CSV file or a circuit, and how much memory `spnc train` takes.

The commands are those of `benchmarks.peers.reading_worker`, one to check, and one to train.
"""

from __future__ import annotations

import io
import json
import time
from contextlib import redirect_stderr
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from networkx import DiGraph

from benchmarks.peers.speed_protocol import UnableError, peak_mb, reply_by
from spnc.api import read_thing
from spnc.cli import main as spnc
from spnc.compilation import circuit_model
from spnc.data.load import load_table
from spnc.diagnostics import Sink

VERSION = version("spnc-forest")


def answered(command: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to a command: `read` a table, `check` a circuit, or `train` a spec."""
    return {"read": read, "check": check, "train": train}[command["do"]](command)


def read(command: dict[str, Any]) -> dict[str, Any]:
    """Read the file of a command to a `Dataset`."""
    began, cpu_began = time.perf_counter(), time.process_time()
    sink = Sink()
    dataset = load_table(command["path"], sink)
    seconds = time.perf_counter() - began
    cores = (time.process_time() - cpu_began) / seconds
    peak = peak_mb()
    if dataset is None:
        raise UnableError(sink.diagnostics[0].message)
    (table,) = map(dataset.in_memory, dataset.splits)
    names = [column.name for column in dataset.columns]
    return {
        "version": VERSION,
        "seconds": seconds,
        "cores": cores,
        "peak_mb": peak,
        "rows": table.rows,
        "columns": table.width,
        "total": float(np.nansum(table.column(names.index(command["column"])))),
    }


def check(command: dict[str, Any]) -> dict[str, Any]:
    """Read the circuit of a command as `spnc check` does, then compile it."""
    began, cpu_began = time.perf_counter(), time.process_time()
    graph = read_thing(command["path"], Sink())
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    assert isinstance(graph, DiGraph)
    circuit_model(graph)
    return {
        "version": VERSION,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "model_seconds": time.perf_counter() - began,
        "model_cpu_seconds": time.process_time() - cpu_began,
        "peak_mb": peak_mb(),
        "nodes": len(graph),
        "edges": graph.number_of_edges(),
    }


def train(command: dict[str, Any]) -> dict[str, Any]:
    """Run `spnc train` in this process, so that its peak of memory is this process's."""
    said = io.StringIO()
    began = time.perf_counter()
    with redirect_stderr(said):
        status = spnc(["train", command["spec"], "--out", command["out"]])
    seconds = time.perf_counter() - began
    if status != 0:
        lines = said.getvalue().strip().splitlines()
        raise UnableError(f"`spnc train` ended with {status}: {lines[0] if lines else ''}")
    metrics = json.loads((Path(command["out"]) / "metrics.json").read_text(encoding="utf-8"))
    return {
        "version": VERSION,
        "seconds": seconds,
        "peak_mb": peak_mb(),
        "trained_rows": metrics["splits"]["train"]["rows"],
        "edges": metrics["model"]["edges"],
        "log_likelihood": metrics["splits"]["test"]["avg_ll"],
    }


if __name__ == "__main__":
    reply_by(answered)
