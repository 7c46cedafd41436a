"""Reproduce the paper's tables, with its figures and spnc's side by side.

    python -m benchmarks.paper [--datasets a,b] [--systems a,b] [--seeds N] [--quick]
                               [--page-only]

Trains the recipe of every cell (specs/paper/) with several seeds and adds each result to
benchmarks/results/paper.json at once, so an interrupted run continues where it stopped. The tables
are in benchmarks/results/paper.md.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from benchmarks.common.paper_page import report
from benchmarks.common.paper_picture import draw
from benchmarks.common.published import DATASETS, LEARN_SPN, LEARN_SPN_WITHOUT_EM
from benchmarks.common.steps import Steps
from benchmarks.common.trainings import (
    ROOT,
    SEEDS,
    Benchmark,
    Cell,
    Results,
    chosen,
    parser_for,
)

# The most important first, so that an interrupted run has them.
SYSTEMS: tuple[str, ...] = (
    "rspf10",
    "resspn10",
    "rspf3",
    "resspn3",
    "rspf5",
    "resspn5",
    "rspfclustered",
    "inforesspn",
    LEARN_SPN,
    LEARN_SPN_WITHOUT_EM,
    "extraspn",
    "hclt10",
)
QUICK_DATASETS: tuple[str, ...] = ("nltcs",)
QUICK_SYSTEMS: tuple[str, ...] = ("rspf3", "resspn3", LEARN_SPN)


def _spec(cell: Cell) -> Path:
    system = LEARN_SPN if cell.system == LEARN_SPN_WITHOUT_EM else cell.system
    return ROOT / "specs" / "paper" / f"{cell.data}-{system}.yaml"


def _settings(cell: Cell) -> list[str]:
    if cell.system == "extraspn":
        return []  # its recipe searches over seeds
    settings = [f"seed={cell.seed}"]
    if cell.system == LEARN_SPN_WITHOUT_EM:
        settings += ["optimizer.max_iterations=0"]
    return settings


PAPER = Benchmark("paper", _spec, _settings)


def main() -> int:
    """Train what is missing, then write the tables."""
    parser = parser_for("paper", __doc__, SYSTEMS)
    parser.add_argument("--quick", action="store_true", help="one dataset, three systems, one seed")
    arguments = parser.parse_args()
    quick = arguments.quick
    datasets = QUICK_DATASETS if quick else tuple(DATASETS)
    systems = QUICK_SYSTEMS if quick else SYSTEMS
    seeds = arguments.seeds or (1 if quick else SEEDS)
    if arguments.datasets:
        datasets = chosen(parser, arguments.datasets, tuple(DATASETS))
    if arguments.systems:
        systems = chosen(parser, arguments.systems, SYSTEMS)
    cells = [
        cell
        for system in systems
        for data in datasets
        for seed in ([0] if system == "extraspn" else range(seeds))
        if _spec(cell := Cell(data, system, seed)).is_file()
    ]
    steps = Steps()
    results = Results(PAPER, arguments.results, report)
    if not arguments.page_only:
        results.complete(cells, steps)
    if "nltcs" in datasets and not quick:
        steps.say("Fig. 3")
        picture = draw(_spec(Cell("nltcs", "resspn10", 0)), results.markdown.with_name("fig3.png"))
        results.report = partial(report, picture=picture)
    print(results.write())
    print(f"{results.markdown}: {steps.done() / 60:.1f} min")
    return 0


if __name__ == "__main__":
    sys.exit(main())
