"""Imputation and prediction of circuits beside those of scikit-learn, on mixed tables.

    python -m benchmarks.asking_quality [--tables a,b] [--recipes x,y] [--no-peers] [--page-only]

The tables are those of `$SPNC_DATA/tables`, with their splits. For each table a recipe is chosen to
fill cells, one to predict from complete rows and one to predict from rows with hidden cells, by how
they answer for rows that are not test rows: the validation rows, or, where the table has fewer than
2,000 training rows, every row of train and valid in turn (five folds). The chosen recipes then
answer for the test rows. Each result is added to benchmarks/results/asking_quality.json at once, so
an interrupted run continues where it stopped; asking_quality.md has the tables.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import spnc
from benchmarks.common.hidden_tables import (
    TARGETS,
    Floats,
    MixedTable,
    folds,
    hidden,
    imputation_scores,
    log_loss,
    read_table,
)
from benchmarks.common.quality_page import Result, page
from benchmarks.common.quality_recipes import RECIPES, chosen
from benchmarks.common.sklearn_answers import Predictor, classifiers, imputers
from benchmarks.common.trainings import RESULTS
from spnc.common.atomic import write_text
from spnc.data.cells import exact_text
from spnc.model import Model

FEW_ROWS = 2_000  # with fewer training rows, recipes are compared by cross-validation
FOLDS = 5
MASKS = (11, 12)  # seeds of the cells that are hidden when recipes are compared


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
    parser.add_argument(
        "--page-only", action="store_true", help="write the page from the record; measure nothing"
    )
    options = parser.parse_args(arguments)
    record = options.results / "asking_quality.json"
    known: dict[str, Result] = {}
    if record.is_file():
        known = json.loads(record.read_text(encoding="utf-8"))

    def once(name: str, what: str, work: Callable[[], Result]) -> Result:
        """Return a result from the record, or measure and record it."""
        found = known.setdefault(name, {})
        if what not in found:
            began = time.monotonic()
            found[what] = work()
            found[what]["seconds"] = round(time.monotonic() - began, 1)
            print(name, what, json.dumps(found[what]), flush=True)
            write_text(record, json.dumps(known, indent=1) + "\n")
        own: Result = found[what]
        return own

    if not options.page_only:
        for name in options.tables.split(","):
            recipes = options.recipes.split(",")
            measure(read_table(name), recipes, once, with_peers=not options.no_peers)
    text = page(known)
    write_text(options.results / "asking_quality.md", text)
    print(text)
    return 0


def measure(
    table: MixedTable,
    recipes: Sequence[str],
    once: Callable[[str, str, Callable[[], Result]], Result],
    *,
    with_peers: bool,
) -> None:
    """Compare recipes without the test rows, then let the chosen ones and scikit-learn answer."""
    compared = {}
    for recipe in recipes:
        compared[recipe] = once(table.name, f"choice: {recipe}", partial(compare, table, recipe))
    for recipe in dict.fromkeys(chosen(compared).values()):
        once(table.name, f"test: {recipe}", partial(answer, table, recipe))
    if with_peers:
        once(table.name, "sklearn: impute", partial(peers_impute, table))
        once(table.name, "sklearn: predict", partial(peers_predict, table))


def compare(table: MixedTable, recipe: str) -> Result:
    """Return how well a recipe answers for rows that are not test rows; several masks."""
    if len(table.splits["train"]) < FEW_ROWS:
        parts = folds(table, FOLDS)
    else:
        rows = table.splits
        parts = [table.with_splits(train=rows["train"], valid=rows["valid"], test=rows["valid"])]
    found = []
    for part in parts:
        model = trained(part, recipe)
        found += [scores(model, part, recipe, seed) for seed in MASKS]
    return {
        key: None if found[0][key] is None else float(np.mean([each[key] for each in found]))
        for key in found[0]
    }


def answer(table: MixedTable, recipe: str) -> Result:
    """Return how well a recipe answers for the test rows."""
    return scores(trained(table, recipe), table, recipe)


def trained(table: MixedTable, recipe: str) -> Model:
    """Train a recipe on a table's splits."""
    with tempfile.TemporaryDirectory() as folder:
        data = table.data_options(table.write(Path(folder)))
        rows = len(table.splits["train"])
        own = RECIPES[recipe].options(table.columns[table.target], rows)
        return spnc.train({"model": table.name, "data": data, **own}).model


def scores(model: Model, table: MixedTable, recipe: str, seed: int = 1) -> Result:
    """Return the scores of a model's answers for the test split, a fifth of its cells hidden."""
    values = table.splits["test"]
    mask = hidden(values, seed)
    seen = np.where(mask, np.nan, values)
    error = accuracy = math.nan
    if RECIPES[recipe].fills:
        error, accuracy = imputation_scores(table, "test", mask, _filled(model, table, seen))
    return {
        "error": _or_none(error),
        "accuracy": _or_none(accuracy),
        "complete": log_loss(table, "test", _chances(model, table, values)),
        "hidden": log_loss(table, "test", _chances(model, table, seen)),
    }


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


def peers_impute(table: MixedTable) -> Result:
    """Return how well scikit-learn fills the test rows."""
    values = table.splits["test"]
    mask = hidden(values)
    seen = np.where(mask, np.nan, values)
    found: Result = {}
    for name, fill in imputers().items():
        error, accuracy = imputation_scores(table, "test", mask, fill(table, seen))
        found[name] = {"error": _or_none(error), "accuracy": _or_none(accuracy)}
    return found


def peers_predict(table: MixedTable) -> Result:
    """Return how well scikit-learn predicts the target of the test rows."""
    values = table.splits["test"]
    seen = np.where(hidden(values), np.nan, values)
    found: Result = {}
    for name, make in classifiers().items():
        predictor = Predictor(table, make(), hides=name.endswith("hidden cells"))
        found[name] = {
            "complete": log_loss(table, "test", predictor.chances(values)),
            "hidden": log_loss(table, "test", predictor.chances(seen)),
        }
    return found


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


if __name__ == "__main__":
    sys.exit(main())
