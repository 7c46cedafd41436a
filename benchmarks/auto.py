"""Run `spnc train --auto` with a budget on the paper's six datasets and two large tables.

    python -m benchmarks.auto [--budget 1min] [--tables a,b] [--seeds N] [--fresh] [--page-only]

Every run is a process of its own, timed from its start to its end. Each result is added to
benchmarks/results/auto.json at once, so an interrupted benchmark continues where it stopped. A
table for each budget, beside LearnSPN's figures in benchmarks/results/paper.json and the best
figures that can be checked, is in auto.md.
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

from benchmarks.common.intervals import EXPLANATION, interval
from benchmarks.common.made_tables import write_many_columns, write_many_rows
from benchmarks.common.markdown import filled, table
from benchmarks.common.published import CHECKED, DATASETS, LEARN_SPN, TEST
from benchmarks.common.steps import Steps
from benchmarks.common.trainings import RESULTS, Record, chosen
from spnc.common.atomic import write_text
from spnc.diagnostics import Sink
from spnc.spec.limits import read_budget

MADE: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "columns": ("1,500 columns", "columns.npy", write_many_columns),
    "rows": ("300,000 rows", "rows.csv", write_many_rows),
}
NAMES = {**DATASETS, **{key: name for key, (name, _, _) in MADE.items()}}

_HEAD = f"""# `spnc train --auto`

Written by `python -m benchmarks.auto`. Average test log-likelihoods in nats, means over seeds;
{EXPLANATION}. **Bold**: the whole interval is above both figures of LearnSPN: the quoted one, and
spnc's mean over three seeds of LearnSPN followed by EM ([the paper's tables](paper.md)). Seconds
are wall-clock times of the whole process. The load is that of the machine, which has two cores,
after the run: above 2, other processes competed. The large tables are made by
`benchmarks/common/made_tables.py`; their baseline is the Chow-Liu tree that every run begins
with.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.auto",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--budget", default="1min", help="time budget of every run (1min)")
    parser.add_argument("--tables", help=f"of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds, starting from 0 (1)")
    parser.add_argument("--fresh", action="store_true", help="run again what has been recorded")
    parser.add_argument(
        "--page-only", action="store_true", help="write the page from the recorded results"
    )
    options = parser.parse_args(arguments)
    steps = Steps()
    file = RESULTS / "auto.json"
    found: list[Record] = json.loads(file.read_text()) if file.is_file() else []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(0 if options.page_only else options.seeds):
            for name in chosen(parser, options.tables, tuple(NAMES)):
                about = {"table": name, "budget": options.budget, "seed": seed}
                old = [r for r in found if about.items() <= r.items()]
                if old and not options.fresh:
                    continue
                steps.say(f"{NAMES[name]}, {options.budget}, seed {seed}")
                run = {**about, **measured(name, options.budget, seed, Path(folder))}
                found = [*(r for r in found if r not in old), run]
                write_text(file, json.dumps(found, indent=1) + "\n")
                write_text(RESULTS / "auto.md", report(found))
    text = report(found)
    write_text(RESULTS / "auto.md", text)
    print(text)
    return 0


def measured(name: str, budget: str, seed: int, folder: Path) -> Record:
    """Run once, and return the result with the wall-clock seconds of the process."""
    source = f"debd:{name}"
    if name in MADE:
        _, file, write = MADE[name]
        source = str(folder / file)
        write(folder / file)
    out = folder / "run"
    line = [sys.executable, "-m", "spnc", "train", "--auto", source, "--budget", budget, "--json"]
    line += ["--seed", str(seed), "--out", str(out), "--overwrite"]
    began = time.monotonic()
    done = subprocess.run(line, capture_output=True, check=True, text=True)
    seconds = time.monotonic() - began
    metrics = json.loads(done.stdout)
    tries = metrics["search"]["tries"]
    best = next(t for t in tries if t["chosen"])
    return {
        "test": metrics["splits"]["test"]["avg_ll"],
        "valid": metrics["splits"]["valid"]["avg_ll"],
        "first": tries[0]["valid"],
        "edges": metrics["model"]["edges"],
        "tries": len(tries),
        "chosen": f"{best['values']['family']}, {best['values']['change']}",
        "seconds": round(seconds, 1),
        "load": round(os.getloadavg()[0], 1),
        "recipe": (out / "recipe.yaml").read_text().replace(f"{folder}/", ""),
    }


def learn_spn() -> dict[str, tuple[float, float]]:
    """Return LearnSPN's test figures by dataset: the quoted one, and spnc's mean with EM."""
    runs = json.loads((RESULTS / "paper.json").read_text())
    quoted = dict(zip(DATASETS, TEST[LEARN_SPN], strict=True))
    own = {
        name: mean(r["test"] for r in runs if (r["data"], r["system"]) == (name, LEARN_SPN))
        for name in DATASETS
    }
    return {name: (float(quoted[name] or 0.0), own[name]) for name in DATASETS}


def report(found: Sequence[Record]) -> str:
    """Return the page: a table for each budget, shortest first, and the first seed's recipes."""
    head = ["table", "LearnSPN, quoted", "LearnSPN then EM, spnc", "best checked", "`--auto`"]
    head += ["seeds", "chosen (first seed)", "edges (first seed)", "tries (first seed)"]
    head += ["s (at most)", "load (at most)"]
    parts = [filled(_HEAD)]
    for budget in sorted({r["budget"] for r in found}, key=_seconds):
        rows, recipes = [], []
        for name, shown in NAMES.items():
            runs = [r for r in found if (r["table"], r["budget"]) == (name, budget)]
            runs.sort(key=lambda r: int(r["seed"]))
            if runs:
                rows.append(_row(name, runs))
                recipes.append(f"{shown}:\n\n```yaml\n{runs[0]['recipe'].rstrip()}\n```\n")
        parts += [f"## Within {budget}\n\n{table(head, rows)}"]
        parts += [
            "<details><summary>The recipes (first seed)</summary>\n",
            *recipes,
            "</details>\n",
        ]
    return "\n".join(parts)


def _seconds(budget: str) -> float:
    return read_budget(budget, Sink()) or 0.0


def _row(name: str, runs: Sequence[Record]) -> list[str]:
    found = interval([r["test"] for r in runs])
    quoted = checked = ""
    own = f"tree, valid: {runs[0]['first']:.3f}"
    is_better = False
    if name in DATASETS:
        others = learn_spn()[name]
        quoted, own = (f"{value:.3f}" for value in others)
        checked = f"{dict(zip(DATASETS, CHECKED, strict=True))[name]:.2f}"
        is_better = found.low > max(others)
    first = runs[0]
    return [
        *(NAMES[name], quoted, own, checked, found.text(3, bold=is_better), str(found.seeds)),
        *(first["chosen"], f"{first['edges']:,}", str(first["tries"])),
        f"{max(r['seconds'] for r in runs):.1f}",
        str(max(r["load"] for r in runs)),
    ]


if __name__ == "__main__":
    sys.exit(main())
