"""A table in memory: rows of cells, stored by column, and a weight per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.common.threads import in_threads
from spnc.data.distinct import distinct_rows, ranked, row_hashes

_LARGE = 1 << 18  # rows from which a column of doubles is a block of its own, to save a copy
_MOST_BLOCKS = 64  # of one column each: every block takes some time of its own
PIECE_CELLS = 1 << 21  # 16 MiB of doubles: work on a piece needs little memory
RUN, RUN_PERIOD = 16, 128  # rows that are compared to see whether a table has many equal ones

Cells = NDArray[Any]


def code_type(states: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest type with room for this number of codes and for a missing cell."""
    return next(t for t in (np.uint8, np.uint16, np.uint32) if states <= np.iinfo(t).max)


def packed(values: Floats, states: int) -> Cells:
    """Return a column's codes, NaN where missing, in the smallest type that has room for them."""
    kind = code_type(states)
    missing = np.isnan(values)
    if missing.any():
        values = np.where(missing, np.iinfo(kind).max, values)
    return values.astype(kind)


class Block(NamedTuple):
    """The columns of a table that are stored in the same type, `cells[place, row]`."""

    columns: NDArray[np.intp]  # the column at each place
    cells: Cells

    @property
    def missing_code(self) -> int | None:
        """The code that stands for a missing cell; None for numbers, where it is NaN."""
        return None if self.cells.dtype.kind == "f" else int(np.iinfo(self.cells.dtype).max)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing, `[place, row]`."""
        return _missing(self.cells, self.missing_code)

    def has(self, places: NDArray[np.intp], states: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which rows have each of these states at these places; a missing cell has none."""
        found: NDArray[np.bool_] = self.cells[places] == states[:, None]
        found[states == self.missing_code] = False
        return found


