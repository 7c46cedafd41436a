"""Measure whether residual links help when the components are good.

    python -m benchmarks.strong_links [--datasets a,b] [--systems a,b] [--seeds N] [--page-only]

Trains forests of five hidden Chow-Liu trees (specs/paper/*-hclt10.yaml with half of their trees)
without links and with the links of every strategy, with the same components and seeds. Links make a
forest larger, so forests with more trees instead of links are trained as well. The results are in
benchmarks/results/strong_links.json and, as a table, in strong_links.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from benchmarks.common.intervals import EXPLANATION, counted_seeds, interval
from benchmarks.common.markdown import filled, table
from benchmarks.common.published import DATASETS
from benchmarks.common.trainings import ROOT, Benchmark, Cell, Record, run

FIVE, EIGHT, TEN = (f"forest.0.count={count}" for count in (5, 8, 10))
# `none` is the baseline.
SYSTEMS = {
    "none": [FIVE],
    "greedy-bfs": [FIVE, "residual=greedy-bfs"],
    "informed": [FIVE, "residual=informed", "residual.judge=valid"],
    "best-gain": [FIVE, "residual=best-gain"],
    "three trees more": [EIGHT],
    "twice the trees": [TEN],
}

_HEAD = """# Residual links on strong components

Written by `python -m benchmarks.strong_links`. What links add to the average test log-likelihood of
forests of five hidden Chow-Liu trees, in nats, with the same components and seed: mean over
{seeds}; {explanation}.
**Bold**: the whole interval is above 0. The last two rows have more trees and no links.
"""


def _spec(cell: Cell) -> Path:
    return ROOT / "specs" / "paper" / f"{cell.data}-hclt10.yaml"


def _settings(cell: Cell) -> list[str]:
    return [f"seed={cell.seed}", *SYSTEMS[cell.system]]


STRONG_LINKS = Benchmark("strong_links", _spec, _settings)


def main() -> int:
    """Train what is missing, then write the table."""
    return run(STRONG_LINKS, __doc__, tuple(SYSTEMS), report)


def report(records: Sequence[Record]) -> str:
    """Return the page: what each strategy adds, by dataset."""
    found = {(r["system"], r["data"], r["seed"]): r for r in records}
    counts: list[int] = []

    def plain(data: str) -> str:
        own = [r["test"] for r in records if (r["system"], r["data"]) == ("none", data)]
        return f"{mean(own):.3f}" if own else ""

    def cell(system: str, data: str) -> str:
        gains, grown = [], []
        for (name, where, seed), r in found.items():
            base = found.get(("none", data, seed))
            if (name, where) == (system, data) and base is not None:
                gains.append(r["test"] - base["test"])
                grown.append(r["edges"] / base["edges"])
        if not gains:
            return ""
        added = interval(gains)
        counts.append(added.seeds)
        text = added.text(4, sign=True, bold=added.is_above_zero)
        return f"{text}<br>{mean(grown) - 1:+.0%} edges"

    rows = [["none", *map(plain, DATASETS)]]
    rows += [[s, *(cell(s, data) for data in DATASETS)] for s in SYSTEMS if s != "none"]
    head = filled(_HEAD.format(seeds=counted_seeds(counts or [1]), explanation=EXPLANATION))
    return f"{head}\n{table(['links', *DATASETS.values()], rows)}"


if __name__ == "__main__":
    sys.exit(main())
