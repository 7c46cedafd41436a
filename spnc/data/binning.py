"""Numbers as ranges: a table in which every column has finitely many states.

Structure is found from counts of pairs of states. For that, the numbers of a column are divided
into ranges that hold about the same weight; equal numbers are never separated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    most = _most_ranges(table)
    found: list[Column] = []
    cells: list[Cells] = []
    for i, column in enumerate(columns):
        if column.is_finite:
            found.append(column)
            cells.append(table.stored(i))
            continue
        values = table.column(i)
        codes = ranges(values, table.weights, most)
        found.append(_of_ranges(column, int(np.nanmax(codes, initial=0.0)) + 1))
        cells.append(packed(codes, found[-1].states))
    return tuple(found), Table.of_columns(cells, table.weights)


@dataclass(frozen=True, eq=False)
class Binning:
    """The ranges of the numbers of one table, for the rows of others."""

    columns: tuple[Column, ...]  # with finitely many states
    starts: tuple[Floats | None, ...]  # where ranges begin, but the first; None: states already

    @staticmethod
    def of(columns: Sequence[Column], table: Table) -> Binning:
        """Return the ranges that `binned` divides the numbers of a table into."""
        most = _most_ranges(table)
        found: list[Column] = []
        starts: list[Floats | None] = []
        for i, column in enumerate(columns):
            if column.is_finite:
                found.append(column)
                starts.append(None)
                continue
            values = table.column(i)
            codes = ranges(values, table.weights, most)
            count = int(np.nanmax(codes, initial=0.0)) + 1
            found.append(_of_ranges(column, count))
            starts.append(np.array([values[codes == code].min() for code in range(1, count)]))
        return Binning(tuple(found), tuple(starts))

    def apply(self, table: Table) -> Table:
        """Return a table with the ranges of its numbers as states."""
        if all(start is None for start in self.starts):
            return table
        cells: list[Cells] = []
        for i, (column, start) in enumerate(zip(self.columns, self.starts, strict=True)):
            if start is None:
                cells.append(table.stored(i))
                continue
            values = table.column(i)
            codes = np.searchsorted(start, values, side="right").astype(np.float64)
            cells.append(packed(np.where(np.isnan(values), np.nan, codes), column.states))
        return Table.of_columns(cells, table.weights)


def _most_ranges(table: Table) -> int:
    """Return how many ranges the numbers of a column are divided into at most."""
    return int(np.clip(table.weights.sum() / ROWS_PER_RANGE, 2, RANGES))


def _of_ranges(column: Column, count: int) -> Column:
    """Return the column that says which of this many ranges a number is in."""
    states = max(2, count)
    return Column(column.name, "binary" if states == 2 else "categorical", states)


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
