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
Run = tuple[int, int]  # the first and the last of numbers that go up by one
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
    later: list[Novelties] = []
    mixed: set[str] = set()
    rows = 0
    for piece in pieces:
        room = max(0, first_rows - rows)  # where pieces end makes no difference
        rows += piece.rows
        if room >= piece.rows:
            first.append(piece)
            continue
        if room:
            first.append(piece.sliced(slice(0, room)))
            piece = piece.sliced(slice(room, None))
        if not later:
            whole = together(first)
            first = [replace(first[0], columns=whole)]
            later = [Novelties(column) for column in whole]
        names = first[0].column_names
        for name, column, novelties in zip(names, piece.columns, later, strict=True):
            if not novelties.look_at(column):
                mixed.add(name)
    if mixed:
        raise MixedColumnsError(frozenset(mixed))
    if not later:
        whole = together(first)
    return Scanned(digest_table(replace(first[0], file=file, columns=whole), later), rows)


def digest_table(first: RawTable, later: Sequence[Novelties]) -> RawTable:
    """Return the first rows of a table with what is new in later ones below them."""
    found = [novelties.column() for novelties in later]
    longest = max((len(column.cells) for column in found), default=0)
    columns = first.columns
    if longest:
        pairs = zip(first.columns, found, strict=True)
        columns = [_as_stated([column, _padded(new, longest)]) for column, new in pairs]
    return replace(first, columns=columns, lines=None)


def judged(table: RawTable, weight: str | None) -> RawTable:
    """Return the table by which columns are judged; weights are looked at when all are read."""
    if weight not in table.column_names:
        return table
    place = table.column_names.index(weight)
    columns = list(table.columns)
    columns[place] = RawColumn("numbers", np.ones(table.rows))
    return replace(table, columns=columns)


def together(tables: Sequence[RawTable]) -> list[RawColumn]:
    """Return the columns of several tables below one another. Raises `MixedColumnsError`."""
    return [_as_stated(parts) for parts in _columns(tables)]


def _as_stated(parts: Sequence[RawColumn]) -> RawColumn:
    """Return the cells of several columns as one, of which is stated what is stated of them."""
    filled = [p for p in parts if not p.is_empty] or parts
    like = filled[0]
    parts = [p if p.kind == like.kind else _nothing(p.rows) for p in parts]
    # Categories that only later parts have come last.
    order = tuple(dict.fromkeys(label for p in filled for label in p.order))
    return replace(joined(parts), stated=like.stated, order=order, unit=like.unit)


def _nothing(rows: int) -> RawColumn:
    """Return missing cells, which may be of any kind."""
    return RawColumn("numbers", np.zeros(rows, dtype=np.uint8), np.ones(rows, dtype=np.bool_))


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


@dataclass(frozen=True)
class Known:
    """What a process has to know of a column in order to tell what is new in further rows.

    `values` is None if there are many, of which only extremes matter.
    """

    values: frozenset[Any] | None
    may_number: bool  # whether the cells so far go up by one from row to row


class Novelties:
    """Values of a column that its first rows do not have."""

    def __init__(self, first: RawColumn) -> None:
        self.like = replace(first, cells=first.cells[:0], missing=None)
        self._has_values = not first.is_empty
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

    @property
    def known(self) -> Known:
        """What is to be known for `reduced`."""
        values = frozenset(self._known) if len(self._known) <= FEW_VALUES else None
        return Known(values, self._is_sequence)

    def look_at(self, column: RawColumn) -> bool:
        """Add what is new in further rows. Return False if they are of another kind."""
        return self.add(column, run_of(column) if self._is_sequence else None)

    def add(self, column: RawColumn, run: Run | None) -> bool:
        """Add what is new in a column that may be `reduced`; `run` is that of the whole column."""
        if column.is_empty:
            return True
        if not self._has_values:
            self.like = replace(column, cells=column.cells[:0], missing=None)
            self._has_values = True
        elif column.kind != self.like.kind:
            return False
        order = tuple(dict.fromkeys((*self.like.order, *column.order)))
        self.like = replace(self.like, order=order)
        if column.kind == "texts":
            self._add(column.text_list())
            return True
        if self._is_sequence:
            self._is_sequence = run is not None and run[0] == self._next
            if self._is_sequence:
                assert run is not None
                self._next = run[1] + 1
                return True
        self._add_numbers(column.present)
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
        return _column_of(self._new, self.like)


def reduced(column: RawColumn, known: Known) -> RawColumn:
    """Return cells that have whatever is new in a column, which are few."""
    like = replace(column, cells=column.cells[:0], missing=None)
    if column.is_empty:
        return like
    if column.kind == "texts":
        texts = column.text_list()
        found = texts if known.values is None else [t for t in texts if t not in known.values]
        enough = FEW_VALUES + 1 if known.values is not None else 1
        return _column_of(found[:enough] or texts[:1], like)  # one at least, to show the kind
    present = column.present
    ends = list(_range(present))
    if not _are_whole(present):
        ends.append(float(present[present != np.floor(present)][0]))
    if known.values is None:
        return _column_of(ends, like)
    values = _values(present)
    new = [value for value in values if value not in known.values] or values[:1]
    if len(new) > FEW_VALUES:
        new = sorted({*new[: FEW_VALUES + 1], *ends})
    return _column_of(new, like)


def _column_of(values: list[Any], like: RawColumn) -> RawColumn:
    if like.kind == "texts":
        places = np.arange(len(values), dtype=np.int32)
        return replace(like, cells=places, missing=None, texts=text_array(values))
    return replace(like, cells=np.array(values, _type_for(values)), missing=None)


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


def run_of(column: RawColumn) -> Run | None:
    """Return the first and the last number of a column that goes up by one; else None."""
    if not _is_sequence(column):
        return None
    return int(column.cells[0]), int(column.cells[-1])


def _type_for(values: Sequence[Any]) -> Any:
    if not all(isinstance(value, int) for value in values):
        return np.float64
    if max(values, default=0) < 2**63:
        return np.int64
    return np.uint64 if min(values) >= 0 else np.float64


def _padded(column: RawColumn, rows: int) -> RawColumn:
    """Return a column with missing cells behind its own, to have this many rows."""
    more = rows - column.rows
    missing = np.concatenate([column.absent, np.ones(more, dtype=np.bool_)])
    cells = np.concatenate([column.cells, np.zeros(more, dtype=column.cells.dtype)])
    return replace(column, cells=cells, missing=missing)
