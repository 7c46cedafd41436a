"""Measure how training grows with rows, columns, edges and processes.

    python -m benchmarks.scale [--quick] [--only PART,PART…] [--results FOLDER] [--page-only]

The parts: rows, processes, kills, overhead, columns, edges, planning. A full run generates tables
of up to 100 million rows and takes about two hours on two cores. Every part is added to
benchmarks/results/scale.json when it is measured, in the place of an earlier one, and scale.md is
written anew, as is the table in docs/scaling.md. With --quick, the page is only printed, unless
--results names a folder. The exit code is 1 if ways of computing gave other bits.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.common.markdown import with_part
from benchmarks.common.steps import Steps
from benchmarks.common.trainings import RESULTS, ROOT
from benchmarks.scaling import columns, edges, kills, overhead, page, planning, processes, rows
from spnc.common.atomic import write_text

DOCS = ROOT / "docs" / "scaling.md"
PROCESS_ROWS = {"full": (10_000_000, 50), "quick": (1_200_000, 50)}
COLUMNS = {"full": (500, 1000, 2000, 5000), "quick": (100, 200)}
EDGES = {"full": (1_000_000, 3_000_000, 10_000_000), "quick": (100_000, 300_000)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write the page. Return the exit code."""
    options = parsed(arguments)
    folder = options.results or (None if options.quick else RESULTS)
    found: dict[str, Any] = {}
    if folder is not None and (folder / "scale.json").is_file():
        found = json.loads((folder / "scale.json").read_text(encoding="utf-8"))
    if not options.page_only:
        for name in options.only:
            found[name] = measured(name, quick=options.quick)
            _write(found, folder)
    _write(found, folder)
    if folder == RESULTS and (text := page.extrapolation(found)):
        docs = DOCS.read_text(encoding="utf-8")
        write_text(DOCS, with_part(docs, "extrapolation", text))
    print(page.page(found))
    return 1 if page.other_bits(found) else 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="small sizes: some minutes")
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=list(PARTS),
        help=f"some of the parts, such as `rows,edges` ({','.join(PARTS)})",
    )
    parser.add_argument("--results", type=Path, help="the folder for scale.json and scale.md")
    parser.add_argument(
        "--page-only", action="store_true", help="write the page from scale.json; measure nothing"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.only if name not in PARTS]
    if unknown:
        parser.error(f"--only: {unknown[0]!r} is none of {', '.join(PARTS)}")
    return options


def measured(part: str, *, quick: bool) -> dict[str, Any]:
    """Measure a part, and return what scale.json holds about it."""
    steps = Steps()
    about = {
        "date": datetime.now(UTC).date().isoformat(),
        "quick": quick,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }
    with tempfile.TemporaryDirectory() as name:
        found = PARTS[part]("quick" if quick else "full", Path(name), steps)
    return {**about, "seconds": round(steps.done(), 1), "found": found}


def _write(found: dict[str, Any], folder: Path | None) -> None:
    """Write what was found so far, so that nothing is lost if a later part is interrupted."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "scale.json", json.dumps(found, indent=1) + "\n")
    write_text(folder / "scale.md", page.page(found))


def _rows(kind: str, folder: Path, steps: Steps) -> Any:
    found = []
    for size in rows.QUICK if kind == "quick" else rows.FULL:
        steps.say(f"{size.rows:,} rows of {size.columns} columns")
        found.append(rows.measured(size, folder))
    return found


def _processes(kind: str, folder: Path, steps: Steps) -> Any:
    specs = [processes.generated_spec(folder, *PROCESS_ROWS[kind])]
    if kind == "full" and os.environ.get("SPNC_DATA"):
        specs.append(processes.MSNBC)
    found = {}
    for spec in specs:
        steps.say(f"{spec.stem} in all ways")
        found[spec.stem] = list(processes.measured(spec, folder))
    return found


def _kills(kind: str, folder: Path, steps: Steps) -> Any:
    spec = processes.generated_spec(folder, *PROCESS_ROWS[kind])
    steps.say(f"{spec.stem} with workers killed")
    return {spec.stem: kills.measured(spec, folder)}


def _overhead(kind: str, _: Path, steps: Steps) -> Any:
    steps.say("passes over nearly empty partitions")
    return list(overhead.measured((8, 32) if kind == "quick" else overhead.PARTS))


def _columns(kind: str, _: Path, steps: Steps) -> Any:
    steps.say("columns")
    return columns.main(["--columns", ",".join(map(str, COLUMNS[kind]))])


def _edges(kind: str, _: Path, steps: Steps) -> Any:
    steps.say("edges")
    return [one._asdict() for one in edges.growth(EDGES[kind], "hclt")]


def _planning(kind: str, folder: Path, steps: Steps) -> Any:
    found = []
    for spec in planning.specs(quick=kind == "quick"):
        steps.say(f"planning of {spec.stem}")
        found.append(planning.measured(spec, folder))
    return found


PARTS: dict[str, Callable[[str, Path, Steps], Any]] = {
    "rows": _rows,
    "processes": _processes,
    "kills": _kills,
    "overhead": _overhead,
    "columns": _columns,
    "edges": _edges,
    "planning": _planning,
}

if __name__ == "__main__":
    sys.exit(main())
