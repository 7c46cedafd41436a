"""What the columns of a file are whose rows do not fit into memory: found from a *digest table*.

The digest table has the first rows of the file, and below them whatever new is met later: of a
column with few values each further value once, of other numbers the extremes and one that is not
whole. The usual rules then judge the digest table, as if it were the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.data.arrow_arrays import text_array
from spnc.data.raw_table import RawColumn, RawTable, joined

FEW_VALUES = 4096  # up to which every further value of a column is kept
_MOST_SPREAD = 1 << 20  # of whole numbers whose presence is looked up in a table


class MixedColumnsError(Exception):
    """Some columns hold numbers in some pieces and texts in others: `names`."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(", ".join(sorted(names)))
        self.names = names


@dataclass(frozen=True, eq=False)
class Scanned:
    """The digest table of a file, and its number of rows."""

    table: RawTable
    rows: int


def scan(pieces: Iterable[RawTable], file: str, first_rows: int) -> Scanned:
    """Return the digest table of a file that is read in pieces, with this many first rows.

    Raises `MixedColumnsError` if columns have to be read again as texts.
    """
    first: list[RawTable] = []
    later: list[_Novelties] = []
    rows = 0
    for piece in pieces:
        if rows < first_rows:
            first.append(piece)
        else:
            if not later:
                whole = [joined(parts) for parts in _columns(first)]
                first = [replace(first[0], columns=whole)]
                later = [_Novelties.after(column) for column in whole]
            names = first[0].column_names
            for name, column, novelties in zip(names, piece.columns, later, strict=True):
                if not novelties.look_at(column):
                    raise MixedColumnsError(frozenset({name}))
        rows += piece.rows
    if not later:
        whole = [joined(parts) for parts in _columns(first)]
    found = [n.column() for n in later]
    longest = max((len(column.cells) for column in found), default=0)
    columns = [
        joined([column, _padded(new, longest)]) if longest else column
        for column, new in zip(whole, found or whole, strict=True)
    ]
    table = replace(first[0], file=file, columns=columns, lines=None)
    return Scanned(table, rows)


def _columns(tables: Sequence[RawTable]) -> list[list[RawColumn]]:
    """Return the parts of each column. Raises `MixedColumnsError`."""
    columns = [list(parts) for parts in zip(*(t.columns for t in tables), strict=True)]
    mixed = set()
    for name, parts in zip(tables[0].column_names, columns, strict=True):
        if len({p.kind for p in parts if not p.is_empty}) > 1:
            mixed.add(name)
    if mixed:
        raise MixedColumnsError(frozenset(mixed))
    return columns


class _Novelties:
    """Values of a column that its first rows do not have."""

    def __init__(self, first: RawColumn) -> None:
        self.first = first
        self._new: list[Any] = []
        present = first.present
        self._is_sequence = _is_sequence(first)
        self._next = present[-1] + 1 if self._is_sequence else None
        if first.kind == "texts":
            self._known: set[Any] = set(first.text_list())
        else:
            self._known = set(np.unique(present).tolist()[: FEW_VALUES + 1])
        self._is_whole = _are_whole(present)
        self._low: Any = None  # the least and the greatest number so far
        self._high: Any = None
        if first.kind != "texts":
            self._low, self._high = _range(present)

    @staticmethod
    def after(first: RawColumn) -> _Novelties:
        """Return what is new after these first rows: nothing yet."""
        return _Novelties(first)

    def look_at(self, column: RawColumn) -> bool:
        """Add what is new in further rows. Return False if they are of another kind."""
        if column.is_empty:
            return True
        if column.kind != self.first.kind and not self.first.is_empty:
            return False
        if self.first.is_empty:
            self.first = replace(column, cells=column.cells[:0], missing=None)
        if column.kind == "texts":
            self._add(column.text_list())
            return True
        present = column.present
        if self._is_sequence:
            self._is_sequence = _is_sequence(column) and present[0] == self._next
            if self._is_sequence:
                self._next = present[-1] + 1
                return True
        self._add_numbers(present)
        return True

    def _add(self, values: Sequence[Any]) -> None:
        if len(self._known) <= FEW_VALUES:
            new = [value for value in values if value not in self._known]
            self._new += new
            self._known |= set(new)

    def _add_numbers(self, present: NDArray[Any]) -> None:
        if len(self._known) <= FEW_VALUES:
            self._add(_values(present))
            return
        low, high = _range(present)
        if self._low is None or low < self._low:
            self._low = low
            self._new.append(low)
        if self._high is None or high > self._high:
            self._high = high
            self._new.append(high)
        if self._is_whole and not _are_whole(present):
            self._is_whole = False
            self._new.append(float(present[present != np.floor(present)][0]))

    def column(self) -> RawColumn:
        """Return a cell for each value that is new."""
        if self.first.kind == "texts":
            places = np.arange(len(self._new), dtype=np.int32)
            return replace(
                self.first, cells=places, missing=None, texts=text_array(list(self._new))
            )
        return replace(self.first, cells=np.array(self._new, _type_for(self._new)), missing=None)


def _values(present: NDArray[Any]) -> list[Any]:
    """Return the distinct numbers."""
    if present.dtype.kind in "iu":
        low, high = int(present.min()), int(present.max())
        if high - low < _MOST_SPREAD:
            seen = np.zeros(high - low + 1, dtype=np.bool_)
            seen[present.astype(np.int64) - low] = True
            return [low + int(place) for place in np.flatnonzero(seen)]
    found: list[Any] = np.unique(present).tolist()
    return found


def _range(present: NDArray[Any]) -> tuple[Any, Any]:
    return (present.min().item(), present.max().item()) if len(present) else (None, None)


def _are_whole(present: NDArray[Any]) -> bool:
    return present.dtype.kind != "f" or bool((present == np.floor(present)).all())


def _is_sequence(column: RawColumn) -> bool:
    """Whether whole numbers go up by one from row to row, as those do that number rows."""
    if column.kind != "numbers" or column.cells.dtype.kind not in "iu" or not column.rows:
        return False
    return column.missing is None and bool((np.diff(column.cells.astype(np.int64)) == 1).all())


def _type_for(values: Sequence[Any]) -> Any:
    return np.int64 if all(isinstance(value, int) for value in values) else np.float64


def _padded(column: RawColumn, rows: int) -> RawColumn:
    """Return a column with missing cells behind its own, to have this many rows."""
    more = rows - column.rows
    missing = np.concatenate([column.absent, np.ones(more, dtype=np.bool_)])
    cells = np.concatenate([column.cells, np.zeros(more, dtype=column.cells.dtype)])
    return replace(column, cells=cells, missing=missing)
