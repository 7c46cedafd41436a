"""Imputation and prediction of circuits beside those of scikit-learn, on mixed tables.

    python -m benchmarks.asking_quality [--tables a,b] [--recipes x,y] [--no-peers]

The tables are those of `$SPNC_DATA/tables`. Every recipe is trained once for each table; the one
with the best answers on validation rows, of which 20% of the cells are hidden, answers for the test
rows. Each result is added to benchmarks/results/asking_quality.json at once, so an interrupted run
continues where it stopped; asking_quality.md has the tables.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import spnc
from benchmarks.common.hidden_tables import (
    TARGETS,
    Floats,
    MixedTable,
    hidden,
    imputation_scores,
    log_loss,
    read_table,
)
from benchmarks.common.markdown import table as markdown
from benchmarks.common.sklearn_answers import Predictor, classifiers, imputers
from benchmarks.common.trainings import RESULTS
from spnc.common.atomic import write_text
from spnc.data.cells import exact_text
from spnc.model import Model

OPTIMIZER = {"method": "em", "max_iterations": 100, "patience": 5, "stop": "none"}
RECIPES: dict[str, dict[str, Any]] = {
    "hclt-8": {"forest": [{"learner": "hclt", "count": 3, "states": 8}]},
    "hclt-24": {"forest": [{"learner": "hclt", "count": 3, "states": 24}]},
    "learn-spn": {"forest": [{"learner": "learn-spn", "min_instances": 60}]},
    "bagged": {
        "forest": [
            {"learner": "learn-spn", "count": 10, "min_instances": 40, "bootstrap": True},
            {"learner": "hclt", "count": 5, "states": 6, "bootstrap": True},
        ]
    },
    "both": {
        "forest": [
            {"learner": "hclt", "count": 3, "states": 12},
            {"learner": "learn-spn", "min_instances": 60},
        ]
    },
}
Result = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing, then write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.asking_quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tables", default=",".join(TARGETS), help="names, separated by commas")
    parser.add_argument("--recipes", default=",".join(RECIPES), help="names, separated by commas")
    parser.add_argument("--no-peers", action="store_true", help="do not run scikit-learn")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the page")
    options = parser.parse_args(arguments)
    record = options.results / "asking_quality.json"
    known: dict[str, Result] = {}
    if record.is_file():
        known = json.loads(record.read_text(encoding="utf-8"))
    for name in options.tables.split(","):
        table, found = read_table(name), known.setdefault(name, {})
        ways = [("spnc", recipe) for recipe in options.recipes.split(",")]
        ways += [] if options.no_peers else [("sklearn", way) for way in ("impute", "predict")]
        for kind, way in ways:
            if f"{kind} {way}" in found:
                continue
            began = time.monotonic()
            own = circuit(table, way) if kind == "spnc" else peers(table, way)
            own["seconds"] = round(time.monotonic() - began, 1)
            found[f"{kind} {way}"] = own
            print(name, kind, way, json.dumps(own), flush=True)
            write_text(record, json.dumps(known, indent=1) + "\n")
    text = page(known)
    write_text(options.results / "asking_quality.md", text)
    print(text)
    return 0


def circuit(table: MixedTable, recipe: str) -> Result:
    """Train a recipe; return how well it answers on validation and test rows."""
    spec = {
        "model": f"{table.name}-{recipe}",
        "data": table.data_options(),
        "optimizer": OPTIMIZER,
        "smoothing": 0.1,
        **RECIPES[recipe],
    }
    model = spnc.train(spec).model
    found: Result = {}
    for split in ("valid", "test"):
        values = table.splits[split]
        mask = hidden(values)
        seen = np.where(mask, np.nan, values)
        scores = imputation_scores(table, split, mask, _filled(model, table, seen))
        found[split] = {
            "error": _or_none(scores[0]),
            "accuracy": _or_none(scores[1]),
            "complete": log_loss(table, split, _chances(model, table, values)),
            "hidden": log_loss(table, split, _chances(model, table, seen)),
        }
    return found


def _frame(table: MixedTable, values: Floats) -> dict[str, list[float | None]]:
    return {
        name: [None if math.isnan(cell) else cell for cell in values[:, i].tolist()]
        for i, name in enumerate(table.columns)
    }


def _filled(model: Model, table: MixedTable, seen: Floats) -> Floats:
    """Return rows with the hidden cells filled; a column that is not modelled by mean or mode."""
    filled = model.impute(_frame(table, seen))
    cells = [[np.nan if c is None else float(c) for c in filled[n]] for n in table.columns]
    found = np.array(cells).T
    return np.where(np.isnan(found), imputers()["mean, mode"](table, seen), found)


def _chances(model: Model, table: MixedTable, values: Floats) -> Floats:
    """Return the probability of each label of the target."""
    name = table.columns[table.target]
    predicted = model.predict(_frame(table, values), name)
    [column] = [c for c in model.columns if c.name == name]
    states = {float(exact_text(column, float(s))): s for s in range(column.states)}
    found = np.zeros((len(values), len(table.labels(table.target))))
    for place, label in enumerate(table.labels(table.target).tolist()):
        if label in states:
            own = predicted[f"{name}={exact_text(column, float(states[label]))}"]
            found[:, place] = [0.0 if chance is None else chance for chance in own]
    return found


def peers(table: MixedTable, way: str) -> Result:
    """Return the answers of scikit-learn on the test rows."""
    values = table.splits["test"]
    mask = hidden(values)
    seen = np.where(mask, np.nan, values)
    found: Result = {}
    if way == "impute":
        for name, fill in imputers().items():
            scores = imputation_scores(table, "test", mask, fill(table, seen))
            found[name] = {"error": _or_none(scores[0]), "accuracy": _or_none(scores[1])}
        return found
    for name, make in classifiers().items():
        predictor = Predictor(table, make())
        found[name] = {
            "complete": log_loss(table, "test", predictor.chances(values)),
            "hidden": log_loss(table, "test", predictor.chances(seen)),
        }
    return found


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


def page(known: dict[str, Result]) -> str:
    """Return the tables of imputation and prediction."""
    filled, predicted = [], []
    for name, found in known.items():
        recipes = {k.removeprefix("spnc "): r for k, r in found.items() if k.startswith("spnc ")}
        if not recipes:
            continue
        fills, guesses = found.get("sklearn impute", {}), found.get("sklearn predict", {})
        line = [name]
        for what, best in (("error", min), ("accuracy", max)):
            own = {r: v for r, v in recipes.items() if v["valid"][what] is not None}
            chosen = best(own, key=lambda r: own[r]["valid"][what]) if own else None
            others = [
                v[what] for v in fills.values() if isinstance(v, dict) and v[what] is not None
            ]
            line += _pair(own[chosen]["test"][what] if chosen else None, others, best, chosen)
        filled.append(line)
        line = [name]
        for what in ("complete", "hidden"):
            chosen = min(recipes, key=lambda r: recipes[r]["valid"][what])
            others = [v[what] for v in guesses.values() if isinstance(v, dict)]
            line += _pair(recipes[chosen]["test"][what], others, min, chosen)
        predicted.append(line)
    head = ["table", "error", "best of sklearn", "recipe", "accuracy", "best of sklearn", "recipe"]
    text = "# Imputation and prediction beside scikit-learn\n\n"
    text += "Written by `python -m benchmarks.asking_quality`. Test rows; recipes are chosen on\n"
    text += "validation rows. **Bold**: at least as good as the best of scikit-learn.\n\n"
    text += "## Imputation\n\n20% of the cells hidden. Error of real columns as a share of their\n"
    text += "standard deviation; accuracy of discrete columns.\n\n" + markdown(head, filled, 1)
    head = ["table", "complete", "best of sklearn", "recipe", "hidden", "best of sklearn", "recipe"]
    text += (
        "\n## Prediction\n\nLog-loss with complete cells, and with 20% of the features hidden.\n\n"
    )
    return text + markdown(head, predicted, 1)


def _pair(own: float | None, others: list[float], best: Any, recipe: str | None) -> list[str]:
    """Return a figure, that of the best peer, and the recipe, as cells of a table."""
    if own is None:
        return ["–", "–", "–"]
    peer = best(others) if others else None
    shown = f"{own:.3f}"
    if peer is not None and best(round(own, 3), round(peer, 3)) == round(own, 3):
        shown = f"**{shown}**"
    return [shown, "–" if peer is None else f"{peer:.3f}", recipe or "–"]


if __name__ == "__main__":
    sys.exit(main())
