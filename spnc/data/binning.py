"""Numbers as ranges: a table in which every column has finitely many states.

Structure is found from counts of pairs of states. For that, the numbers of a column are divided
into ranges that hold about the same weight; equal numbers are never separated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Cells, Table, packed

RANGES = 8  # of a column with many different numbers; fewer where a table has few rows
ROWS_PER_RANGE = 20  # at least, so that counts of pairs mean something


def binned(columns: Sequence[Column], table: Table) -> tuple[tuple[Column, ...], Table]:
    """Return columns with finitely many states and the table over them.

    Columns that have states already are left alone, and so is a table without any other column.
    """
    if all(column.is_finite for column in columns):
        return tuple(columns), table
    most = int(np.clip(table.weights.sum() / ROWS_PER_RANGE, 2, RANGES))
    found: list[Column] = []
    cells: list[Cells] = []
    for i, column in enumerate(columns):
        if column.is_finite:
            found.append(column)
            cells.append(table.stored(i))
            continue
        values = table.column(i)
        codes = ranges(values, table.weights, most)
        states = max(2, int(np.nanmax(codes, initial=0.0)) + 1)
        found.append(Column(column.name, "binary" if states == 2 else "categorical", states))
        cells.append(packed(codes, states))
    return tuple(found), Table.of_columns(cells, table.weights)


def ranges(values: Floats, weights: Floats, most: int) -> Floats:
    """Return the number of the range of every value; NaN where it is missing."""
    known = ~np.isnan(values)
    distinct, inverse = np.unique(values[known], return_inverse=True)
    found = np.full(len(values), np.nan)
    if len(distinct) <= most:
        found[known] = inverse
        return found
    held = np.bincount(inverse, weights=weights[known], minlength=len(distinct))
    middle = np.cumsum(held) - held / 2.0
    share = np.floor(middle / max(held.sum(), 1e-300) * most).clip(0, most - 1)
    number = np.unique(share, return_inverse=True)[1]  # a range that no value falls into is none
    found[known] = number[inverse]
    return found