class Table:
    """Rows of cells, and a weight per row.

    A block holds columns of the same type: doubles, in which NaN is a missing cell, or unsigned
    integers, in which the largest that fits is a missing cell. `values` shows all cells as doubles,
    `values[row, column]`; it is a copy unless the table was made from such a matrix, and large
    tables should rather be read by `column`, `at` or in `pieces`.
    """

    __slots__ = ("__weakref__", "_place", "blocks", "weights")

    def __init__(self, values: Floats, weights: Floats | None = None) -> None:
        self._set((Block(np.arange(values.shape[1]), values.T),), weights)

    @classmethod
    def of_columns(cls, columns: Sequence[Cells], weights: Floats | None = None) -> Table:
        """Return the table with these columns, each of doubles or of unsigned integers."""
        kinds = list(dict.fromkeys(cells.dtype for cells in columns))
        blocks = []
        for kind in kinds:
            own = [i for i, cells in enumerate(columns) if cells.dtype == kind]
            blocks.append(Block(np.array(own, dtype=np.intp), np.stack([columns[i] for i in own])))
        return cls.of_blocks(blocks, weights)

    @classmethod
    def of_parts(
        cls,
        columns: list[Cells],
        weights: Floats | None,
        parts: Sequence[NDArray[np.int64] | slice],
    ) -> list[Table]:
        """Return the tables with some rows of these columns each, and empty the list of columns.

        A column's memory is freed once it has been copied, so that there are never two copies of
        the whole. A large table of all rows takes the columns of doubles themselves.
        """
        rows = len(columns[0])
        doubles = [i for i, cells in enumerate(columns) if cells.dtype.kind == "f"]
        every_row = len(parts) == 1 and isinstance(parts[0], slice) and parts[0] == slice(None)
        if not every_row or rows < _LARGE or len(doubles) > _MOST_BLOCKS:
            doubles = []
        taken = [Block(np.array([i]), columns[i][None]) for i in doubles]
        others = [i for i in range(len(columns)) if i not in doubles]
        kinds = list(dict.fromkeys(columns[i].dtype for i in others))
        own = [[i for i in others if columns[i].dtype == kind] for kind in kinds]
        sizes = [len(range(*p.indices(rows))) if isinstance(p, slice) else len(p) for p in parts]
        stores = [
            [np.empty((len(o), size), kind) for o, kind in zip(own, kinds, strict=True)]
            for size in sizes
        ]

        def copy(target: tuple[int, int, int]) -> None:
            number, place, i = target
            cells, columns[i] = columns[i], np.empty(0, columns[i].dtype)
            for store, part in zip(stores, parts, strict=True):
                if isinstance(part, slice):
                    store[number][place] = cells[part]
                else:  # with the mode "raise", numpy would make a copy
                    np.take(cells, part, out=store[number][place], mode="clip")

        targets = [(n, place, i) for n, o in enumerate(own) for place, i in enumerate(o)]
        if rows * len(columns) < PIECE_CELLS:
            for target in targets:
                copy(target)
        else:
            in_threads(copy, targets)
        columns.clear()
        found = []
        for store, part in zip(stores, parts, strict=True):
            blocks = [Block(np.array(o, np.intp), c) for o, c in zip(own, store, strict=True)]
            found.append(cls.of_blocks(taken + blocks, None if weights is None else weights[part]))
        return found

    @classmethod
    def of_blocks(cls, blocks: Sequence[Block], weights: Floats | None = None) -> Table:
        """Return the table of these blocks, which together have every column once."""
        table = cls.__new__(cls)
        table._set(tuple(blocks), weights)
        return table

    def _set(self, blocks: tuple[Block, ...], weights: Floats | None) -> None:
        self.blocks = blocks
        # Ones that share one place in memory: ten million of their own would take 80 MB.
        self.weights = np.broadcast_to(1.0, self.rows) if weights is None else weights
        self._place = np.empty((2, self.width), dtype=np.intp)  # by column: block, place in it
        for number, block in enumerate(blocks):
            self._place[0, block.columns] = number
            self._place[1, block.columns] = np.arange(len(block.columns))

    def __reduce__(self) -> tuple[Any, ...]:
        # Weights that share one place in memory do so in a copy, or sums of them would round
        # differently there.
        weights = None if self.weights.strides == (0,) else self.weights
        return Table.of_blocks, (self.blocks, weights)

    @property
    def rows(self) -> int:
        """The number of rows stored."""
        return int(self.blocks[0].cells.shape[1])

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(len(block.columns) for block in self.blocks)

    @property
    def total(self) -> float:
        """The total weight of the rows."""
        return float(self.weights.sum())

    @property
    def values(self) -> Floats:
        """All cells as doubles, `[row, column]`, NaN where missing."""
        if len(self.blocks) == 1 and self.blocks[0].missing_code is None:
            whole: Floats = self.blocks[0].cells.T
            return whole
        found = np.empty((self.rows, self.width))
        for block in self.blocks:
            found[:, block.columns] = _doubles(block.cells, block.missing_code).T
        return found

    def column(self, column: int) -> Floats:
        """Return the cells of a column as doubles, NaN where missing."""
        block = self.blocks[self._place[0, column]]
        return _doubles(block.cells[self._place[1, column]], block.missing_code)

    def stored(self, column: int) -> Cells:
        """Return the cells of a column as they are stored."""
        found: Cells = self.blocks[self._place[0, column]].cells[self._place[1, column]]
        return found

    def has(self, columns: NDArray[np.intp], states: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which rows have each of these states of these columns, `[state, row]`."""
        if len(self.blocks) == 1:
            (block,) = self.blocks
            return np.ascontiguousarray(block.has(self._place[1, columns], states))
        found = np.empty((len(columns), self.rows), dtype=np.bool_)
        for number, block in enumerate(self.blocks):
            own = self._place[0, columns] == number
            found[own] = block.has(self._place[1, columns[own]], states[own])
        return found

    def at(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        """Return the cells at these rows and columns, which are broadcast, as doubles."""
        if len(self.blocks) == 1:
            (block,) = self.blocks
            return _doubles(block.cells[self._place[1, columns], rows], block.missing_code)
        rows, columns = np.broadcast_arrays(rows, columns)
        found = np.empty(rows.shape)
        for number, block in enumerate(self.blocks):
            own = self._place[0, columns] == number
            cells = block.cells[self._place[1, columns[own]], rows[own]]
            found[own] = _doubles(cells, block.missing_code)
        return found

    def cut(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Table:
        """Return the table of these rows and columns, in this order."""
        number, place = self._place[:, columns]
        blocks = []
        for i in np.unique(number).tolist():
            own = np.flatnonzero(number == i)
            cells = self.blocks[i].cells[place[own, None], rows]
            blocks.append(Block(own, cells))
        return Table.of_blocks(blocks, self.weights[rows])

    def take(self, rows: NDArray[Any] | slice, weights: Floats | None = None) -> Table:
        """Return some of the rows, with their own weights or with those given."""
        blocks = [Block(block.columns, block.cells[:, rows]) for block in self.blocks]
        return Table.of_blocks(blocks, self.weights[rows] if weights is None else weights)

    def complete_columns(self) -> NDArray[np.bool_]:
        """Return which columns have no missing cells."""
        found = np.ones(self.width, dtype=np.bool_)
        for block in self.blocks:
            for place, column in enumerate(block.columns.tolist()):
                found[column] = not _missing(block.cells[place], block.missing_code).any()
        return found

    def distinct(self) -> Table:
        """Return the distinct rows, sorted, each with its total weight (NaN equals NaN)."""
        return self.distinct_with_inverse()[0]

    def distinct_with_inverse(self) -> tuple[Table, NDArray[np.intp]]:
        """Return the distinct rows, and for every row of this table the index of its equal."""
        first, inverse = distinct_rows(
            [ranked(self.stored(column)) for column in range(self.width)], self.rows
        )
        weights = np.bincount(inverse, weights=self.weights, minlength=len(first))
        return self.take(first, weights.astype(np.float64)), inverse

    def seems_distinct(self) -> bool:
        """Whether few rows are equal, so that finding these would take longer than it saves.

        This compares hashes of `RUN` rows out of every `RUN_PERIOD`.
        """
        if self.rows == 1:
            return True
        hashes: list[NDArray[np.uint64]] = []
        for block in self.blocks:
            whole = self.rows - self.rows % RUN_PERIOD
            runs = block.cells[:, :whole].reshape(len(block.cells), -1, RUN_PERIOD)[:, :, :RUN]
            rest = block.cells[:, whole : whole + RUN]
            some = np.concatenate([runs.reshape(len(block.cells), -1), rest], axis=1)
            hashes.append(row_hashes(some, block.columns, self.width))
        found = np.sort(np.sum(hashes, axis=0, dtype=np.uint64))
        return not bool((found[1:] == found[:-1]).any())

    def pieces(self) -> Iterator[Table]:
        """Yield the rows in order, in tables of at most `PIECE_CELLS` cells or one row."""
        step = max(1, PIECE_CELLS // max(1, self.width))
        for begin in range(0, self.rows, step):
            yield self.take(slice(begin, begin + step))

    def column_pieces(self) -> Iterator[Block]:
        """Yield the columns in blocks of at most `PIECE_CELLS` cells or one column."""
        step = max(1, PIECE_CELLS // max(1, self.rows))
        for block in self.blocks:
            for begin in range(0, len(block.columns), step):
                part = slice(begin, begin + step)
                yield Block(block.columns[part], block.cells[part])


def _missing(cells: Cells, code: int | None) -> NDArray[np.bool_]:
    return np.isnan(cells) if code is None else cells == code


def _doubles(cells: Cells, code: int | None) -> Floats:
    """Return cells as doubles, NaN where missing; doubles themselves are not copied."""
    if code is None:
        return cells
    found = cells.astype(np.float64)
    found[cells == code] = np.nan
    return found
