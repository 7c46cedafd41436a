"""Filling the missing cells of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.common.observer import Progress
from spnc.common.rng import random_stream
from spnc.data.cells import rounded_values
from spnc.data.columns import Column, Scale
from spnc.data.table import Table
from spnc.program.program import Parameters
from spnc.queries.column_given_rows import ColumnGivenRows, Mask
from spnc.queries.complete import complete
from spnc.queries.leaf_weights import columns_given_rows
from spnc.queries.likely_rows import likely_rows

Method = Literal["mean", "most-probable", "draw", "most-probable-row"]
METHODS: tuple[Method, ...] = get_args(Method)
# A filled number counts as right within this many standard deviations of its column: the
# probability of a single number would be zero.
NEAR = 0.5


@dataclass(frozen=True, eq=False)
class Imputation:
    """A table with its missing cells filled, all arrays `[row, column]`.

    `cells` are NaN where a cell stayed missing, numbers are rounded to their column's resolution.
    `probabilities` of filled cells are those of the label or, of a number, of lying within `NEAR`
    standard deviations of the column; `sds` are the standard deviations of filled numbers. Both
    are given the known cells of the row, and NaN elsewhere. `impossible` are the rows whose known
    cells have probability zero, `inexact` those whose most probable completion was searched for
    without a proof.
    """

    cells: Floats
    filled: Mask
    probabilities: Floats
    sds: Floats
    impossible: Mask
    inexact: Mask


def imputation(
    engine: Engine,
    parameters: Parameters,
    table: Table,
    columns: Sequence[int] | None = None,
    *,
    method: Method = "mean",
    threshold: float = 0.0,
    seed: int = 0,
    draw: int = 0,
    progress: Progress | None = None,
) -> Imputation:
    """Fill missing cells by a method; leave those whose probability is below the threshold.

    With `columns`, only missing cells of these columns are filled; all others are summed out.

    `mean` and `most-probable` fill each cell on its own, given the known cells of its row, `draw`
    and `most-probable-row` all missing cells of a row together. Seed and number of the `draw` say
    which cells are drawn.
    """
    known_columns, values = engine.program.columns, table.values
    every = range(table.width) if columns is None else columns
    missing = np.isnan(values) & np.isin(np.arange(table.width), list(every))
    found = Imputation(
        values.copy(),
        missing.copy(),
        np.full(values.shape, np.nan),
        np.full(values.shape, np.nan),
        np.zeros(len(values), dtype=np.bool_),
        np.zeros(len(values), dtype=np.bool_),
    )
    rows = np.flatnonzero(missing.any(axis=1))
    if not len(rows):
        return found
    incomplete = table.take(rows)
    together: Floats | None = None
    if method == "draw":
        rng = random_stream(seed, "impute", draw)
        together = complete(engine, parameters, incomplete, rng)
    elif method == "most-probable-row":
        likely = likely_rows(engine, parameters, incomplete, every, progress)
        together, found.inexact[rows] = likely.cells, ~likely.exact
    asked = np.flatnonzero(missing.any(axis=0)).tolist()
    pieces = columns_given_rows(engine, parameters, incomplete, asked, progress)
    for piece, given in pieces:
        at = rows[piece]
        for i in asked:
            own = missing[at, i]
            if not own.any():
                continue
            known = given[i].take(np.flatnonzero(own))
            value = _value(known, method) if together is None else together[piece, i][own]
            value = rounded_values(known_columns[i], value)
            found.cells[at[own], i] = value
            found.impossible[at[own]] = known.impossible
            found.probabilities[at[own], i] = _probabilities(known_columns[i], known, value)
            if not known_columns[i].is_finite:
                found.sds[at[own], i] = np.sqrt(known.usual_moments()[1])
    left = missing & ~(found.probabilities >= threshold)  # also where it is NaN
    found.cells[left] = np.nan
    found.filled[left] = False
    return found


def _value(given: ColumnGivenRows, method: Method) -> Floats:
    """Return the value of a column that a method fills in, in each row."""
    if method == "most-probable" or given.column.is_finite:
        return given.mode()
    means = given.usual_moments()[0]
    lacking = np.isnan(means) & ~given.impossible
    if lacking.any():  # all of the distribution is far from the training values
        means[lacking] = given.take(np.flatnonzero(lacking)).quantile(0.5)
    return means


def _probabilities(column: Column, given: ColumnGivenRows, value: Floats) -> Floats:
    """Return the probability of a value, or of being near a number, in each row."""
    if column.is_finite:
        chances = given.probabilities()
        known = ~np.isnan(value)
        found = np.full(len(value), np.nan)
        found[known] = chances[known, value[known].astype(np.int64)]
        return found
    apart = near(column)
    return given.within(np.nan_to_num(value) - apart, np.nan_to_num(value) + apart)


def near(column: Column) -> float:
    """Return how far from a filled number the true one may be for the number to count as right."""
    scale = column.scale or Scale()
    return max(NEAR * scale.sd, 0.5 * scale.resolution)
