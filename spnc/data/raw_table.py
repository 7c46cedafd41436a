"""A table as it was read, before its columns have kinds, and where each row came from."""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.arrow_arrays import Mask, holes, index_array, stored_numbers, text_array
from spnc.data.columns import Label
from spnc.data.narrow_floats import widened

RawKind = Literal["numbers", "booleans", "texts", "dates", "other"]
_OWN_PAGES = 1 << 20  # bytes of an array from which on it has pages of its own
Stated = Literal["texts", "categories"]


def default_name(column: int) -> str:
    """Return the name of a column without one: x0, x1, …"""
    return f"x{column}"


@dataclass(frozen=True, eq=False)
class RawColumn:
    """The cells of a column as they were read.

    Cells are numbers of any type, booleans as 0 and 1, positions in `texts` (an Arrow array of
    distinct texts), or dates in seconds since 1970. `other` is whatever cannot be modelled, such
    as lists. Missing cells are those of the mask `missing`, and NaN among numbers.

    `stated` is what a typed source, such as a data frame, says of the cells: that they are texts,
    even if they look like numbers, or that they are categories, whose labels have the order
    `order` if the source gives one. `unit` is that of numbers of which the source knows it.
    """

    kind: RawKind
    cells: NDArray[Any]
    missing: Mask | None = None
    texts: Any = None
    stated: Stated | None = None
    order: tuple[Label, ...] = ()
    unit: str = ""

    @property
    def rows(self) -> int:
        """The number of cells."""
        return len(self.cells)

    @property
    def absent(self) -> Mask:
        """Which cells are missing."""
        if self.cells.dtype.kind != "f":
            return np.zeros(self.rows, dtype=np.bool_) if self.missing is None else self.missing
        holes: Mask = np.isnan(self.cells)
        return holes if self.missing is None else holes | self.missing

    @property
    def present(self) -> NDArray[Any]:
        """The cells that are not missing."""
        if self.missing is None and self.cells.dtype.kind != "f":
            return self.cells
        absent = self.absent
        return self.cells[~absent] if absent.any() else self.cells

    @property
    def is_empty(self) -> bool:
        """Whether every cell is missing."""
        some = self.cells[:1]  # which settles it for most columns
        if len(some) and some[0] == some[0] and (self.missing is None or not self.missing[0]):
            return False
        return bool(self.absent.all())

    def doubles(self) -> Floats:
        """Return the cells as doubles, NaN where missing. Not for texts."""
        if self.missing is None:
            return self.cells.astype(np.float64, copy=False)
        found = self.cells.astype(np.float64)
        found[self.missing] = np.nan
        return found

    def positions(self) -> NDArray[np.int32]:
        """Return the positions of texts in the smallest type of Arrow's; 0 where missing."""
        if self.cells.dtype.kind != "f" and self.missing is None:
            return self.cells.astype(np.int32, copy=False)
        return np.where(self.absent, 0, self.cells).astype(np.int32)

    def sliced(self, rows: slice) -> RawColumn:
        """Return some neighbouring cells, with their own texts only."""
        missing = None if self.missing is None else self.missing[rows]
        found = replace(self, cells=self.cells[rows], missing=missing)
        if self.kind != "texts" or self.texts is None:
            return found
        used, cells = np.unique(found.cells[~found.absent], return_inverse=True)
        places = np.zeros(found.rows, dtype=np.int32)
        places[~found.absent] = cells
        return replace(found, cells=places, texts=self.texts.take(pa.array(used, pa.int32())))

    def text_list(self) -> list[str]:
        """Return the distinct texts, in the order of their positions."""
        found: list[str] = [] if self.texts is None else self.texts.to_pylist()
        return found


@dataclass(frozen=True, eq=False)
class FileRows:
    """The rows of a table that come from one of several files, from row `begin` of the table on.

    `lines` are as in a `RawTable`.
    """

    file: str
    begin: int
    lines: Sequence[int] | None


