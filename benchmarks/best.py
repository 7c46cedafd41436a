"""Train the best recipes: one for each dataset, and one for all of them.

    python -m benchmarks.best [--datasets a,b] [--systems own,any] [--seeds N]
                              [--page-only]

Trains specs/best/DATASET.yaml, and specs/best/any.yaml on each dataset, with several seeds. The
results are in benchmarks/results/best.json and, as tables, in best.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from benchmarks.common.intervals import EXPLANATION, interval
from benchmarks.common.markdown import filled, table
from benchmarks.common.published import CHECKED, DATASETS, FAR, SOURCES
from benchmarks.common.trainings import ROOT, Benchmark, Cell, Record, run

SYSTEMS = {"own": "a recipe for each dataset", "any": "one recipe for all datasets"}
_HEAD = f"""# The best densities

Written by `python -m benchmarks.best`. Average log-likelihoods in nats, means over seeds;
{EXPLANATION}. `specs/best/DATASET.yaml` is a recipe for one dataset, `specs/best/any.yaml` is one
recipe for all. All choices were made on validation rows; test rows were used only by the finished
models. **Bold**: the mean is at or above the goal.

{SOURCES}
"""


def _spec(cell: Cell) -> Path:
    name = cell.data if cell.system == "own" else cell.system
    return ROOT / "specs" / "best" / f"{name}.yaml"


def _settings(cell: Cell) -> list[str]:
    settings = [f"seed={cell.seed}"]
    if cell.system == "any":
        settings += [f"data.source=debd:{cell.data}"]
    return settings


BEST = Benchmark("best", _spec, _settings)


def main() -> int:
    """Train what is missing, then write the tables."""
    return run(BEST, __doc__, tuple(SYSTEMS), report)


def report(records: Sequence[Record]) -> str:
    """Return the page: a table for each system that has records."""
    parts = [filled(_HEAD)]
    for system, title in SYSTEMS.items():
        rows = []
        for data, checked, far in zip(DATASETS, CHECKED, FAR, strict=True):
            own = [r for r in records if (r["system"], r["data"]) == (system, data)]
            if own:
                rows.append(_row(data, checked, far, own))
        if rows:
            head = ["", "test", "seeds", "best checked", "above it by", "far goal", "above it by"]
            head += ["valid", "train", "edges", "seconds"]
            parts.append(f"## {title[0].upper()}{title[1:]}\n\n{table(head, rows)}")
    return "\n".join(parts)


def _row(data: str, checked: float, far: float, own: Sequence[Record]) -> list[str]:
    found = interval([r["test"] for r in own])

    def above(goal: float) -> str:
        text = f"{found.mean - goal:+.3f}"
        return f"**{text}**" if found.mean >= goal else text

    return [
        DATASETS[data],
        found.text(3),
        str(found.seeds),
        f"{checked:.2f}",
        above(checked),
        f"{far:.2f}",
        above(far),
        f"{mean(r['valid'] for r in own):.3f}",
        f"{mean(r['train'] for r in own):.3f}",
        f"{mean(r['edges'] for r in own):,.0f}",
        f"{mean(r['seconds'] for r in own):.0f} (at most {max(r['seconds'] for r in own):.0f})",
    ]


if __name__ == "__main__":
    sys.exit(main())
