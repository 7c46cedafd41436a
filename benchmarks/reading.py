"""Measure how fast spnc reads a CSV file and a circuit, and the memory of a training on large data.

    python -m benchmarks.reading [--rows N] [--edges N] [--repeats N] [--no-peers]
                                 [--circuits-only] [--results FOLDER] [--page-only]

Makes files in a temporary folder: a million rows by thirty columns of numbers and words, which
spnc, pandas, polars and pyarrow read in turn; ten million rows by thirty binary columns, which
`spnc train` reads and trains on; and a circuit of 150,000 edges, written in two ways. Every reading
and the training is a process of its own. A full run writes benchmarks/results/reading.json and
reading.md; with --circuits-only, it replaces the part about circuits in them. A run with --rows,
--edges or --no-peers only prints the tables, unless --results names a folder.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.common import large_csv
from benchmarks.common.steps import Steps
from benchmarks.common.trainings import RESULTS
from benchmarks.peers.catalogue import READERS
from benchmarks.timing import reading_page
from benchmarks.timing.circuit_reading import EDGES, circuits_read, load_average
from benchmarks.timing.workers import Contender, Start, Worker, asked
from spnc.common.atomic import write_text

ROWS = 1_000_000
TRAINED_TIMES = 10  # the file to train on has this many times the rows of the other
TOTAL_TOLERANCE = 1e-9  # of a column's total, relatively: systems may add in any order

# The smallest training that uses every stage: a learner that counts pairs of columns, and EM.
SPEC = """model: memory
data:
  source: {source}
  split: [0.8, 0.1, 0.1]
forest:
  - learner: chow-liu
