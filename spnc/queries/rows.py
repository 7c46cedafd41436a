"""`Rows`: rows of a table, as numbers and in the table's own words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spnc.common.aligned_table import table
from spnc.common.arrays import Floats
from spnc.common.views import rows_html
from spnc.common.wording import clipped, width
from spnc.data.cells import as_column, cell_texts, cell_value, exact_text, heading
from spnc.data.columns import Column
from spnc.diagnostics import counted

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

ROWS_SHOWN = 20
COLUMNS_SHOWN = 12  # in HTML
LINE_WIDTH = 100  # terminal columns of a printed row
CELL_WIDTH = 24  # terminal columns of a cell; longer ones end in `…`


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Rows over the columns of a model. Printed, they are a table of labels, dates and numbers.

    `values[row, column]`, which `numpy.asarray` gives as well, is the array that
    `Model.log_likelihood` takes: numbers of the table, codes where labels are texts (see
    `Column.array_labels`), NaN where missing. `cells` are the same rows as the circuit has them,
    with codes for all states.
    """

    columns: tuple[Column, ...]
    cells: Floats

    @property
    def values(self) -> Floats:
        """The array that queries take, `[row, column]`."""
        return np.asarray(self)

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dict of its cells by column name."""
        for row in self.cells.tolist():
            cells = zip(self.columns, row, strict=True)
            yield {column.name: cell_value(column, value) for column, value in cells}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        numbers = {i: c.array_labels for i, c in enumerate(self.columns)}
        named = {i: labels for i, labels in numbers.items() if labels is not None}
        if not named:
            return np.array(self.cells, dtype=dtype, copy=copy)
        values = self.cells.copy()
        for i, labels in named.items():
            known = ~np.isnan(values[:, i])
            values[known, i] = np.array(labels, np.float64)[values[known, i].astype(np.intp)]
        return values if dtype is None else values.astype(dtype)

    def __repr__(self) -> str:
        head, rows = self._texts()
        wide = _fitting(head, rows)
        left = [i for i, c in enumerate(self.columns) if c.labels is not None or c.kind == "date"]
        lines = [table(head[:wide], [row[:wide] for row in rows], left)] if head else []
        return "\n".join([*lines, self._size(len(rows), wide)])

    def _repr_html_(self) -> str:
        """Return the first rows as an HTML table for Jupyter."""
        head, rows = self._texts()
        some = slice(COLUMNS_SHOWN)
        size = self._size(len(rows), len(head[some]))
        return rows_html(head[some], [row[some] for row in rows], size)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the cells by column: labels, dates, numbers rounded to the column's resolution."""
        return {
            column.name: [cell_value(column, value) for value in self.cells[:, i].tolist()]
            for i, column in enumerate(self.columns)
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame of labels, dates and numbers; pandas must be installed."""
        import pandas as pd

        return pd.DataFrame(self._arrays()).infer_objects()

    def to_polars(self) -> pl.DataFrame:
        """Return a polars data frame of labels, dates and numbers; polars must be installed."""
        import polars as pl

        return pl.DataFrame(
            {
                name: cells.tolist() if cells.dtype == object else cells
                for name, cells in self._arrays().items()
            },
            strict=False,
        )

    def lines(self) -> Iterator[list[str]]:
        """Yield the column names, then each row, as the cells of a text file."""
        yield [column.name for column in self.columns]
        for row in self.cells.tolist():
            yield [exact_text(c, value) for c, value in zip(self.columns, row, strict=True)]

    def _arrays(self) -> dict[str, Any]:
        return {c.name: as_column(c, self.cells[:, i]) for i, c in enumerate(self.columns)}

    def _texts(self) -> tuple[list[str], list[list[str]]]:
        """Return the heads of all columns and the cells of the first rows, for people."""
        head = [clipped(heading(c), CELL_WIDTH) for c in self.columns]
        rows = [
            [clipped(text, CELL_WIDTH) for text in cell_texts(self.columns, row)]
            for row in self.cells[:ROWS_SHOWN].tolist()
        ]
        return head, rows

    def _size(self, rows: int, columns: int) -> str:
        """Return the number of rows and columns, and how many of them are shown if not all are."""
        found = f"{counted(len(self), 'row')}, {counted(len(self.columns), 'column')}"
        few = [counted(rows, "row")] if rows < len(self) else []
        few += [counted(columns, "column")] if columns < len(self.columns) else []
        return f"{found}; shown: the first {' and '.join(few)}" if few else found


def _fitting(head: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return how many columns fit into a line; at least one."""
    room = LINE_WIDTH
    for i, name in enumerate(head):
        room -= 2 + max(width(text) for text in (name, *(row[i] for row in rows)))
        if room < 0 and i > 0:
            return i
    return len(head)
