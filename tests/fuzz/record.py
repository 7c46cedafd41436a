"""The record of all fuzzing: `fuzz.json`, to which every run adds, and a page written from it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import spnc
from benchmarks.common.markdown import filled, table
from spnc.common.atomic import write_text
from tests.fuzz.fuzzing import READERS
from tests.fuzz.harness import ROOT
from tests.fuzz.running import Fuzzed

RESULTS = ROOT / "benchmarks/results"
_PAGE = """# Fuzzing

Mutated inputs that every reader has been given, over all recorded runs. A reader may accept an
input or refuse it with a diagnostic; anything else is a finding, mended or not by now
([how](../../CONTRIBUTING.md#fuzzing)). Written by `python -m tests.fuzz --record`, from
[fuzz.json](fuzz.json), which lists the runs by day and version.

"""


def record(run: Fuzzed, folder: Path = RESULTS) -> None:
    """Add a run to the record of its day and version, and write the page anew."""
    file = folder / "fuzz.json"
    lines: list[dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.is_file() else []
    key = {
        "date": datetime.now(UTC).date().isoformat(),
        "version": spnc.__version__,
        "reader": run.reader,
    }
    line = next((one for one in lines if key.items() <= one.items()), None)
    if line is None:
        line = {**key, "inputs": 0, "cpu_seconds": 0.0, "findings": 0}
        lines.append(line)
    line["inputs"] += run.tried
    line["cpu_seconds"] = round(line["cpu_seconds"] + run.cpu_seconds, 1)
    line["findings"] += run.findings
    folder.mkdir(parents=True, exist_ok=True)
    content = ",\n".join(f"  {json.dumps(one)}" for one in lines)
    write_text(file, f"[\n{content}\n]\n")
    write_text(folder / "fuzz.md", page(lines))


def page(lines: list[dict[str, Any]]) -> str:
    """Return the page about a record."""
    rows = [_total(name, [one for one in lines if one["reader"] == name]) for name in READERS]
    rows.append(_total("all", lines))
    days = sorted({one["date"] for one in lines})
    when = f"Runs from {days[0]} to {days[-1]}." if len(days) > 1 else f"Runs of {days[0]}."
    head = ["reader", "inputs", "CPU minutes", "findings"]
    return f"{filled(_PAGE + when)}\n\n{table(head, rows, 1)}"


def _total(name: str, lines: list[dict[str, Any]]) -> list[str]:
    inputs, seconds, findings = (
        sum(one[key] for one in lines) for key in ("inputs", "cpu_seconds", "findings")
    )
    return [name, f"{inputs:,}", f"{seconds / 60:,.1f}", f"{findings:,}"]
