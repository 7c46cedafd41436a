"""The paper's tables, with its figures and spnc's side by side.

    python -m benchmarks.paper [--datasets a,b] [--systems a,b] [--seeds N] [--quick]

Trains the recipe of every cell (specs/paper/) with several seeds, and writes what came out to
benchmarks/results/paper.json as it goes. The tables are in benchmarks/results/paper.md.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from benchmarks.paper_figures import DATASETS
from benchmarks.paper_picture import draw
from benchmarks.paper_report import report
from benchmarks.runs import ROOT, SEEDS, Benchmark, Cell, Results, chosen, parser_for
from benchmarks.steps import Steps

# In the order in which they are worth having: a run that is broken off has the main ones.
SYSTEMS = (
    "rspf10",
    "resspn10",
    "rspf3",
    "resspn3",
    "rspf5",
    "resspn5",
    "rspfclustered",
    "inforesspn",
    "learnspn",
    "extraspn",
    "hclt10",
)
QUICK = (("nltcs",), ("rspf3", "resspn3", "learnspn"), 1)


def _spec(cell: Cell) -> Path:
    return ROOT / "specs" / "paper" / f"{cell.data}-{cell.system}.yaml"


def _settings(cell: Cell) -> list[str]:
    return [f"seed={cell.seed}"] if cell.system != "extraspn" else []  # it searches over seeds


PAPER = Benchmark("paper", _spec, _settings)


def main() -> int:
    """Train what is missing, then write the tables."""
    parser = parser_for("paper", __doc__, SYSTEMS)
    parser.add_argument("--quick", action="store_true", help="one dataset, three systems, one seed")
    arguments = parser.parse_args()
    datasets, systems, seeds = QUICK if arguments.quick else (tuple(DATASETS), SYSTEMS, SEEDS)
    if arguments.datasets:
        datasets = chosen(parser, arguments.datasets, tuple(DATASETS))
    if arguments.systems:
        systems = chosen(parser, arguments.systems, SYSTEMS)
    seeds = arguments.seeds or seeds
    cells = [
        cell
        for system in systems
        for data in datasets
        for seed in ([0] if system == "extraspn" else range(seeds))
        if _spec(cell := Cell(data, system, seed)).is_file()
    ]
    steps = Steps()
    results = Results(PAPER, arguments.results, report)
    results.complete(cells, steps)
    if "nltcs" in datasets and not arguments.quick:
        steps.say("Fig. 3")
        picture = draw(_spec(Cell("nltcs", "resspn10", 0)), results.markdown.with_name("fig3.png"))
        results.report = partial(report, picture=picture)
    print(results.write())
    print(f"{results.markdown}: {steps.done() / 60:.1f} min")
    return 0


if __name__ == "__main__":
    sys.exit(main())
