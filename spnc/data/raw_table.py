"""A table as it was read, before its columns have kinds: numbers, and where each row came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.data.columns import Column
from spnc.data.dataset import Table, packed


def default_name(column: int) -> str:
    """Return the name of a column without one: x0, x1, …"""
    return f"x{column}"


@dataclass(frozen=True, eq=False)
class RawTable:
    """The numbers of a table, `values[row, column]`, NaN where missing, and where they came from.

    `file` is the name to show, `names` the header if there was one, `lines` the line number of
    each row in a text file (None for arrays), `array` the name of the array in an NPZ file.
    `sound` is False if a problem was reported while reading: such a table is incomplete, and is
    used only to look for further problems.
    """

    file: str
    values: NDArray[np.float64]
    names: tuple[str, ...] | None = None
    lines: Sequence[int] | None = None
    array: str | None = None
    sound: bool = True

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.values)

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    @property
    def column_names(self) -> tuple[str, ...]:
        """The header, or x0, x1, … where there was none."""
        return self.names or tuple(default_name(i) for i in range(self.width))

    def line_of(self, row: int) -> int | None:
        """Return the line number of a row in a text file; None for an array."""
        return self.lines[row] if self.lines is not None else None

    def row_text(self, row: int) -> str:
        """Return the place of a row, to end a message with; empty where a line number is known."""
        if self.lines is not None:
            return ""
        return f" in row {row + 1}" + (f" of array `{self.array}`" if self.array else "")


def as_table(raw: RawTable, columns: Sequence[Column]) -> Table:
    """Return the rows, packed; their values must fit the columns."""
    cells = (packed(raw.values[:, i], column.states) for i, column in enumerate(columns))
    return Table.of_columns(list(cells))
