"""Joint counts of the states of every pair of columns, and their mutual information."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.common.threads import in_threads
from spnc.data.columns import Column
from spnc.data.crossing import Crossing, by_column
from spnc.data.table import Table

_CELLS_AT_ONCE = 1 << 16  # so that intermediate arrays stay in the CPU cache
_COLUMNS_AT_ONCE = 16  # at least, so that calls are few
_MANY_CELLS = 1 << 22  # of a matrix of counts, from which starting threads pays
_EXACT = 2.0**24  # whole numbers up to here, and their sums, are exact in single precision


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Joint counts of the states of every pair of columns.

    The states of all columns are numbered consecutively, those of column i from `offsets[i]` on;
    `counts[a, b]` is the total weight of the rows that have both states a and b. A row counts for
    those pairs of columns of which it has both values.
    """

    offsets: Ints  # one per column, and the end of the last
    counts: NDArray[np.floating[Any]]  # in single precision where there are many and it is exact

    def __add__(self, other: PairCounts) -> PairCounts:
        """Return the counts of both sets of rows together."""
        added = np.add(self.counts, other.counts, dtype=np.float64)
        return PairCounts(self.offsets, added)

    def between(self, i: int, j: int) -> Floats:
        """Return the counts of two columns, `[state of i, state of j]`."""
        own, other = (slice(self.offsets[k], self.offsets[k + 1]) for k in (i, j))
        return self.counts[own, other].astype(np.float64, copy=False)

    def each_part(self, work: Callable[[slice, Crossing], None]) -> None:
        """Call `work` for a few columns at a time, with their counts with all columns.

        What it computes takes little memory. Many counts are divided among threads.
        """
        width, offsets = len(self.offsets) - 1, self.offsets
        step = max(_COLUMNS_AT_ONCE, _CELLS_AT_ONCE * width // self.counts.size)

        def take(first: int) -> None:
            own = offsets[first : first + step + 1]
            counts = self.counts[own[0] : own[-1]].astype(np.float64, copy=False)
            part = slice(first, first + len(own) - 1)
            work(part, Crossing(counts, own - own[0], offsets))

        if self.counts.size < _MANY_CELLS:
            for first in range(0, width, step):
                take(first)
        else:
            in_threads(take, range(0, width, step))


class PairCounter:
    """Counts how often the states of some columns of a table meet those of other columns.

    If all weights are whole numbers, the first state of a column without missing cells is not
    counted: it has what the column's other states leave. For binary columns a quarter of the
    products suffices. Sums of whole numbers are exact in any order and, if small enough, in
    single precision.
    """

    def __init__(self, columns: Sequence[Column], table: Table) -> None:
        self.width, self._table, weights = len(columns), table, table.weights
        self._sizes = np.array([column.states for column in columns], dtype=np.int64)
        self._offsets = _ends(self._sizes)
        self._owners = np.repeat(np.arange(self.width), self._sizes)
        self._numbers = np.arange(self._offsets[-1]) - self._offsets[self._owners]
        whole = bool((weights == np.floor(weights)).all())
        self._ones = bool((weights == 1.0).all())
        self._kind = np.float32 if whole and float(weights.sum()) < _EXACT else np.float64
        self._left_over = table.complete_columns() & whole  # columns whose first state is
        self._counted = ~(self._left_over[self._owners] & (self._numbers == 0))

    @cached_property
    def pairs(self) -> PairCounts:
        """The counts of every pair of columns."""
        every, states = np.arange(self.width), np.flatnonzero(self._counted)
        products, total = self._products(states, states), len(self._owners)
        if total * total < _MANY_CELLS:
            return PairCounts(self._offsets, self._filled(products, every, every).counts)
        counts = np.empty((total, total), self._kind)
        ends = _ends(np.add.reduceat(self._counted, self._offsets[:-1]))
        for first in range(0, self.width, _COLUMNS_AT_ONCE):
            some = every[first : first + _COLUMNS_AT_ONCE]
            last = first + len(some)
            own = self._filled(products[ends[first] : ends[last]], some, every)
            counts[self._offsets[first] : self._offsets[last]] = own.counts
        return PairCounts(self._offsets, counts)

    def between(self, some: Ints, others: Ints) -> Crossing:
        """Return the counts of the states of some columns with those of others."""
        own, other = self._states(some), self._states(others)
        products = self._products(own[self._counted[own]], other[self._counted[other]])
        return self._filled(products, some, others)

    def _filled(self, products: NDArray[Any], some: Ints, others: Ints) -> Crossing:
        """Return the counts of all states of these columns from those of the counted ones."""
        own, other = self._states(some), self._states(others)
        counted, known = self._counted[own], self._counted[other]
        counts = np.zeros((len(own), len(other)))
        counts[np.ix_(counted, known)] = products
        crossing = Crossing(counts, _ends(self._sizes[some]), _ends(self._sizes[others]))
        if not counted.all():
            rest = self._held[other] - by_column(counts, crossing.offsets, 0)
            counts[np.ix_(~counted, known)] = rest[np.ix_(self._left_over[some], known)]
        if not known.all():
            rest = self._held[own, None] - by_column(counts, crossing.others, 1)
            counts[:, ~known] = rest[:, self._left_over[others]]
        return crossing

    def _states(self, columns: Ints) -> Ints:
        """Return the states of these columns, one column after another."""
        sizes = self._sizes[columns]
        ends = _ends(sizes)
        return np.repeat(self._offsets[columns] - ends[:-1], sizes) + np.arange(ends[-1])

    @cached_property
    def _held(self) -> Floats:
        """The weight of the rows that have each state."""
        found = np.zeros(len(self._owners))
        places = np.flatnonzero(self._counted)
        for piece in self._table.pieces():
            found[places] += self._present(piece, places) @ piece.weights
        rest = float(self._table.weights.sum()) - np.add.reduceat(found, self._offsets[:-1])
        found[~self._counted] = rest[self._left_over]
        return found

    def _products(self, states: Ints, others: Ints) -> NDArray[Any]:
        """Return the weight of the rows that have both states, `[state, other]`."""
        found = np.zeros((len(states), len(others)), self._kind)
        product, alike = np.empty_like(found), np.array_equal(states, others)
        for piece in self._table.pieces():
            present = self._present(piece, states).astype(self._kind)
            second = present if alike else self._present(piece, others).astype(self._kind)
            if not self._ones:
                second = second * piece.weights.astype(self._kind)
            found += np.matmul(present, second.T, out=product)
        return found

    def _present(self, piece: Table, states: Ints) -> NDArray[np.bool_]:
        """Return which rows have each of these states."""
        return piece.has(self._owners[states], self._numbers[states])


def pair_counts(columns: Sequence[Column], table: Table) -> PairCounts:
    """Return the counts of every pair of columns."""
    return PairCounter(columns, table).pairs


def mutual_information(pairs: PairCounts, alpha: float = 0.0, charge: float = 0.0) -> Floats:
    """Return the mutual information of every pair of columns in nats; zero on the diagonal.

    `alpha` is added to every count. A pair's degrees of freedom, times `charge` and divided by the
    weight of its rows, are subtracted; with a charge, the result may be below zero.
    """
    width = len(pairs.offsets) - 1
    found: Floats = np.empty((width, width))

    def inform(part: slice, crossing: Crossing) -> None:
        found[part] = crossing.probabilities(alpha).information()
        if charge:
            found[part] -= charge * crossing.degrees / np.maximum(crossing.totals, 1.0)

    pairs.each_part(inform)
    np.fill_diagonal(found, 0.0)
    return found


def _ends(sizes: Ints) -> Ints:
    """Return where the states of each column begin, and where the last ones end."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
