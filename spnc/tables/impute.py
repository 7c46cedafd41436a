"""Tables with their missing cells filled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.observer import Progress
from spnc.data.cells import as_column, cell_value, exact_text
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.queries.imputation import Imputation, Method, imputation
from spnc.tables.asked_model import AskedModel
from spnc.tables.carried import Carried

DRAW = ".draw"  # the column with the number of the draw


@dataclass(frozen=True, eq=False)
class Filled:
    """A table with filled cells, and how many of them: `filled` and `left` by column name."""

    table: Carried
    filled: dict[str, int]
    left: dict[str, int]
    impossible_rows: int
    searched_rows: int  # whose most probable completion is not proved to be the best


def added_names(columns: tuple[Column, ...], probabilities: bool, draws: int | None) -> list[str]:
    """Return the names of all columns that filling may add to a table."""
    found = [DRAW] if draws is not None else []
    for column in columns if probabilities else ():
        found.append(f"{column.name}.probability")
        if not column.is_finite:
            found.append(f"{column.name}.sd")
    return found


def fill(
    model: AskedModel,
    table: Table,
    carried: Carried,
    *,
    method: Method = "mean",
    threshold: float = 0.0,
    probabilities: bool = False,
    draws: int | None = None,
    seed: int = 0,
    texts: bool = False,
    progress: Progress | None = None,
) -> Filled:
    """Return the table with its missing cells filled; all other cells stay as they are.

    `draws` tables are put below one another, with the number of the draw in the column `.draw`.
    With `texts`, the cells of the table are texts.
    """
    missing = np.isnan(table.values)
    asked = [
        i
        for i, column in enumerate(model.columns)
        if missing[:, i].any() and column.name in carried.names
    ]
    found = [
        imputation(
            model.engine,
            model.parameters,
            table,
            asked,
            method=method,
            threshold=threshold,
            seed=seed,
            draw=number,
            progress=progress,
        )
        for number in range(draws or 1)
    ]
    if draws is not None:
        carried = carried.taken(np.tile(np.arange(table.rows), draws))
    cells, filled = (np.concatenate([getattr(f, n) for f in found]) for n in ("cells", "filled"))
    new = {}
    for i in asked:
        column = model.columns[i]
        plain = texts and column.name in dict(model.rules.formats)
        new[column.name] = _cells(
            column, carried.cells(column.name), cells[:, i], filled[:, i], texts=texts, whole=plain
        )
    made = carried.replaced(new)
    extra: dict[str, Any] = {}
    if draws is not None:
        extra[DRAW] = np.repeat(np.arange(1, draws + 1), table.rows)
    if probabilities:
        extra |= _certainty(model.columns, found, asked)
    return Filled(
        made.added(extra) if extra else made,
        {model.columns[i].name: int(filled[:, i].sum()) for i in asked},
        {model.columns[i].name: int(np.isnan(cells[:, i]).sum()) for i in asked},
        int(found[0].impossible.sum()),
        int(found[0].inexact.sum()),
    )


def _certainty(
    columns: tuple[Column, ...], found: list[Imputation], asked: list[int]
) -> dict[str, Floats]:
    """Return the probabilities of filled cells, and the standard deviations of numbers."""
    new: dict[str, Floats] = {}
    for i in asked:
        name = columns[i].name
        for what, numbers in (("probability", "probabilities"), ("sd", "sds")):
            if what == "probability" or not columns[i].is_finite:
                parts = [np.where(f.filled[:, i], getattr(f, numbers)[:, i], np.nan) for f in found]
                new[f"{name}.{what}"] = np.concatenate(parts)
    return new


def _cells(
    column: Column,
    old: list[Any],
    values: Floats,
    filled: Any,
    *,
    texts: bool,
    whole: bool,
) -> list[Any]:
    """Return the cells of a column with the filled ones in place.

    With `whole`, all cells are written anew: the text of the others has a form of its own.
    """
    if whole:
        return [exact_text(column, value) for value in values.tolist()]
    cells = list(old)
    at = np.flatnonzero(filled)
    if texts:
        new: list[Any] = [exact_text(column, v) for v in values[at].tolist()]
    elif column.kind == "date":
        new = as_column(column, values[at]).tolist()
    else:
        new = [cell_value(column, v) for v in values[at].tolist()]
    for row, cell in zip(at.tolist(), new, strict=True):
        cells[row] = cell
    return cells
