"""Measure how `spnc train` grows with the columns of a table.

    python -m benchmarks.scaling.columns [--columns 500,1000,2000,5000] [--learner NAME]...
                                         [--rows N] [--json FILE]

Draws tables of binary columns (`benchmarks.scaling.wide_table`) and trains a spec of each learner
on them, from CSV files to the finished model, every training in a process of its own. Prints the
seconds by stage, the peak memory and the log-likelihood of test rows beside that of independent
columns, and the exponents of the growth. With --json, the records are written to a file.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.steps import Steps
from benchmarks.scaling import wide_table
from benchmarks.scaling.trained_apart import FailedError, trained_apart
from benchmarks.timing.curves import fitted_exponent
from spnc.cli.output import table
from spnc.common.atomic import write_text

COLUMNS = (500, 1000, 2000, 5000)
ROWS = 10_000
STAGES = ("data", "structure", "compile", "train", "evaluate")

# What is sensible for a table of thousands of columns: circuits of at most a few million edges.
# Among millions of pairs, some look dependent by chance: LearnSPN's test has to be strict.
FORESTS = {
    "hclt": "{learner: hclt, states: 8}",
    "learn-spn": "{learner: learn-spn, min_instances: 1000, independence: 12, leaves: chow-liu}",
    "continuous-mixture": "{learner: continuous-mixture, points: 64, latent: 8, steps: 600, "
    "settling: 120}",
}
ITERATIONS = {"hclt": 40, "learn-spn": 20, "continuous-mixture": 0}

SPEC = """model: wide
data: {{train: train.csv, valid: valid.csv, test: test.csv}}
forest:
  - {forest}
optimizer: {{method: em, max_iterations: {iterations}}}
seed: 0
"""

Record = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> list[Record]:
    """Measure, print the tables, and return the records."""
    options = parsed(arguments)
    records = list(measured(options.columns, options.rows, options.learner or list(FORESTS)))
    print(text(records))
    if options.json is not None:
        write_text(options.json, json.dumps(records, indent=1) + "\n")
    return records


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scaling.columns",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--columns",
        type=_sizes,
        default=COLUMNS,
        help=f"numbers of columns ({','.join(map(str, COLUMNS))})",
    )
    parser.add_argument(
        "--learner", action="append", choices=FORESTS, help="a learner (default: all of them)"
    )
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of the tables ({ROWS:,})")
    parser.add_argument("--json", type=Path, help="the file that the records are written to")
    return parser.parse_args(arguments)


def _sizes(value: str) -> tuple[int, ...]:
    found = tuple(map(int, value.split(",")))
    if min(found) < 2:
        raise argparse.ArgumentTypeError("a table has two columns at least")
    return found


def spec_of(learner: str) -> str:
    """Return the spec that a learner is measured with."""
    return SPEC.format(forest=FORESTS[learner], iterations=ITERATIONS[learner])


def measured(sizes: Sequence[int], rows: int, learners: Sequence[str]) -> Iterator[Record]:
    """Yield a record for every size and learner."""
    steps = Steps()
    for columns in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            steps.say(f"drawing {rows:,} rows of {columns:,} columns")
            splits = wide_table.split(wide_table.wide_table(columns, rows))
            wide_table.write(splits, folder)
            independent = wide_table.independent_log_likelihood(splits)
            for learner in learners:
                steps.say(f"{learner} on {columns:,} columns")
                spec = folder / f"{learner}.yaml"
                write_text(spec, spec_of(learner))
                load = os.getloadavg()[0]
                size = {"learner": learner, "columns": columns, "rows": rows, "load": load}
                try:
                    took = trained_apart(spec, folder / learner).to_json()
                except FailedError as error:
                    took = {"failed": str(error)}
                yield {**size, "independent": independent, **took}
    steps.done()


def text(records: Sequence[Record]) -> str:
    """Return a table for each learner, with the exponents of its growth."""
    return "\n\n".join(
        _table([record for record in records if record["learner"] == learner])
        for learner in dict.fromkeys(record["learner"] for record in records)
    )


def _table(records: Sequence[Record]) -> str:
    head = ["columns", "seconds", *STAGES, "peak MB", "edges", "test", "independent"]
    lines, costs = [], list[Mapping[str, float]]()
    for record in records:
        if "failed" in record:
            lines.append([f"{record['columns']:,}", *["–"] * (len(head) - 1)])
            continue
        costs.append(_costs(record))
        test = f"{record['test']:.2f}", f"{record['independent']:.2f}"
        shown = (f"{cost:,.1f}" if cost < 1000.0 else f"{cost:,.0f}" for cost in costs[-1].values())
        *most, edges = shown
        lines.append([f"{record['columns']:,}", *most, edges, *test])
    sizes = [record["columns"] for record in records if "failed" not in record]
    if len(sizes) > 1:
        lines.append(
            ["exponent", *(_exponent(sizes, [c[k] for c in costs]) for k in costs[0]), "", ""]
        )
    failures = [f"\n{r['columns']:,} columns: {r['failed']}" for r in records if "failed" in r]
    return f"{records[0]['learner']}\n{table(head, lines, 0)}{''.join(failures)}"


def _costs(record: Record) -> dict[str, float]:
    """Return what grows: the seconds, those of every stage, the memory, the edges."""
    stages = {stage: record["stages"].get(stage, 0.0) for stage in STAGES}
    return {
        "seconds": record["seconds"],
        **stages,
        "peak MB": record["peak_mb"],
        "edges": record["edges"],
    }


def _exponent(sizes: Sequence[int], costs: Sequence[float]) -> str:
    if min(costs) <= 0.0:
        return "–"
    return f"{round(fitted_exponent(sizes, costs), 2) + 0.0:.2f}"  # no -0.00


if __name__ == "__main__":
    main()
