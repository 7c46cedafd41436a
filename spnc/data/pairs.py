"""Joint counts of the states of every pair of columns, and their mutual information."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column
from spnc.data.dataset import Table

_EXACT = 2.0**24  # whole numbers up to here, and their sums, are exact in single precision
_LEAST = 1e-290  # a product of two probabilities below it loses digits
_BLOCK = 16  # columns at a time, so that intermediate arrays stay in the CPU cache


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Joint counts of the states of every pair of columns.

    The states of all columns are numbered consecutively, those of column i from `offsets[i]` on;
    `counts[a, b]` is the total weight of the rows that have both states a and b. A row counts for
    those pairs of columns of which it has both values.
    """

    offsets: Ints  # one per column, and the end of the last
    counts: Floats

    def __add__(self, other: PairCounts) -> PairCounts:
        """Return the counts of both sets of rows together."""
        return PairCounts(self.offsets, self.counts + other.counts)

    def between(self, i: int, j: int) -> Floats:
        """Return the counts of two columns, `[state of i, state of j]`."""
        own, other = (slice(self.offsets[k], self.offsets[k + 1]) for k in (i, j))
        return self.counts[own, other]

    def probabilities(self, alpha: float) -> Floats:
        """Return joint probabilities per pair of columns, with `alpha` added to every count.

        A pair without any weight gets a uniform distribution.
        """
        starts, sizes = self.offsets[:-1], np.diff(self.offsets)
        totals = np.add.reduceat(np.add.reduceat(self.counts, starts, 0), starts, 1)
        cells = np.outer(sizes, sizes)
        empty = totals + alpha * cells <= 0.0
        scale = _spread(1.0 / np.where(empty, cells, totals + alpha * cells), sizes)
        probabilities: Floats = (self.counts + np.where(_spread(empty, sizes), 1.0, alpha)) * scale
        return probabilities


def pair_counts(columns: Sequence[Column], table: Table) -> PairCounts:
    """Count every pair of columns at once, as a matrix product.

    If all weights are whole numbers, the counts of the first state of a column without missing
    cells are computed from those of its other states: for binary columns a quarter of the
    products suffices. Sums of whole numbers are exact in any order and, if small enough, in
    single precision.
    """
    offsets = np.concatenate([[0], np.cumsum([column.states for column in columns])])
    counts = np.zeros((offsets[-1], offsets[-1]))
    states = np.concatenate([np.arange(column.states) for column in columns])
    owners = np.repeat(np.arange(len(columns)), np.diff(offsets))
    whole = bool((table.weights == np.floor(table.weights)).all())
    small = whole and float(table.weights.sum()) < _EXACT
    kind = np.float32 if small else np.float64
    implied = offsets[:-1][table.complete_columns()] if whole else offsets[:0]
    counted = np.setdiff1d(np.arange(len(states)), implied)
    for piece in table.pieces():
        present = piece.has(owners[counted], states[counted]).astype(kind)
        weighted = present * piece.weights.astype(kind)
        counts[np.ix_(counted, counted)] += present @ weighted.T
    if len(implied):
        _fill_in(counts, implied, counted, owners, float(table.weights.sum()))
    return PairCounts(offsets.astype(np.int64), counts)


def _fill_in(counts: Floats, implied: Ints, counted: Ints, owners: Any, total: float) -> None:
    """Fill in the counts of each complete column's first state: all rows minus the other states."""
    others = counted[np.isin(owners[counted], owners[implied])]
    starts = np.searchsorted(owners[others], owners[implied])
    ends = np.searchsorted(owners[others], owners[implied], side="right")

    def left_over(of: Floats, whole: Any) -> Floats:
        """Return `whole` minus the sums over each column's other states, which are rows of `of`."""
        running = np.concatenate([np.zeros((1, of.shape[1])), np.cumsum(of, axis=0)])
        found: Floats = whole - (running[ends] - running[starts])
        return found

    own = np.diag(counts)[counted]  # the total weight of each state
    rest = left_over(counts[np.ix_(others, counted)], own[None, :])
    counts[np.ix_(implied, counted)] = rest
    counts[np.ix_(counted, implied)] = rest.T
    firsts = left_over(np.diag(counts)[others][:, None], total)[:, 0]
    counts[np.ix_(implied, implied)] = left_over(counts[np.ix_(others, implied)], firsts[None, :])


def mutual_information(pairs: PairCounts, alpha: float = 0.0) -> Floats:
    """Return the mutual information of every pair of columns in nats; zero on the diagonal.

    `alpha` is added to every count.
    """
    return information(pairs.probabilities(alpha), pairs.offsets)


def information(joint: Floats, offsets: Ints) -> Floats:
    """Return the mutual information from joint probabilities in the layout of `PairCounts`."""
    starts, sizes = offsets[:-1], np.diff(offsets)
    own, others = np.add.reduceat(joint, starts, 1), np.add.reduceat(joint, starts, 0)
    found: Floats = np.empty((len(sizes), len(sizes)))
    least = [side.min(initial=1.0, where=side > 0.0) for side in (own, others)]
    tiny = least[0] * least[1] < _LEAST
    for first in range(0, len(sizes), _BLOCK):
        part = slice(first, first + _BLOCK)
        begin, end = offsets[first], offsets[min(first + _BLOCK, len(sizes))]
        block = joint[begin:end]
        rows = np.repeat(own[begin:end], sizes, axis=1)
        columns = np.repeat(others[part], sizes[part], axis=0)
        apart = rows * columns
        if tiny:
            low = (block > 0.0) & (apart < _LEAST)
            cells = _information_of(block, apart, (block > 0.0) & ~low)
            logs = np.log(block[low]) - np.log(rows[low]) - np.log(columns[low])
            cells[low] = block[low] * logs
        else:
            cells = _information_of(block, apart, block > 0.0)
        below = np.add.reduceat(cells, starts[part] - begin, 0)
        found[part] = np.add.reduceat(below, starts, 1)
    np.fill_diagonal(found, 0.0)
    return np.maximum(found, 0.0)


def _information_of(joint: Floats, apart: Floats, where: NDArray[np.bool_]) -> Floats:
    """Return p · log(p / q), where q is the probability if columns were independent; else 0."""
    ratio = np.divide(joint, apart, out=np.ones_like(joint), where=where)
    found: Floats = joint * np.log(ratio)
    return found


def _spread(blocks: NDArray[Any], sizes: Ints) -> NDArray[Any]:
    """Repeat a value per pair of columns for every pair of their states."""
    return np.repeat(np.repeat(blocks, sizes, axis=0), sizes, axis=1)
