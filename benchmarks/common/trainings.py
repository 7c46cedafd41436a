"""Train many recipes with many seeds, and keep the results in one file.

An interrupted benchmark continues where it stopped, and a cell is trained again only if its recipe
has changed. Choices inside a recipe are made on validation rows; test rows give the final figure
only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common.published import DATASETS
from benchmarks.common.steps import Steps
from spnc.common.atomic import write_text
from spnc.data.load import is_available
from spnc.diagnostics import Sink
from spnc.pipeline import train
from spnc.runs.lock import recipe_text
from spnc.search.grid import search
from spnc.spec.read import read_recipe
from spnc.spec.recipe import Recipe

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
SEEDS = 3

Record = dict[str, Any]


class Cell(NamedTuple):
    """One training: a system on a dataset with a seed."""

    data: str
    system: str
    seed: int


@dataclass(frozen=True)
class Benchmark:
    """A table of trainings: the spec of each cell, and the settings that change it."""

    name: str  # stem of its files in the results folder
    spec: Callable[[Cell], Path]
    settings: Callable[[Cell], list[str]]

    def recipe(self, cell: Cell) -> Recipe:
        """Return the recipe of a cell. Exit if its data is not on this machine."""
        sink = Sink()
        recipe = read_recipe(self.spec(cell), sink, self.settings(cell))
        sink.stop()
        assert recipe is not None
        if not is_available(recipe.data):
            sys.exit(f"{recipe.data.source} is not on this machine: `spnc data fetch {cell.data}`")
        return recipe

    def fingerprint(self, cell: Cell) -> str:
        """Return a hash of what a record depends on: the recipe and those of all its tries."""
        recipe = self.recipe(cell)
        tries = [one.recipe for one in recipe.space.tries] if recipe.space is not None else [recipe]
        text = "\n".join(recipe_text(each) for each in tries)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def trained(self, cell: Cell) -> Record:
        """Train a cell and return its record."""
        recipe, sink = self.recipe(cell), Sink()
        began = time.monotonic()
        trained = search(recipe, sink) if recipe.space is not None else train(recipe, sink)
        metrics = trained.metrics
        record: Record = {
            **cell._asdict(),
            **{name: round(split["avg_ll"], 5) for name, split in metrics["splits"].items()},
            "edges": metrics["model"]["edges"],
            "layers": metrics["model"]["layers"],
            "iterations": metrics["optimizer"]["kept_iteration"],
            "seconds": round(time.monotonic() - began, 1),
            "recipe": self.fingerprint(cell),
        }
        if "search" in metrics:
            found = metrics["search"]
            record["chosen"] = found["tries"][found["chosen"] - 1]["values"]
        return record


class Results:
    """The records of all cells, kept in one file; records of outdated recipes are dropped."""

    def __init__(
        self, benchmark: Benchmark, folder: Path, report: Callable[[Sequence[Record]], str]
    ) -> None:
        self._benchmark, self.report = benchmark, report
        self._json = folder / f"{benchmark.name}.json"
        self.markdown = folder / f"{benchmark.name}.md"
        self.records: list[Record] = []
        if self._json.is_file():
            found = json.loads(self._json.read_text(encoding="utf-8"))
            self.records = [r for r in found if r["recipe"] == benchmark.fingerprint(cell_of(r))]

    def complete(self, cells: Sequence[Cell], steps: Steps) -> None:
        """Train the cells that have no record yet."""
        done = {cell_of(r) for r in self.records}
        for number, cell in enumerate(cells, 1):
            if cell not in done:
                steps.say(f"{number} of {len(cells)}: {cell.data} {cell.system}, seed {cell.seed}")
                self.records.append(self._benchmark.trained(cell))
                self.records.sort(key=cell_of)
                self.write()

    def write(self) -> str:
        """Write the records and the page, and return the page."""
        self._json.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(record) for record in self.records)
        write_text(self._json, f"[\n{lines}\n]\n")
        text = self.report(self.records)
        write_text(self.markdown, text)
        return text


def cell_of(record: Record) -> Cell:
    """Return the cell that a record belongs to."""
    return Cell(record["data"], record["system"], record["seed"])


def parser_for(name: str, text: str | None, systems: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser with the options that these benchmarks share."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--datasets", help=f"of {', '.join(DATASETS)} (default: all)")
    parser.add_argument("--systems", help=f"of {', '.join(systems)} (default: all)")
    parser.add_argument("--seeds", type=int, help=f"number of seeds, starting from 0 ({SEEDS})")
    parser.add_argument(
        "--page-only",
        action="store_true",
        help="write the page from the recorded results; train nothing",
    )
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="the folder (benchmarks/results)"
    )
    return parser


def chosen(
    parser: argparse.ArgumentParser, text: str | None, known: Sequence[str]
) -> tuple[str, ...]:
    """Return the names in a comma-separated option, or all known names without it."""
    names = tuple(text.split(",")) if text else tuple(known)
    for name in names:
        if name not in known:
            parser.error(f"`{name}` is not one of {', '.join(known)}")
    return names


def run(
    benchmark: Benchmark,
    text: str | None,
    systems: Sequence[str],
    report: Callable[[Sequence[Record]], str],
) -> int:
    """Run a benchmark of all systems, datasets and seeds, one seed of everything after another."""
    parser = parser_for(benchmark.name, text, systems)
    arguments = parser.parse_args()
    cells = [
        Cell(data, system, seed)
        for seed in range(arguments.seeds or SEEDS)
        for system in chosen(parser, arguments.systems, systems)
        for data in chosen(parser, arguments.datasets, tuple(DATASETS))
    ]
    steps = Steps()
    results = Results(benchmark, arguments.results, report)
    if not arguments.page_only:
        results.complete(cells, steps)
    print(results.write())
    print(f"{results.markdown}: {steps.done() / 60:.1f} min")
    return 0