optimizer: {{method: em, max_iterations: 3}}
seed: 0
"""


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    if options.page_only:
        folder = options.results or RESULTS
        run = json.loads((folder / "reading.json").read_text(encoding="utf-8"))
        write_text(folder / "reading.md", reading_page.page(run))
        return
    partial = options.rows != ROWS or options.edges != EDGES or options.no_peers
    folder = options.results or (None if partial else RESULTS)
    if options.circuits_only:
        run = json.loads((folder or RESULTS).joinpath("reading.json").read_text(encoding="utf-8"))
        run["circuits"] = circuits_measured(options, Steps())
    else:
        run = measured(options)
    print(reading_page.text(run))
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "reading.json", json.dumps(run, indent=1) + "\n")
        write_text(folder / "reading.md", reading_page.page(run))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--rows",
        type=int,
        default=ROWS,
        help=f"rows of the file to read ({ROWS:,}); the training has {TRAINED_TIMES} times as many",
    )
    parser.add_argument(
        "--edges", type=int, default=EDGES, help=f"edges of the circuit to read ({EDGES:,})"
    )
    parser.add_argument(
        "--circuits-only", action="store_true", help="measure only how circuits are read"
    )
    parser.add_argument("--repeats", type=int, default=3, help="readings by every system (3)")
    parser.add_argument("--no-peers", action="store_true", help="spnc only; nothing is installed")
    parser.add_argument(
        "--patience",
        type=float,
        default=1200.0,
        help="seconds after which a system that has not replied is given up (1200)",
    )
    parser.add_argument("--results", type=Path, help="the folder for reading.json and reading.md")
    parser.add_argument(
        "--page-only", action="store_true", help="write the page from reading.json; measure nothing"
    )
    options = parser.parse_args(arguments)
    if min(options.rows, options.edges, options.repeats) < 1:
        parser.error("--rows, --edges and --repeats have to be at least 1")
    return options


def measured(options: argparse.Namespace, start: Start = Worker) -> reading_page.Run:
    """Measure everything, and return what reading.json holds. Tests start no processes."""
    steps = Steps()
    load = load_average()
    contenders = systems(not options.no_peers, steps)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reading = compared(
            contenders, folder, options.rows, options.repeats, options.patience, steps, start
        )
        training = trained(
            contenders[0], folder, TRAINED_TIMES * options.rows, options.patience, steps, start
        )
    circuits = circuits_measured(options, steps, start)
    return {
        "cores": os.cpu_count(),
        "load": load,
        "seconds": round(steps.done(), 1),
        "reading": reading,
        "training": training,
        "circuits": circuits,
    }


def circuits_measured(
    options: argparse.Namespace, steps: Steps, start: Start = Worker
) -> dict[str, Any]:
    """Measure how circuits are read, and return that part of reading.json."""
    with tempfile.TemporaryDirectory() as name:
        return circuits_read(
            own(), Path(name), options.edges, options.repeats, options.patience, steps, start
        )


def own() -> Contender:
    """Return spnc."""
    command = (sys.executable, "-m", "benchmarks.timing.spnc_reading_worker")
    return Contender("spnc", version("spnc-forest"), command)


def systems(with_peers: bool, steps: Steps) -> list[Contender]:
    """Return spnc, then the libraries that it is compared with."""
    contenders = [own()]
    for peer in READERS if with_peers else ():
        steps.say(f"{peer.key}: its environment")
        try:
            contenders.append(Contender.of_peer(peer))
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"{peer.key} is left out: its environment cannot be made: {error}")
    return contenders


def compared(
    contenders: Sequence[Contender],
    folder: Path,
    rows: int,
    repeats: int,
    patience: float,
    steps: Steps,
    start: Start,
) -> dict[str, Any]:
    """Let all systems read the same file in turn, and return their records."""
    path = folder / "typed.csv"
    steps.say(f"writing {rows:,} rows")
    large_csv.write_typed(path, rows)
    found: dict[str, reading_page.Record] = {
        c.name: {"system": c.name, "version": c.version, "seconds": [], "cores": [], "peak_mb": []}
        for c in contenders
    }
    for repeat in range(repeats):
        for contender in contenders:
            record = found[contender.name]
            if "unable" in record:
                continue
            steps.say(f"{contender.title} reads, {repeat + 1} of {repeats}")
            command = {"do": "read", "path": str(path), "column": large_csv.CHECKED}
            told = asked(contender, patience, start, command)
            if "error" in told:
                record["unable"] = told["error"]
                continue
            for key in ("seconds", "cores", "peak_mb"):
                record[key].append(told[key])
            record["read"] = {key: told[key] for key in ("rows", "columns", "total")}
    size = {"rows": rows, "columns": large_csv.TYPED_COLUMNS, "megabytes": megabytes(path)}
    path.unlink()
    records = list(found.values())
    note_differences(records, size)
    return {**size, "repeats": repeats, "records": records}


def note_differences(records: Sequence[reading_page.Record], size: dict[str, Any]) -> None:
    """Note which systems read another number of cells, or another total than the first system."""
    totals = [r["read"]["total"] for r in records if "read" in r]
    for record in records:
        if "read" not in record:
            continue
        read = record["read"]
        problems = [
            f"{read[key]:,} {key}, not {size[key]:,}"
            for key in ("rows", "columns")
            if read[key] != size[key]
        ]
        if not math.isclose(read["total"], totals[0], rel_tol=TOTAL_TOLERANCE):
            problems.append(f"{large_csv.CHECKED} adds up to {read['total']!r}, not {totals[0]!r}")
        if problems:
            record["differs"] = "; ".join(problems)


def trained(
    contender: Contender, folder: Path, rows: int, patience: float, steps: Steps, start: Start
) -> reading_page.Record:
    """Run `spnc train` on a file of binary columns, and return its peak of memory."""
    path, spec = folder / "binary.csv", folder / "memory.yaml"
    steps.say(f"writing {rows:,} rows of binary columns")
    large_csv.write_binary(path, rows)
    write_text(spec, SPEC.format(source=path.name))
    steps.say(f"training on {rows:,} rows")
    command = {"do": "train", "spec": str(spec), "out": str(folder / "run")}
    told = asked(contender, patience, start, command)
    size = {"rows": rows, "columns": large_csv.BINARY_COLUMNS, "megabytes": megabytes(path)}
    return {**size, **({"unable": told["error"]} if "error" in told else told)}


def megabytes(path: Path) -> float:
    return path.stat().st_size / 1e6


if __name__ == "__main__":
    main()
