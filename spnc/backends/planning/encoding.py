"""Tables as codes: the state of a finite column, the place in a codebook of a numeric one.

A numeric column has a *codebook* of its distinct values, ascending, if there are few of them. A
column without one is *wide*: its codes are the bins of the reference distribution, which say
nothing about leaves, and its numbers are kept. A missing cell has the first code after all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.backends.planning.leaf_list import LeafList
from spnc.backends.planning.program_index import ProgramIndex
from spnc.backends.planning.projections import MAX_PROJECTIONS
from spnc.backends.planning.reference_distribution import Histogram, state_probabilities
from spnc.common.arrays import Floats, Ints
from spnc.data.table import Block, Table

Codes = NDArray[np.unsignedinteger]  # codes[column, row]

MIN_REDUCTION = 3  # a domain must be this many times smaller than the domain that reads it
MOST_CODES = MAX_PROJECTIONS - 1  # of a codebook; one more stands for a missing value
# Codes for which a leaf's values fit into the first-level cache. Measured on a CPU: with more than
# 3,000 to 11,000 codes, looking values up takes longer than computing the leaves of every row.
CACHED_CODES = 4_096
# Entries of numeric leaves in a layout, at most: about 50 bytes each, in all its arrays.
MOST_ENTRIES = 4_000_000
# Entries of numeric leaves that are computed at once where rows are computed one by one.
PIECE_ENTRIES = 1 << 18


class Piece(NamedTuple):
    """Some rows of a table, of which every numeric column has a codebook."""

    rows: Ints  # their positions in the table
    places: Ints  # their positions in `codes`
    codes: Codes
    leaves: LeafList


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """The codes of a table, and what they stand for."""

    index: ProgramIndex
    codes: Codes
    sizes: Ints  # by column: the number of codes, without the one for a missing value
    codebooks: dict[int, Floats]  # of the numeric columns that are not wide
    numbers: dict[int, Floats]  # the cells of wide columns
    histograms: list[Histogram | None]  # the reference distribution of numeric columns
    probabilities: list[Floats]  # by column and code: that of finite columns; ones elsewhere
    weights: Floats
    leaves: LeafList
    order: NDArray[np.intp]  # the position of each row in the table

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.weights)

    @property
    def wide(self) -> NDArray[np.bool_]:
        """Which columns have no codebook."""
        found = np.zeros(len(self.sizes), dtype=np.bool_)
        found[list(self.numbers)] = True
        return found

    def shuffled(self) -> EncodedTable:
        """Return the rows in a fixed random order. The codes are reordered in place.

        Tables are often sorted. Then consecutive rows add their flows to the same places, and the
        processor has to wait for each addition.
        """
        order = np.random.default_rng(0).permutation(self.rows)
        for own in self.codes:
            own[:] = own[order]
        return replace(
            self,
            numbers={column: cells[order] for column, cells in self.numbers.items()},
            weights=self.weights[order],
            order=self.order[order],
        )

    @cached_property
    def log_reference_tables(self) -> dict[int, Floats]:
        """The log density of every code in the reference distribution, by column."""
        found = {}
        for column, histogram in enumerate(self.histograms):
            if histogram is None:
                found[column] = np.log(self.probabilities[column])
            elif column in self.codebooks:
                found[column] = np.append(histogram.log_density(self.codebooks[column]), 0.0)
            else:
                found[column] = histogram.logs
        return found

    def log_reference(self) -> Floats:
        """Return the log density of every row under the reference distribution."""
        total = np.zeros(self.rows)
        for column, logs in self.log_reference_tables.items():
            total += logs[self.codes[column]]
        return total

    def log_reference_cells(self, rows: Ints | slice = slice(None)) -> Floats:
        """Return the log density of the cells of some rows in the reference, `[column, row]`."""
        tables = self.log_reference_tables
        return np.stack([logs[self.codes[column, rows]] for column, logs in tables.items()])

    def log_bounds(self, ratios: Floats) -> tuple[Ints, Floats]:
        """Return the log of the largest leaf value of every column and code, at least 0.

        `ratios` are those of `LeafList.ratios`. Return where the numbers of each column start, and
        all numbers; they are 0 for wide columns.
        """
        starts = np.cumsum(self.sizes + 1) - (self.sizes + 1)
        largest = np.zeros(int((self.sizes + 1).sum()))
        self.leaves.largest(ratios, starts, largest)
        for column in range(len(self.sizes)):
            if column not in self.numbers:
                own = largest[starts[column] : starts[column] + self.sizes[column] + 1]
                own /= self.probabilities[column]
        return starts, np.log(np.maximum(largest, 1.0))

    def pieces(self, rows: Ints) -> Iterator[Piece]:
        """Yield some of the rows in pieces with codebooks of their own: the cells themselves."""
        numeric = self.index.numeric_leaves
        if not numeric:
            yield Piece(rows, rows, self.codes, self.leaves)
            return
        step = min(MOST_CODES, max(1, PIECE_ENTRIES // sum(numeric.values())))
        for start in range(0, len(rows), step):
            own = rows[start : start + step]
            codes = np.take(self.codes, own, axis=1)  # unlike indexing, in the same memory order
            places = np.arange(len(own))
            codes[list(numeric)] = places
            cells = {column: self.cells(column, own) for column in numeric}
            yield Piece(own, places, codes, LeafList(self.index, cells))

    def cells(self, column: int, rows: Ints) -> Floats:
        """Return the numbers in some rows of a numeric column, NaN where missing."""
        if column in self.numbers:
            return self.numbers[column][rows]
        found: Floats = np.append(self.codebooks[column], np.nan)[self.codes[column, rows]]
        return found


def encode(
    index: ProgramIndex, table: Table, *, most_codes: int | None = CACHED_CODES
) -> EncodedTable:
    """Return the codes of a table; a column of more than `most_codes` values is wide.

    Columns are wide for other reasons, too. With None, no column is.
    """
    columns = index.program.columns
    sizes = index.states.copy()
    narrow = int(sizes.max()) < np.iinfo(np.uint16).max and not (
        most_codes is None and table.rows > MOST_CODES
    )
    codes = np.empty((table.width, table.rows), dtype=np.uint16 if narrow else np.uint32)
    finite = np.array([column.is_finite for column in columns])
    for block in table.column_pieces():
        chosen = finite[block.columns]
        if not chosen.all():
            block = Block(block.columns[chosen], block.cells[chosen])
        cells, missing = block.cells, block.missing
        if bool(missing.any()):
            cells = np.where(missing, index.states[block.columns, None], cells)
        codes[block.columns] = cells
    histograms: list[Histogram | None] = [None] * len(columns)
    distinct: dict[int, Floats] = {}
    for column in index.numeric_columns:
        values = table.column(column)
        known = np.sort(values[~np.isnan(values)])
        firsts = np.flatnonzero(np.append(True, known[1:] != known[:-1])[: len(known)])
        distinct[column] = known[firsts]
        counts = np.diff(np.append(firsts, len(known)))
        histograms[column] = Histogram.of(distinct[column], counts)
    wide = _wide_columns(index, distinct, table.rows, most_codes)
    numbers, probabilities = {}, []
    for column, histogram in enumerate(histograms):
        if histogram is None:
            states = int(sizes[column])
            probabilities.append(state_probabilities(codes[column], states, table.weights))
            continue
        values = table.column(column)
        if column in wide:
            numbers[column] = np.ascontiguousarray(values)
            codes[column] = histogram.bins(values)
            sizes[column] = len(histogram.logs) - 1
        else:
            codes[column] = np.searchsorted(distinct[column], values)  # NaN is behind all others
            sizes[column] = len(distinct[column])
        probabilities.append(np.ones(sizes[column] + 1))
    codebooks = {column: own for column, own in distinct.items() if column not in wide}
    leaves = LeafList(index, codebooks)
    order = np.arange(table.rows)
    return EncodedTable(
        index, codes, sizes, codebooks, numbers, histograms, probabilities, table.weights, leaves,
        order,
    )  # fmt: skip


def _wide_columns(
    index: ProgramIndex, distinct: dict[int, Floats], rows: int, most_codes: int | None
) -> set[int]:
    """Return the columns with too many values for a codebook, or too many leaves for them all."""
    entries, found = 0, set[int]()
    if most_codes is None:
        return found
    limit = min(rows // MIN_REDUCTION, most_codes)
    for column in sorted(distinct, key=lambda column: len(distinct[column])):
        entries += (len(distinct[column]) + 1) * index.numeric_leaves.get(column, 0)
        if len(distinct[column]) > limit or entries > MOST_ENTRIES:
            found.add(column)
    return found
