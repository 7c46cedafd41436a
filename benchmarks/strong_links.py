"""Do residual links pay when the components are good?

    python -m benchmarks.strong_links [--datasets a,b] [--systems a,b] [--seeds N]

Forests of five hidden Chow-Liu trees (specs/paper/*-hclt10.yaml, half of their trees), each
with the links of every strategy and without, with the same components and seeds. Links make it
larger; so there are also some without links and with more trees. What came out is in
benchmarks/results/strong_links.json and, as a table, in strong_links.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

from benchmarks.markdown import table
from benchmarks.paper_figures import DATASETS
from benchmarks.runs import ROOT, Benchmark, Cell, Record, run

FIVE, EIGHT, TEN = (f"forest.0.count={count}" for count in (5, 8, 10))
# `none` is what the others are compared with.
SYSTEMS = {
    "none": [FIVE],
    "greedy-bfs": [FIVE, "residual=greedy-bfs"],
    "informed": [FIVE, "residual=informed", "residual.judge=valid"],
    "best-gain": [FIVE, "residual=best-gain"],
    "three trees more": [EIGHT],
    "twice the trees": [TEN],
}

_HEAD = """# Residual links on strong components

Written by `python -m benchmarks.strong_links`. Forests of five hidden Chow-Liu trees; what links
add to the average log-likelihood of the test rows, in nats, with the same components and seed:
mean over seeds, and the standard error of that mean. **Bold**: above zero by two standard errors.
The last two lines have no links but more trees.
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
    """What each strategy adds, by dataset."""
    found = {(r["system"], r["data"], r["seed"]): r for r in records}

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
        text = f"{mean(gains):+.4f}"
        if len(gains) > 1:
            error = stdev(gains) / len(gains) ** 0.5
            text = f"**{text}**" if mean(gains) > 2 * error else text
            text = f"{text} ± {error:.4f}"
        return f"{text}<br>{mean(grown) - 1:+.0%} edges"

    rows = [["none", *map(plain, DATASETS)]]
    rows += [[s, *(cell(s, data) for data in DATASETS)] for s in SYSTEMS if s != "none"]
    return f"{_HEAD}\n{table(['links', *DATASETS.values()], rows)}"


if __name__ == "__main__":
    sys.exit(main())
