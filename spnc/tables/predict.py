"""Tables with the prediction of one of their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.common.observer import Progress
from spnc.data.cells import as_column, exact_text
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.queries.prediction import prediction
from spnc.tables.asked_model import AskedModel
from spnc.tables.carried import Carried, Cells

NUMBERS = ("mean", "sd", "median", "low", "high")


@dataclass(frozen=True, eq=False)
class Predicted:
    """A table with predictions, their scores where the target is known, and impossible rows."""

    table: Carried
    scores: dict[str, float]
    impossible_rows: int


def added_names(target: Column) -> list[str]:
    """Return the names of the columns that a prediction adds."""
    if not target.is_finite:
        return [f"{target.name}.{name}" for name in NUMBERS]
    states = (exact_text(target, float(state)) for state in range(target.states))
    return [f"{target.name}.predicted", *(f"{target.name}={state}" for state in states)]


def predict(
    model: AskedModel,
    table: Table,
    carried: Carried,
    target: int,
    *,
    interval: float = 0.9,
    texts: bool = False,
    progress: Progress | None = None,
) -> Predicted:
    """Return the table with the prediction of a column, given the other cells of each row.

    Labels: the most probable one, and the probability of each. Numbers: mean, standard deviation,
    median, and the ends of a central interval. With `texts`, the cells of the table are texts.
    """
    column = model.columns[target]
    found = prediction(
        model.engine, model.parameters, table, target, interval=interval, progress=progress
    )
    names = added_names(column)
    new: dict[str, Cells] = {}
    if found.best is not None and found.probabilities is not None:
        new[names[0]] = _labels(column, found.best, texts)
        for state, name in enumerate(names[1:]):
            new[name] = found.probabilities[:, state]
    else:
        for name, what in zip(names, NUMBERS, strict=True):
            values = getattr(found, what)
            dates = column.kind == "date" and what != "sd"
            new[name] = _labels(column, values, texts) if dates else values
    return Predicted(carried.added(new), found.scores(), int(found.impossible.sum()))


def _labels(column: Column, values: Any, texts: bool) -> Cells:
    if texts:
        cells: list[Any] = [exact_text(column, v) for v in values.tolist()]
    else:
        cells = as_column(column, values).tolist()
        cells = [None if cell != cell else cell for cell in cells]
    found = np.empty(len(cells), dtype=object)
    found[:] = cells
    return found
