"""Run `spnc train --auto` on every table that comes inside some well-known packages.

    python -m benchmarks.any_table [--budget 20s] [--only PATTERN] [--results FOLDER]

The packages are palmerpenguins, vega_datasets, statsmodels and scikit-learn, in an environment of
their own. A table has to give a model, or be refused with a reason: it has fewer than ten rows or
no usable column. Each result is added to benchmarks/results/any_table.json at once, so an
interrupted run continues where it stopped; any_table.md has the list and the count. The exit code
is 1 if a table gave neither.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.markdown import table
from benchmarks.common.steps import Steps
from benchmarks.common.trainings import RESULTS
from benchmarks.peers import environments
from spnc.common.atomic import write_text

REQUIREMENTS = (
    "palmerpenguins==0.1.4",
    "vega_datasets==0.9.0",
    "statsmodels==0.14.5",
    "scikit-learn==1.7.2",
    "pandas<3",
    "setuptools<80",  # palmerpenguins imports pkg_resources
)
WORKER = Path(__file__).parent / "peers" / "package_tables.py"
REFUSALS = {"E306", "E319"}  # too few rows, no usable column
LIMIT = 180.0  # seconds for a run with a budget of 20: far beyond, it counts as hung


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then write the list."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.any_table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--budget", default="20s", help="time budget of every run (20s)")
    parser.add_argument("--only", default="*", help="names of tables, such as 'vega*'")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the list")
    options = parser.parse_args(arguments)
    steps = Steps()
    steps.say("making the tables")
    python = environments.ensure("package-tables", REQUIREMENTS)
    folder = environments.default_folder("package-tables-files")
    environments.run(python, WORKER, [str(folder)])
    record = options.results / "any_table.json"
    known: dict[str, dict[str, Any]] = {}
    if record.is_file():
        known = json.loads(record.read_text(encoding="utf-8"))
    files = sorted(p for p in folder.iterdir() if p.name != "problems.txt")
    for number, file in enumerate(files, 1):
        if file.name in known or not fnmatch.fnmatch(file.name, options.only):
            continue
        steps.say(f"{number} of {len(files)}: {file.name}")
        known[file.name] = run(file, options.budget)
        write_text(record, json.dumps(known, indent=1, sort_keys=True) + "\n")
    steps.done()
    text = page(known, options.budget)
    write_text(options.results / "any_table.md", text)
    print(text)
    return 1 if any(not result["fine"] for result in known.values()) else 0


def run(file: Path, budget: str) -> dict[str, Any]:
    """Run `spnc train --auto` on a file; return whether that is fine, and what it said."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as out:
        command = ["train", "--auto", str(file), "--budget", budget, "--out", f"{out}/run"]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "spnc", *command, "--json", "--quiet"],
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
                env={**os.environ, "COLUMNS": "200"},
            )
        except subprocess.TimeoutExpired:
            return {"fine": False, "result": f"no end after {LIMIT:g} s", "seconds": LIMIT}
    seconds = round(time.monotonic() - began, 1)
    try:
        said = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [""]
        return {"fine": False, "result": f"exit {done.returncode}: {last[0]}", "seconds": seconds}
    if done.returncode == 0:
        scores = said["splits"]
        shown = "test" if "test" in scores else "valid"
        result = f"{shown} {scores[shown]['avg_ll']:.3f}"
        return {"fine": True, "model": True, "result": result, "seconds": seconds}
    problems = [f"{d['code']} {d['message']}" for d in said["diagnostics"]]
    codes = {d["code"] for d in said["diagnostics"] if d["code"].startswith("E")}
    fine = done.returncode == 1 and codes <= REFUSALS
    return {"fine": fine, "model": False, "result": "; ".join(problems), "seconds": seconds}


def page(known: dict[str, dict[str, Any]], budget: str) -> str:
    """Return the list of all tables, and how many gave a model."""
    models = sum(bool(r.get("model")) for r in known.values())
    refused = sum(r["fine"] and not r.get("model") for r in known.values())
    rows = [[name, r["result"], f"{r['seconds']:.1f}"] for name, r in sorted(known.items())]
    return (
        "# Every table of four packages\n\n"
        "Written by `python -m benchmarks.any_table`:\n"
        f"`spnc train --auto TABLE --budget {budget}` on every table\n"
        "inside palmerpenguins, vega_datasets, statsmodels and scikit-learn.\n\n"
        f"{len(known)} tables: {models} models, {refused} refused with a reason, "
        f"{len(known) - models - refused} neither.\n\n"
        + table(["table", "average log-likelihood, or reason", "seconds"], rows, 2)
    )


if __name__ == "__main__":
    sys.exit(main())