@dataclass(frozen=True, eq=False)
class RawTable:
    """The columns of a table, and where they came from.

    `file` is the name to show, `names` the header if there was one, `lines` the line number of
    each row in a text file (None for other sources), `array` the name of the array in an NPZ file.
    `sound` is False if a problem was reported while reading: such a table is incomplete, and is
    used only to look for further problems. `number_header` is a first line of numbers that was
    read as data but looks like a header. `units` are those that the source itself knows, by name.
    `row_names` is the column of row names, if the file has one without a name above it. `index`
    are columns that pandas keeps as names of rows. `coded` is whether texts are given as codes.
    `delimiter` is what separates cells in a text file. `within` is shown behind the number of a
    row, and says what it counts the rows of. Rows from `counted_rows` on come from anywhere behind
    the others. `files` are those of a table in several files, whose `lines` are there.
    """

    file: str
    columns: list[RawColumn] = field(repr=False)
    names: tuple[str, ...] | None = None
    lines: Sequence[int] | None = None
    array: str | None = None
    sound: bool = True
    number_header: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    row_names: str | None = None
    index: frozenset[str] = frozenset()
    coded: bool = False
    delimiter: str | None = None
    within: str = ""
    counted_rows: int | None = None
    files: tuple[FileRows, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.columns[0].rows if self.columns else 0

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The header, or x0, x1, … where there was none."""
        return self.names or tuple(default_name(i) for i in range(self.width))

    def in_order(self, names: tuple[str, ...]) -> RawTable:
        """Return the columns of these names, in this order."""
        if names == self.names:
            return self
        places = {name: place for place, name in enumerate(self.column_names)}
        return replace(self, columns=[self.columns[places[name]] for name in names], names=names)

    def sliced(self, rows: slice) -> RawTable:
        """Return some neighbouring rows, without the places that they come from."""
        columns = [column.sliced(rows) for column in self.columns]
        return replace(self, columns=columns, lines=None, files=())

    @property
    def is_text(self) -> bool:
        """Whether the table comes from text files, whose lines have numbers."""
        return self.lines is not None or any(own.lines is not None for own in self.files)

    def line_of(self, row: int) -> int | None:
        """Return the line number of a row in a text file; None for other sources."""
        own = self._own(row)
        return own.lines[row - own.begin] if own.lines is not None else None

    def file_of(self, row: int) -> str:
        """Return the name of the file that a row comes from."""
        return self._own(row).file

    def place_of(self, row: int) -> str:
        """Return the file of a row, with its line if that is known."""
        line = self.line_of(row)
        return self.file_of(row) if line is None else f"{self.file_of(row)}:{line}"

    def row_text(self, row: int) -> str:
        """Return the place of a row, to end a message with; empty where a line number is known."""
        if self.line_of(row) is not None:
            return ""
        if self.counted_rows is not None and row >= self.counted_rows:
            return f" after row {self.counted_rows:,}"
        within = f" of array `{self.array}`" if self.array else self.within
        return f" in row {row - self._own(row).begin + 1}{within}"

    def _own(self, row: int) -> FileRows:
        """Return the rows of the file that a row comes from."""
        if not self.files:
            return FileRows(self.file, 0, self.lines)
        return self.files[bisect_right(self.files, row, key=lambda own: own.begin) - 1]


def number_columns(values: NDArray[Any]) -> list[RawColumn]:
    """Return the columns of a matrix of numbers or booleans, `values[row, column]`."""
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    if values.dtype.kind == "b":
        return [RawColumn("booleans", np.ascontiguousarray(v, dtype=np.uint8)) for v in values.T]
    if values.dtype.kind == "f":
        # A float wider than 64 bits may overflow to infinity, which is reported later (E316).
        with np.errstate(over="ignore"):
            if values.dtype.itemsize < 8:
                return [RawColumn("numbers", widened(v)) for v in values.T]
            values = values.astype(np.float64, copy=False)
    return [RawColumn("numbers", smallest(np.ascontiguousarray(v))) for v in values.T]


def text_column(cells: Sequence[str | None]) -> RawColumn:
    """Return the column of these texts; None is a missing cell."""
    coded = pa.array(cells, type=pa.string()).dictionary_encode()
    positions, missing = stored_numbers(coded.indices), holes(coded.indices)
    if missing is not None:
        positions = np.where(missing, np.int32(0), positions)
    return RawColumn("texts", positions, missing, coded.dictionary)


def smallest(cells: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in the smallest type that holds them; other numbers as they are."""
    if cells.dtype.kind not in "iu" or cells.dtype.itemsize == 1 or not len(cells):
        return cells
    low, high = int(cells.min()), int(cells.max())
    kinds = ("u1", "u2", "u4") if low >= 0 else ("i1", "i2", "i4")
    for name in kinds:
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return cells.astype(name)
    return cells


class ColumnParts:
    """A column that is read block by block.

    Numbers without missing cells, which are most of large tables, are collected in one growing
    buffer of its own pages, so that the memory of small arrays need not be kept beside it.
    """

    def __init__(self, expected_rows: int = 0) -> None:
        self._expected = expected_rows
        self._parts: list[RawColumn] = []
        self._buffer: NDArray[Any] | None = None
        self._used = 0

    def append(self, part: RawColumn) -> None:
        """Add the cells of the next block."""
        plain = part.kind == "numbers" and part.missing is None
        if plain and (self._buffer is not None or not self._parts):
            self._collect(part.cells)
            return
        self._flush()
        self._parts.append(part)

    def whole(self) -> RawColumn:
        """Return the column, once."""
        self._flush()
        parts, self._parts = self._parts, []
        return joined(parts)

    def _collect(self, cells: NDArray[Any]) -> None:
        old, end = self._buffer, self._used + len(cells)
        kind = cells.dtype if old is None else _common_type(old.dtype, cells.dtype)
        if old is None or kind != old.dtype or end > len(old):
            size = max(end, self._expected if old is None or end <= len(old) else 2 * len(old))
            self._buffer = _pages(size, kind)
            if old is not None:
                self._buffer[: self._used] = old[: self._used]
        assert self._buffer is not None
        self._buffer[self._used : end] = cells
        self._used = end

    def _flush(self) -> None:
        """Turn the buffer into a part."""
        if self._buffer is not None:
            self._parts.append(RawColumn("numbers", self._buffer[: self._used]))
            self._buffer, self._used = None, 0


def _pages(size: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return an array, of its own pages if it is large; a process may have 65,530 mappings."""
    if size * kind.itemsize < _OWN_PAGES:
        return np.empty(size, dtype=kind)
    pages = mmap.mmap(-1, size * kind.itemsize)
    if hasattr(mmap, "MADV_HUGEPAGE"):  # Linux: fewer page faults
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype=kind, count=size)


def _common_type(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """Return a type for the numbers of both; whole numbers stay whole, whatever their types."""
    if a.kind == "i":
        a, b = b, a
    if a.kind == "u" and b.kind == "i" and a.itemsize < 8:
        return np.dtype(np.int64) if b.itemsize == 8 else np.promote_types(a, b)
    return np.promote_types(a, b)


def joined(parts: Sequence[RawColumn]) -> RawColumn:
    """Return one column with the cells of several, which are of one kind or without values."""
    if len(parts) == 1:
        return parts[0]
    filled = [p.kind for p in parts if not (p.kind == "numbers" and p.is_empty)]
    kind: RawKind = filled[0] if filled else "numbers"
    texts, cells = None, [p.cells for p in parts]
    if kind == "texts":
        chunks = [
            pa.DictionaryArray.from_arrays(
                index_array(p.positions()),
                p.texts if p.texts is not None and len(p.texts) else text_array([""]),
            )
            for p in parts
        ]
        whole = pa.chunked_array(chunks).unify_dictionaries()
        texts = whole.chunk(0).dictionary if whole.num_chunks else text_array([])
        cells = [stored_numbers(chunk.indices) for chunk in whole.chunks]
    missing = None
    if any(p.missing is not None for p in parts):
        masks = (p.missing if p.missing is not None else np.zeros(p.rows, np.bool_) for p in parts)
        missing = np.concatenate(list(masks))
    return RawColumn(kind, _concatenated(cells), missing, texts)


def _concatenated(cells: list[NDArray[Any]]) -> NDArray[Any]:
    kind = cells[0].dtype
    for other in cells[1:]:
        kind = _common_type(kind, other.dtype)
    return np.concatenate([c.astype(kind, copy=False) for c in cells])
