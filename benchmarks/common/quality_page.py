"""The page of `benchmarks.asking_quality`: tables from its record."""

from __future__ import annotations

from typing import Any

from benchmarks.common.hidden_tables import LISTED_IMPUTATION, LISTED_PREDICTION
from benchmarks.common.markdown import filled, table
from benchmarks.common.quality_recipes import chosen

Result = dict[str, Any]

_ABOUT = """Eight mixed tables with the splits that come with them, one seed. A fifth of the test
cells is hidden. For each table, one recipe fills cells and one predicts; both are chosen without
the test rows (`benchmarks.asking_quality` says how), for which they answer once. *Measured* is the
best of scikit-learn in this run, *listed* the best figure that comes with the tables. **Bold**: at
least as good as both.
"""
_FILLING = """Error of numbers, as a share of the standard deviation of their column, and accuracy
of labels, means over columns. scikit-learn: mean and mode, ten nearest neighbours, iterative ridge
regression, and a random forest for each column, in three rounds.
"""
_PREDICTING = """Log-loss of the target with complete rows, and with a fifth of the other cells
hidden. scikit-learn: logistic regression, gradient boosting (also trained on rows with hidden
cells), a random forest of 500 trees.
"""
_CHOOSING = """What the choice was made by: results for rows that are not test rows, four masks of
hidden cells. Filling: error / accuracy; predicting: log-loss complete / hidden.
"""


def page(known: dict[str, Result]) -> str:
    """Return the tables of imputation and prediction."""
    filling, predicting, choosing = [], [], []
    for name, found in sorted(known.items()):
        if "test: impute" in found:
            peers = list(found.get("sklearn: impute", {}).values())
            cells = _cells(found["test: impute"], "error", peers, LISTED_IMPUTATION[name][0], min)
            more = _cells(found["test: impute"], "accuracy", peers, LISTED_IMPUTATION[name][1], max)
            filling.append([name, found["test: impute"]["recipe"], *cells, *more])
        if "test: predict" in found:
            peers, own = list(found.get("sklearn: predict", {}).values()), found["test: predict"]
            cells = _cells(own, "complete", peers, LISTED_PREDICTION[name][0], min)
            more = _cells(own, "hidden", peers, LISTED_PREDICTION[name][1], min)
            predicting.append([name, own["recipe"], *cells, *more])
        choosing += _choices(name, found)
    both = sum(all(c.startswith("**") or c == "–" for c in (r[2], r[5])) for r in filling)
    wins = [sum(row[at].startswith("**") for row in predicting) for at in (2, 5)]
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
        table(["table", "recipe", "complete", *three, "hidden", *three], predicting, 2),
        f"At least as good: complete rows {wins[0]}, hidden cells {wins[1]} "
        f"of {len(predicting)} tables.\n",
        "## How recipes were chosen\n",
        filled(_CHOOSING),
        table(["table", "recipe", "filling", "predicting", "s"], choosing, 2),
        "The recipes are in "
        "[quality_recipes.py](../common/quality_recipes.py). Chosen ones are bold.\n",
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


def _choices(name: str, found: Result) -> list[list[str]]:
    """Return a row for each recipe that was compared on a table."""
    compared = {
        key.removeprefix("choice: "): own
        for key, own in found.items()
        if key.startswith("choice: ")
    }
    if not compared:
        return []
    taken = chosen(compared)
    rows = []
    for recipe, own in compared.items():
        error = "–" if own["error"] is None else f"{own['error']:.3f}"
        cells = [
            f"{error} / {own['accuracy']:.3f}" if own["accuracy"] is not None else "–",
            f"{own['complete']:.3f} / {own['hidden']:.3f}",
        ]
        for at, task in enumerate(("impute", "predict")):
            if taken[task] == recipe:
                cells[at] = f"**{cells[at]}**"
        rows.append([name, recipe, *cells, f"{own['seconds']:.0f}"])
    return rows
