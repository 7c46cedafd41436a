"""The paper's tables, with its figures and spnc's side by side.

    python -m benchmarks.paper [--datasets a,b] [--systems a,b] [--seeds N] [--quick]

Trains the recipe of every cell (specs/paper/) with several seeds, and writes what came out to
benchmarks/results/paper.json as it goes: a run that was broken off goes on where it stopped, and a
cell is trained again only if its recipe has changed. The tables are in benchmarks/results/paper.md.
Choices inside a recipe are made on validation rows; test rows give the final figure alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.paper_figures import DATASETS
from benchmarks.paper_picture import draw
from benchmarks.paper_report import report
from benchmarks.steps import Steps
from spnc.atomic import write_text
from spnc.data.load import is_available
from spnc.diagnostics import Sink
from spnc.lock import recipe_text
from spnc.pipeline import compile_recipe, train_compiled
from spnc.search import search
from spnc.spec.read import read_recipe
from spnc.spec.recipe import Recipe

ROOT = Path(__file__).resolve().parents[1]
SPECS = ROOT / "specs" / "paper"
RESULTS = ROOT / "benchmarks" / "results"
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
SEEDS = 3
QUICK = (("nltcs",), ("rspf3", "resspn3", "learnspn"), 1)

Cell = tuple[str, str, int]  # dataset, system, seed


def main() -> int:
    """Train what is missing, then write the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--datasets", help=f"of {', '.join(DATASETS)} (default: all)")
    parser.add_argument("--systems", help=f"of {', '.join(SYSTEMS)} (default: all)")
    parser.add_argument("--seeds", type=int, help=f"how many seeds, from 0 on ({SEEDS})")
    parser.add_argument("--quick", action="store_true", help="one dataset, three systems, one seed")
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="the folder (benchmarks/results)"
    )
    arguments = parser.parse_args()
    datasets, systems, seeds = QUICK if arguments.quick else (tuple(DATASETS), SYSTEMS, SEEDS)
    if arguments.datasets:
        datasets = _chosen(parser, arguments.datasets, tuple(DATASETS))
    if arguments.systems:
        systems = _chosen(parser, arguments.systems, SYSTEMS)
    seeds = arguments.seeds or seeds
    cells = [
        (data, system, seed)
        for system in systems
        for data in datasets
        if _spec(data, system).is_file()
        for seed in ([0] if system == "extraspn" else range(seeds))  # it searches over seeds
    ]
    results, steps = Results(arguments.results), Steps()
    for number, cell in enumerate(cells, 1):
        data, system, seed = cell
        if results.has(cell):
            continue
        steps.say(f"{number} of {len(cells)}: {data}-{system}, seed {seed}")
        results.add(cell, _trained(cell))
        results.write()
    if "nltcs" in datasets and not arguments.quick:
        steps.say("Fig. 3")
        results.picture = draw(_spec("nltcs", "resspn10"), results.markdown.with_name("fig3.png"))
    results.write()
    print(report(results.records, results.picture))
    print(f"{results.markdown}: {steps.done() / 60:.1f} min")
    return 0


class Results:
    """The records of all cells, kept in one file."""

    def __init__(self, folder: Path) -> None:
        self.json, self.markdown = folder / "paper.json", folder / "paper.md"
        self.records: list[dict[str, Any]] = []
        self.picture: str | None = None  # what Fig. 3 shows, in words, once it is drawn
        if self.json.is_file():
            found = json.loads(self.json.read_text(encoding="utf-8"))
            # What was made with another recipe than there is now says nothing any more.
            self.records = [r for r in found if r["recipe"] == _fingerprint(_cell(r))]

    def has(self, cell: Cell) -> bool:
        """Whether there is a record of this cell."""
        return any(_cell(r) == cell for r in self.records)

    def add(self, cell: Cell, record: dict[str, Any]) -> None:
        """A record takes the place of an older one."""
        self.records = [r for r in self.records if _cell(r) != cell]
        self.records.append(record)
        self.records.sort(key=lambda r: (r["data"], r["system"], r["seed"]))

    def write(self) -> None:
        """Both files, each complete or as it was."""
        self.json.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join(json.dumps(record) for record in self.records)
        write_text(self.json, f"[\n{lines}\n]\n")
        write_text(self.markdown, report(self.records, self.picture))


def _cell(record: dict[str, Any]) -> Cell:
    return record["data"], record["system"], record["seed"]


def _chosen(parser: argparse.ArgumentParser, text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name in names:
        if name not in known:
            parser.error(f"`{name}` is none of {', '.join(known)}")
    return names


def _spec(data: str, system: str) -> Path:
    return SPECS / f"{data}-{system}.yaml"


def _recipe(cell: Cell) -> Recipe:
    data, system, seed = cell
    sink = Sink()
    settings = [] if system == "extraspn" else [f"seed={seed}"]
    recipe = read_recipe(_spec(data, system), sink, settings)
    sink.stop()
    assert recipe is not None
    if not is_available(recipe.data):
        sys.exit(f"{recipe.data.source} is not on this machine: `spnc data fetch {data}`")
    return recipe


def _fingerprint(cell: Cell) -> str:
    """What a record depends on: the recipe, and those of all its tries."""
    recipe = _recipe(cell)
    tries = [one.recipe for one in recipe.space.tries] if recipe.space is not None else [recipe]
    text = "\n".join(recipe_text(each) for each in tries)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _trained(cell: Cell) -> dict[str, Any]:
    recipe, sink = _recipe(cell), Sink()
    began = time.monotonic()
    if recipe.space is not None:
        trained = search(recipe, sink)
    else:
        trained = train_compiled(compile_recipe(recipe, sink), sink)
    metrics = trained.metrics
    record: dict[str, Any] = {
        "data": cell[0],
        "system": cell[1],
        "seed": cell[2],
        **{name: round(split["avg_ll"], 5) for name, split in metrics["splits"].items()},
        "edges": metrics["model"]["edges"],
        "layers": metrics["model"]["layers"],
        "iterations": metrics["optimizer"]["kept_iteration"],
        "seconds": round(time.monotonic() - began, 1),
        "recipe": _fingerprint(cell),
    }
    if "search" in metrics:
        found = metrics["search"]
        record["chosen"] = found["tries"][found["chosen"] - 1]["values"]
    return record


if __name__ == "__main__":
    sys.exit(main())
