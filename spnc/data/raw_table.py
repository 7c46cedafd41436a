"""A table as it was read, before its columns have kinds, and where each row came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spnc.common.arrays import Floats

RawKind = Literal["numbers", "booleans", "texts", "dates", "other"]
Mask = NDArray[np.bool_]


def default_name(column: int) -> str:
    """Return the name of a column without one: x0, x1, …"""
    return f"x{column}"


@dataclass(frozen=True, eq=False)
class RawColumn:
    """The cells of a column as they were read.

    Cells are numbers of any type, booleans as 0 and 1, positions in `texts` (an Arrow array of
    distinct texts), or dates in seconds since 1970. `other` is whatever cannot be modelled, such
    as lists. Missing cells are those of the mask `missing`, and NaN among numbers.
    """

    kind: RawKind
    cells: NDArray[Any]
    missing: Mask | None = None
    texts: Any = None

    @property
    def rows(self) -> int:
        """The number of cells."""
        return len(self.cells)

    @property
    def absent(self) -> Mask:
        """Which cells are missing."""
        if self.cells.dtype.kind != "f":
            return np.zeros(self.rows, dtype=np.bool_) if self.missing is None else self.missing
        holes = np.isnan(self.cells)
        return holes if self.missing is None else holes | self.missing

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

    def text_list(self) -> list[str]:
        """Return the distinct texts, in the order of their positions."""
        found: list[str] = [] if self.texts is None else self.texts.to_pylist()
        return found


@dataclass(frozen=True, eq=False)
class RawTable:
    """The columns of a table, and where they came from.

    `file` is the name to show, `names` the header if there was one, `lines` the line number of
    each row in a text file (None for other sources), `array` the name of the array in an NPZ file.
    `sound` is False if a problem was reported while reading: such a table is incomplete, and is
    used only to look for further problems. `number_header` is a first line of numbers that was
    read as data but looks like a header.
    """

    file: str
    columns: list[RawColumn] = field(repr=False)
    names: tuple[str, ...] | None = None
    lines: Sequence[int] | None = None
    array: str | None = None
    sound: bool = True
    number_header: str | None = None

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

    def line_of(self, row: int) -> int | None:
        """Return the line number of a row in a text file; None for other sources."""
        return self.lines[row] if self.lines is not None else None

    def row_text(self, row: int) -> str:
        """Return the place of a row, to end a message with; empty where a line number is known."""
        if self.lines is not None:
            return ""
        return f" in row {row + 1}" + (f" of array `{self.array}`" if self.array else "")


def number_columns(values: NDArray[Any]) -> list[RawColumn]:
    """Return the columns of a matrix of numbers or booleans, `values[row, column]`."""
    if values.dtype.kind == "b":
        return [RawColumn("booleans", np.ascontiguousarray(v, dtype=np.uint8)) for v in values.T]
    if values.dtype.kind == "f":
        # A float wider than 64 bits may overflow to infinity, which is reported later (E316).
        with np.errstate(over="ignore"):
            values = values.astype(np.float64, copy=False)
    return [RawColumn("numbers", smallest(np.ascontiguousarray(v))) for v in values.T]


def text_column(cells: Sequence[str | None]) -> RawColumn:
    """Return the column of these texts; None is a missing cell."""
    coded = pa.array(cells, type=pa.string()).dictionary_encode()
    absent = coded.indices.is_null().to_numpy(zero_copy_only=False)
    positions = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return RawColumn("texts", positions, absent if absent.any() else None, coded.dictionary)


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


def joined(parts: Sequence[RawColumn]) -> RawColumn:
    """Return one column with the cells of several, which are of one kind or without values."""
    if len(parts) == 1:
        return parts[0]
    kind = next((p.kind for p in parts if not (p.kind == "numbers" and p.is_empty)), "numbers")
    texts, cells = None, [p.cells for p in parts]
    if kind == "texts":
        none = pa.array([], type=pa.string())
        chunks = [
            pa.DictionaryArray.from_arrays(
                np.where(p.absent, 0, p.cells).astype(np.int32),
                p.texts if p.texts is not None and len(p.texts) else pa.array([""]),
            )
            for p in parts
        ]
        whole = pa.chunked_array(chunks).unify_dictionaries()
        texts = whole.chunk(0).dictionary if whole.num_chunks else none
        cells = [chunk.indices.to_numpy() for chunk in whole.chunks]
    missing = None
    if any(p.missing is not None for p in parts):
        masks = (p.missing if p.missing is not None else np.zeros(p.rows, np.bool_) for p in parts)
        missing = np.concatenate(list(masks))
    return RawColumn(kind, _concatenated(cells), missing, texts)


def _concatenated(cells: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the cells in one array; whole numbers stay whole, whatever their types."""
    kinds = {c.dtype.kind for c in cells}
    if kinds == {"u", "i"}:
        cells = [c.astype(np.int64) if c.dtype.itemsize == 8 else c for c in cells]
    return np.concatenate(cells)
