"""The best densities: a recipe for each dataset, and one for all of them.

    python -m benchmarks.best [--datasets a,b] [--systems own,any] [--seeds N]

Trains specs/best/DATASET.yaml, and specs/best/any.yaml on each dataset, with several seeds; what
came out is in benchmarks/results/best.json and, as tables, in best.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from benchmarks.markdown import table
from benchmarks.paper_figures import DATASETS
from benchmarks.runs import ROOT, Benchmark, Cell, Record, run

SYSTEMS = {"own": "its own recipe", "any": "one recipe for all"}
# Average test log-likelihoods in the order of the datasets; `SOURCES` says whose.
CHECKED = (-6.00, -6.04, -12.54, -39.77, -52.38, -56.25)
FAR = (-5.99, -6.05, -12.26, -39.02, -51.93, -55.31)

SOURCES = """The best that can be checked is ID-SPN on MSNBC and Plants, by the tables of *Random
Sum-Product Forests with Residual Links*, and hidden Chow-Liu trees elsewhere, by public logs of
five seeds. The far goal is what is quoted for continuous mixtures of Chow-Liu trees (Correia et
al. 2023)."""

_HEAD = f"""# The best densities

Written by `python -m benchmarks.best`. Average test log-likelihoods in nats, means over seeds.
`specs/best/DATASET.yaml` is a recipe for one dataset, `specs/best/any.yaml` is one for all. Test
rows were looked at by the finished models alone; all choices were made on validation rows.

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
    """A table for each system that has records."""
    parts = [_HEAD]
    for system, title in SYSTEMS.items():
        rows = []
        for data, checked, far in zip(DATASETS, CHECKED, FAR, strict=True):
            own = [r for r in records if (r["system"], r["data"]) == (system, data)]
            if own:
                rows.append(_row(data, checked, far, own))
        if rows:
            head = ["", "test", "seeds", "checked best", "above it by", "far goal", "above it by"]
            head += ["valid", "train", "edges", "seconds"]
            parts.append(f"## {title[0].upper()}{title[1:]}\n\n{table(head, rows)}")
    return "\n".join(parts)


def _row(data: str, checked: float, far: float, own: Sequence[Record]) -> list[str]:
    tests = [r["test"] for r in own]
    found = mean(tests)

    def above(goal: float) -> str:
        text = f"{found - goal:+.3f}"
        return f"**{text}**" if found >= goal else text

    return [
        DATASETS[data],
        f"{found:.3f} ({min(tests):.3f} … {max(tests):.3f})",
        ", ".join(str(r["seed"]) for r in own),
        f"{checked:.2f}",
        above(checked),
        f"{far:.2f}",
        above(far),
        f"{mean(r['valid'] for r in own):.3f}",
        f"{mean(r['train'] for r in own):.3f}",
        f"{mean(r['edges'] for r in own):,.0f}",
        f"{mean(r['seconds'] for r in own):.0f} (most {max(r['seconds'] for r in own):.0f})",
    ]


if __name__ == "__main__":
    sys.exit(main())
