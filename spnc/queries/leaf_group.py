"""`LeafGroup`: leaves of one kind over a column, weighed by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.leaves.leaf_columns import LeafColumns
from spnc.program.program import LeafTable

NEGLIGIBLE = 1e-16  # weights up to here change no digit of an answer
CELLS = 1 << 22  # parameters of leaves gathered at once

# A question to leaves: parameters, one or two arrays of values `[leaf, value]`, columns; the
# answers are `[leaf, value]`.
Question = Callable[..., Floats]


@dataclass(frozen=True, eq=False)
class LeafGroup:
    """The leaves of one leaf table over a column, with their weights by row, `[leaf, row]`.

    `memo` keeps what does not depend on the rows, for all pieces of a table.
    """

    leaf: LeafTable
    table: Floats
    columns: LeafColumns
    weights: Floats
    memo: dict[tuple[float, float], tuple[Floats, Floats, Floats]]

    def within(self, low: float, high: float) -> tuple[Floats, Floats, Floats]:
        """Return the probability of an interval, and mean and variance in it, of each leaf."""
        if (low, high) not in self.memo:
            kind, size = self.leaf.kind, len(self.table)
            first, last = np.full(size, low), np.full(size, high)
            ends = first[:, None], last[:, None]
            chances = kind.interval(self.table, ends[0], ends[1], self.columns)[:, 0]
            means, variances = kind.moments_within(self.table, first, last, self.columns)
            some = chances > 0.0
            zero = np.zeros(len(chances))
            self.memo[low, high] = (
                chances,
                np.where(some, means, zero),
                np.where(some, variances, zero),
            )
        return self.memo[low, high]

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """Leaves and rows that matter to one another."""
        leaves, rows = np.nonzero(self.weights > NEGLIGIBLE)
        return leaves.astype(np.int64), rows.astype(np.int64)

    def at(self, question: Question, *values: Floats) -> Floats:
        """Return the weighted answers at the value, or the values, of each row, `[row]`."""
        leaves, rows = self.pairs
        found = np.zeros(self.weights.shape[1])
        step = max(1, CELLS // max(1, self.table.shape[1]))
        for begin in range(0, len(leaves), step):
            leaf, row = leaves[begin : begin + step], rows[begin : begin + step]
            asked = (each[row, None] for each in values)
            own = question(self.table[leaf], *asked, self.columns.take(leaf))[:, 0]
            shares = self.weights[leaf, row] * own
            found += np.bincount(row, weights=shares, minlength=len(found))
        return found

    def on(self, question: Question, grid: Floats) -> Floats:
        """Return the weighted answers at values that all rows share, `[row, value]`."""
        every = np.broadcast_to(grid, (len(self.table), len(grid)))
        found: Floats = self.weights.T @ question(self.table, every, self.columns)
        return found


def density_of(group: LeafGroup) -> Question:
    """Return the density of the leaves of a group, as a question."""

    def dense(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        found: Floats = np.exp(group.leaf.kind.log_density(table, values, columns))
        return found

    return dense
