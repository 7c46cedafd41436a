"""`spnc train --auto` with a budget: the six datasets of the paper's tables, and two large tables.

    python -m benchmarks.auto [--budget 1min] [--tables a,b] [--seeds N] [--fresh]

Every run is a process of its own, from start to the written model, with a clock beside it. What
came out goes to benchmarks/results/auto.json at once, so that a benchmark that was broken off goes
on; a table for each budget, against LearnSPN's figures in benchmarks/results/paper.json and the
best that can be checked, is in auto.md.
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

from benchmarks.auto_tables import write_many_columns, write_many_rows
from benchmarks.best import CHECKED
from benchmarks.markdown import table
from benchmarks.paper_figures import DATASETS, TEST
from benchmarks.runs import RESULTS, Record, chosen
from benchmarks.steps import Steps
from spnc.common.atomic import write_text
from spnc.diagnostics import Sink
from spnc.search.auto.budget import read_budget

MADE: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "columns": ("1,500 columns", "columns.npy", write_many_columns),
    "rows": ("300,000 rows", "rows.csv", write_many_rows),
}
NAMES = {**DATASETS, **{key: name for key, (name, _, _) in MADE.items()}}

_HEAD = """# `spnc train --auto`

Written by `python -m benchmarks.auto`. Average test log-likelihoods in nats, means over seeds, and
the least and the most of them. **Bold**: with every seed above both of LearnSPN's, the one quoted
in the paper and spnc's own mean over three seeds ([the paper's tables](paper.md)). Seconds are
those of a clock beside the process, from its start to its end. The load is that of the machine, two
cores, after the run: above 2 others wanted them too. Large tables are made by
`benchmarks/auto_tables.py`; for them, the Chow-Liu tree that every run begins with.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.auto",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--budget", default="1min", help="of every run (1min)")
    parser.add_argument("--tables", help=f"of {', '.join(NAMES)} (default: all)")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from 0 on (1)")
    parser.add_argument("--fresh", action="store_true", help="run them again, if there are records")
    options = parser.parse_args(arguments)
    steps = Steps()
    file = RESULTS / "auto.json"
    found: list[Record] = json.loads(file.read_text()) if file.is_file() else []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seeds):
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
    """One run: what it came to, and the seconds that a clock beside it has counted."""
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
    """LearnSPN's test figures by dataset: as quoted in the paper, and spnc's own mean."""
    runs = json.loads((RESULTS / "paper.json").read_text())
    quoted = dict(zip(DATASETS, TEST["learnspn"], strict=True))
    own = {
        name: mean(r["test"] for r in runs if (r["data"], r["system"]) == (name, "learnspn"))
        for name in DATASETS
    }
    return {name: (float(quoted[name] or 0.0), own[name]) for name in DATASETS}


def report(found: Sequence[Record]) -> str:
    """A table for each budget, the shortest first, and the recipes of the first seed."""
    head = ["table", "LearnSPN, quoted", "LearnSPN, spnc's", "checked best", "`--auto`", "seeds"]
    head += ["chosen (first seed)", "edges (first)", "tries (first)", "s (most)", "load (most)"]
    parts = [_HEAD]
    for budget in sorted({r["budget"] for r in found}, key=_seconds):
        rows, recipes = [], []
        for name, shown in NAMES.items():
            runs = [r for r in found if (r["table"], r["budget"]) == (name, budget)]
            runs.sort(key=lambda r: int(r["seed"]))
            if runs:
                rows.append(_row(name, runs))
                recipes.append(f"{shown}:\n\n```yaml\n{runs[0]['recipe'].rstrip()}\n```\n")
        parts += [f"## Within {budget}\n\n{table(head, rows)}"]
        parts += ["<details><summary>The recipes</summary>\n", *recipes, "</details>\n"]
    return "\n".join(parts)


def _seconds(budget: str) -> float:
    return read_budget(budget, Sink()) or 0.0


def _row(name: str, runs: Sequence[Record]) -> list[str]:
    tests = [r["test"] for r in runs]
    test = f"{mean(tests):.3f}"
    quoted = checked = ""
    own = f"tree, valid: {runs[0]['first']:.3f}"
    if name in DATASETS:
        others = learn_spn()[name]
        quoted, own = (f"{value:.3f}" for value in others)
        checked = f"{dict(zip(DATASETS, CHECKED, strict=True))[name]:.2f}"
        test = f"**{test}**" if min(tests) > max(others) else test
    if len(runs) > 1:
        test = f"{test} ({min(tests):.3f} … {max(tests):.3f})"
    first = runs[0]
    return [
        *(NAMES[name], quoted, own, checked, test, ", ".join(str(r["seed"]) for r in runs)),
        *(first["chosen"], f"{first['edges']:,}", str(first["tries"])),
        f"{max(r['seconds'] for r in runs):.1f}",
        str(max(r["load"] for r in runs)),
    ]


if __name__ == "__main__":
    sys.exit(main())
