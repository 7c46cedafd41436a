"""The page of `benchmarks.asking_quality`: tables from its record."""

from __future__ import annotations

from typing import Any

from benchmarks.common.hidden_tables import LISTED_IMPUTATION, LISTED_PREDICTION
from benchmarks.common.markdown import filled, table
from benchmarks.common.quality_recipes import chosen

Result = dict[str, Any]

_ABOUT = """Mixed tables with the splits that come with them, one seed. A fifth of the test
cells is hidden. For each table, a recipe for each of three tasks is chosen without the test rows
(`benchmarks.asking_quality` says how), for which it then answers. *Measured* is the
best of scikit-learn in this run, *listed* the best figure that comes with the tables. **Bold**: at
least as good as both. Recipes were changed and added after a first evaluation on the test rows of
six tables, by the results for other rows alone: the options of trees and of conditional fits once,
then recipes of eight hidden trees, which led to second answers for the test rows of adult, breast
and chess. The recipes with kernels were made for wine, by its validation rows (one to seven scales
in a prototype, two weights of the trees), and its test rows were asked once. They were not compared
on other tables.
"""
_FILLING = """Error of numbers, as a share of the standard deviation of their column, and accuracy
of labels, means over columns. scikit-learn: mean and mode, ten nearest neighbours, iterative ridge
regression, and a random forest for each column, in three rounds.
"""
_PREDICTING = """Log-loss of the target with complete rows, and with a fifth of the other cells
hidden. scikit-learn: logistic regression, gradient boosting (also trained on rows with hidden
cells), a random forest of 500 trees.
"""
_CHOOSING = """What the choice was made by: results for rows that are not test rows. The recipes are
in [quality_recipes.py](../common/quality_recipes.py); what was chosen is bold.
"""


def page(known: dict[str, Result]) -> str:
    """Return the tables of imputation and prediction."""
    filling, predicting, choosing = [], [], []
    for name, found in sorted(known.items()):
        taken = chosen(_compared(found)) if _compared(found) else {}
        if not taken or not {f"test: {recipe}" for recipe in taken.values()} <= set(found):
            continue
        own = {task: found[f"test: {recipe}"] for task, recipe in taken.items()}
        peers, listed = list(found.get("sklearn: impute", {}).values()), LISTED_IMPUTATION[name]
        cells = _cells(own["impute"], "error", peers, listed[0], min)
        cells += _cells(own["impute"], "accuracy", peers, listed[1], max)
        filling.append([name, taken["impute"], *cells])
        peers, line = list(found.get("sklearn: predict", {}).values()), [name]
        for task, best in zip(("complete", "hidden"), LISTED_PREDICTION[name], strict=True):
            line += [taken[task], *_cells(own[task], task, peers, best, min)]
        predicting.append(line)
        choosing += _choices(name, found)
    both = sum(all(c.startswith("**") or c == "–" for c in (r[2], r[5])) for r in filling)
    wins = [sum(row[at].startswith("**") for row in predicting) for at in (2, 6)]
    three = ["measured", "listed"]
    parts = [
        "# Imputation and prediction beside scikit-learn\n\n"
        "Written by `python -m benchmarks.asking_quality`.\n",
        filled(_ABOUT),
        "## Imputation\n",
        filled(_FILLING),
        table(["table", "recipe", "error", *three, "accuracy", *three], filling, 2),
        f"Both at least as good: {both} of {len(filling)} tables.\n",
        "## Prediction\n",
        filled(_PREDICTING),
        table(
            ["table", *(c for w in ("complete", "hidden") for c in ("recipe", w, *three))],
            predicting,
            2,
        ),
        f"At least as good: complete rows {wins[0]}, hidden cells {wins[1]} "
        f"of {len(predicting)} tables.\n",
        "## How recipes were chosen\n",
        filled(_CHOOSING),
        table(["table", "recipe", "error / accuracy", "complete", "hidden", "s"], choosing, 2),
    ]
    return "\n".join(parts)


def _cells(own: Result, what: str, peers: list[Any], listed: float | None, best: Any) -> list[str]:
    """Return a figure, the best of the peers, and the best that is listed."""
    if own[what] is None:
        return ["–", "–", "–"]
    measured = [peer[what] for peer in peers if isinstance(peer, dict)]
    others = [x for x in (*measured, listed) if x is not None]
    shown = f"{own[what]:.3f}"
    if others and best(round(own[what], 3), *(round(x, 3) for x in others)) == round(own[what], 3):
        shown = f"**{shown}**"
    return [
        shown,
        f"{best(measured):.3f}" if measured else "–",
        "–" if listed is None else f"{listed:.3f}",
    ]


def _compared(found: Result) -> dict[str, Result]:
    """Return the results that recipes were chosen by."""
    prefix = "choice: "
    return {k.removeprefix(prefix): own for k, own in found.items() if k.startswith(prefix)}


def _choices(name: str, found: Result) -> list[list[str]]:
    """Return a row for each recipe that was compared on a table."""
    taken = chosen(_compared(found))
    rows = []
    for recipe, own in _compared(found).items():
        error = "–" if own["error"] is None else f"{own['error']:.3f}"
        cells = {
            "impute": "–" if own["accuracy"] is None else f"{error} / {own['accuracy']:.3f}",
            "complete": f"{own['complete']:.3f}",
            "hidden": f"{own['hidden']:.3f}",
        }
        shown = [f"**{c}**" if taken[task] == recipe else c for task, c in cells.items()]
        rows.append([name, recipe, *shown, f"{own['seconds']:.0f}"])
    return rows
