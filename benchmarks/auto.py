"""`spnc train --auto` with a budget: the six datasets of the paper's tables, and two large tables.

    python -m benchmarks.auto [--budget 1min] [--datasets a,b] [--fresh]

Every run is a process of its own, from start to the written model, with a clock beside it. What
came out goes to benchmarks/results/auto.json at once, so that a benchmark that was broken off goes
on; the table, against LearnSPN's figures in benchmarks/results/paper.json, is in auto.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.auto_tables import write_many_columns, write_many_rows
from benchmarks.paper_figures import DATASETS, TEST
from benchmarks.steps import Steps
from spnc.atomic import write_text

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
TABLES: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "columns": ("1,500 columns", "columns.npy", write_many_columns),
    "rows": ("300,000 rows", "rows.csv", write_many_rows),
}
NAMES = {**DATASETS, **{key: name for key, (name, _, _) in TABLES.items()}}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto")
    parser.add_argument("--budget", default="1min")
    parser.add_argument("--datasets", default=",".join(NAMES))
    parser.add_argument("--fresh", action="store_true", help="run all of them again")
    options = parser.parse_args(arguments)
    steps = Steps()
    file = RESULTS / "auto.json"
    found: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.datasets.split(","):
            key = f"{name} {options.budget}"
            if key in found and not options.fresh:
                continue
            steps.say(f"{NAMES[name]}, {options.budget}")
            found[key] = measured(name, options.budget, Path(folder))
            write_text(file, json.dumps(found, indent=1) + "\n")
    write_text(RESULTS / "auto.md", report(found, options.budget))
    return 0


def measured(name: str, budget: str, folder: Path) -> dict[str, Any]:
    """One run: what it came to, and the seconds that a clock beside it has counted."""
    table = f"debd:{name}"
    if name in TABLES:
        _, file, write = TABLES[name]
        table = str(folder / file)
        write(folder / file)
    line = [sys.executable, "-m", "spnc", "train", "--auto", table, "--budget", budget, "--json"]
    began = time.monotonic()
    done = subprocess.run(
        [*line, "--out", str(folder / f"run-{name}"), "--overwrite"],
        capture_output=True,
        check=True,
        text=True,
    )
    seconds = time.monotonic() - began
    metrics = json.loads(done.stdout)
    tries = metrics["search"]["tries"]
    chosen = next(t for t in tries if t["chosen"])
    return {
        "test": metrics["splits"]["test"]["avg_ll"],
        "valid": metrics["splits"]["valid"]["avg_ll"],
        "first": tries[0]["valid"],
        "edges": metrics["model"]["edges"],
        "tries": len(tries),
        "chosen": f"{chosen['values']['family']}, {chosen['values']['change']}",
        "seconds": round(seconds, 1),
        "load": round(os.getloadavg()[0], 1),
        "recipe": (folder / f"run-{name}" / "recipe.yaml").read_text().replace(f"{folder}/", ""),
    }


def learn_spn() -> dict[str, tuple[float, float]]:
    """LearnSPN's test figures by dataset: as quoted in the paper, and spnc's own mean."""
    runs = json.loads((RESULTS / "paper.json").read_text())
    quoted = dict(zip(DATASETS, TEST["learnspn"], strict=True))
    own = {
        name: mean(r["test"] for r in runs if (r["data"], r["system"]) == (name, "learnspn"))
        for name in DATASETS
    }
    return {name: (float(quoted[name] or 0.0), own[name]) for name in DATASETS}


def report(found: dict[str, Any], budget: str) -> str:
    """The table."""
    others = learn_spn()
    lines = [
        f"# `spnc train --auto` within {budget}",
        "",
        "Written by `python -m benchmarks.auto`. Average test log-likelihoods in nats; **bold**: "
        "above both of",
        "LearnSPN's, the one quoted in the paper and spnc's own mean over three seeds "
        "([the paper's tables](paper.md)).",
        "Seconds are those of a clock beside the process, from its start to its end. The load is "
        "that of the",
        "machine, two cores, after the run: above 2 others wanted them too. Large tables are made "
        "by",
        "`benchmarks/auto_tables.py`; for them, the Chow-Liu tree that every run begins with.",
        "",
        "| table | LearnSPN, quoted | LearnSPN, spnc's | `--auto` | chosen | edges | tries | s | "
        "load |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, shown in NAMES.items():
        run = found.get(f"{name} {budget}")
        if run is None:
            continue
        test = f"{run['test']:.3f}"
        quoted = own = ""
        if name in others:
            quoted, own = (f"{value:.3f}" for value in others[name])
            test = f"**{test}**" if run["test"] > max(others[name]) else test
        else:
            own = f"tree, valid: {run['first']:.3f}"
        lines.append(
            f"| {shown} | {quoted} | {own} | {test} | {run['chosen']} | {run['edges']:,} | "
            f"{run['tries']} | {run['seconds']:.1f} | {run['load']} |"
        )
    lines += ["", "## The recipes", ""]
    for name, shown in NAMES.items():
        run = found.get(f"{name} {budget}")
        if run is not None:
            lines += [f"{shown}:", "", "```yaml", run["recipe"].rstrip(), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
