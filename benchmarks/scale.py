"""Measure how training grows with rows, columns, edges and processes.

    python -m benchmarks.scale [--quick] [--only rows,processes,columns,edges]
                               [--results FOLDER] [--page-only]

A full run generates tables of up to 100 million rows and takes about two hours on two cores. It
writes benchmarks/results/scale.json and scale.md. With --quick or --only, it only prints the page,
unless --results names a folder. The exit code is 1 if ways of computing gave other bits.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.steps import Steps
from benchmarks.common.trainings import RESULTS
from benchmarks.scaling import columns, edges, page, processes, rows
from spnc.common.atomic import write_text

PARTS = ("rows", "processes", "columns", "edges")
PROCESS_ROWS = {"full": (10_000_000, 50), "quick": (1_500_000, 17)}
COLUMNS = {"full": (500, 1000, 2000, 5000), "quick": (100, 200)}
EDGES = {"full": (1_000_000, 3_000_000, 10_000_000), "quick": (100_000, 300_000)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write the page. Return the exit code."""
    options = parsed(arguments)
    folder = options.results or RESULTS
    if options.page_only:
        found = json.loads((folder / "scale.json").read_text(encoding="utf-8"))
        write_text(folder / "scale.md", page.page(found))
        return 0
    found = measured(options.only, quick=options.quick)
    print(page.page(found))
    if options.results or (not options.quick and set(options.only) == set(PARTS)):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "scale.json", json.dumps(found, indent=1) + "\n")
        write_text(folder / "scale.md", page.page(found))
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


def measured(parts: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """Measure these parts, and return what scale.json holds."""
    steps, kind = Steps(), "quick" if quick else "full"
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    found: dict[str, Any] = {"quick": quick, "cores": os.cpu_count(), "load": round(load, 2)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "rows" in parts:
            found["rows"] = []
            for size in rows.QUICK if quick else rows.FULL:
                steps.say(f"{size.rows:,} rows of {size.columns} columns")
                found["rows"].append(rows.measured(size, folder))
        if "processes" in parts:
            found["processes"] = {}
            specs = [processes.generated_spec(folder, *PROCESS_ROWS[kind])]
            if not quick and os.environ.get("SPNC_DATA"):
                specs.append(processes.MSNBC)
            for spec in specs:
                steps.say(f"{spec.stem} in all ways")
                found["processes"][spec.stem] = list(processes.measured(spec, folder))
    if "columns" in parts:
        steps.say("columns")
        found["columns"] = columns.main(["--columns", ",".join(map(str, COLUMNS[kind]))])
    if "edges" in parts:
        steps.say("edges")
        found["edges"] = [one._asdict() for one in edges.growth(EDGES[kind], "hclt")]
    found["seconds"] = round(steps.done(), 1)
    return found


if __name__ == "__main__":
    sys.exit(main())
