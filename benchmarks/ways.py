"""Compare ways to improve on a forest of ten hidden Chow-Liu trees.

    python -m benchmarks.ways [--datasets a,b] [--systems a,b] [--seeds N] [--page-only]

Each way changes one thing in specs/paper/DATASET-hclt10.yaml; continuous mixtures follow. They are
compared on validation rows, since they are the choices behind specs/best. The results are in
benchmarks/results/ways.json and, as a table, in ways.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import yaml

from benchmarks.common.markdown import filled, table
from benchmarks.common.published import DATASETS
from benchmarks.common.trainings import RESULTS, ROOT, Benchmark, Cell, Record, run

BASE, TUNED = "ten hidden Chow-Liu trees", "`specs/best/`"
LEARN_SPN = {"learner": "learn-spn", "count": 5, "leaves": "chow-liu", "clusters": 4}
EXTRA_SPN = {"learner": "extra-spn", "count": 10, "leaves": "chow-liu"}

Entry = dict[str, Any]  # an entry of a spec's forest


def _with(**changes: Any) -> Callable[[Entry], list[str]]:
    return lambda entry: _forest({**entry, **changes})


def _beside(other: Entry) -> Callable[[Entry], list[str]]:
    return lambda entry: _forest(entry, other)


def _states(*pairs: tuple[int, int]) -> Callable[[Entry], list[str]]:
    return lambda entry: _forest(*({**entry, "count": n, "states": s} for n, s in pairs))


def _fitted(*settings: str) -> Callable[[Entry], list[str]]:
    return lambda _: list(settings)


def _mixture(points: int, **options: Any) -> Callable[[Entry], list[str]]:
    own = {"learner": "continuous-mixture", "points": points, "steps": 1000, "decay": 1.0}
    own |= {"learning_rate": 0.002, **options}
    return lambda _: [*_forest(own), "optimizer={method: em, max_iterations: 0}"]


def _forest(*entries: Entry) -> list[str]:
    return [f"forest={json.dumps(entries)}"]


SYSTEMS = {
    BASE: _fitted(),
    "twenty trees": _with(count=20),
    "more noise in the trees": _with(noise=1.5),
    "random roots": _with(root="random"),
    "trees from bootstrap samples": _with(bootstrap=True),
    "4 to 16 hidden states": _states((2, 4), (3, 8), (3, 12), (2, 16)),
    "plus five LearnSPNs on Chow-Liu leaves": _beside(LEARN_SPN),
    "plus ten ExtraSPNs on Chow-Liu leaves": _beside(EXTRA_SPN),
    "a larger prior": _fitted("smoothing=0.5"),
    "moving average of the parameters": _fitted("optimizer.average=0.9"),
    "dropout of 10%": _fitted("optimizer.dropout=0.1"),
    "EM on mini-batches": _fitted("optimizer.method=stepwise-em"),
    "continuous mixture of 512 trees": _mixture(512, tree="plain", settling=0),
    "… with its points settled": _mixture(512, tree="plain"),
    "… and trees chosen given the point": _mixture(512),
    "… and four times as many trees": _mixture(2048),
}

_HEAD = """# Ways to improve on ten hidden Chow-Liu trees

Written by `python -m benchmarks.ways`. Average log-likelihoods of **validation** rows in nats. In
brackets: the difference from the first row, and the number of edges relative to it. One seed cannot
tell small differences from noise. Down to the continuous mixtures, each row changes one thing in
the first row; among the mixtures, each row adds to the one before. The last row is
specs/best/DATASET.yaml, from [the best densities](best.md), with sizes, learning rates and EM
chosen for each dataset.
"""


def _spec(cell: Cell) -> Path:
    return ROOT / "specs" / "paper" / f"{cell.data}-hclt10.yaml"


def _settings(cell: Cell) -> list[str]:
    (entry,) = yaml.safe_load(_spec(cell).read_text(encoding="utf-8"))["forest"]
    return [f"seed={cell.seed}", *SYSTEMS[cell.system](entry)]


WAYS = Benchmark("ways", _spec, _settings)


def main() -> int:
    """Train what is missing, then write the table."""
    best = json.loads((RESULTS / "best.json").read_text(encoding="utf-8"))
    tuned = [{**r, "system": TUNED} for r in best if r["system"] == "own"]
    return run(WAYS, __doc__, tuple(SYSTEMS), lambda records: report([*records, *tuned]))


def report(records: Sequence[Record]) -> str:
    """Return the page: all ways, for the datasets that have records of the first."""

    def cell(system: str, data: str) -> str:
        own = [r for r in records if (r["system"], r["data"]) == (system, data)]
        base = [r for r in records if (r["system"], r["data"]) == (BASE, data)]
        if not own:
            return ""
        found = mean(r["valid"] for r in own)
        if system == BASE or not base:
            return f"{found:.3f}"
        gained = found - mean(r["valid"] for r in base)
        times = mean(r["edges"] for r in own) / mean(r["edges"] for r in base)
        text = f"{gained:+.3f}"
        return f"{found:.3f} ({text}, {times:.1f}×)"

    def seeds(system: str) -> str:
        return ", ".join(map(str, sorted({r["seed"] for r in records if r["system"] == system})))

    begun = {r["data"] for r in records if r["system"] == BASE}
    named = [name for name in DATASETS if name in begun]
    rows = [
        [system, seeds(system), *(cell(system, data) for data in named)]
        for system in (*SYSTEMS, TUNED)
    ]
    return f"{filled(_HEAD)}\n{table(['', 'seeds', *(DATASETS[name] for name in named)], rows)}"


if __name__ == "__main__":
    sys.exit(main())
