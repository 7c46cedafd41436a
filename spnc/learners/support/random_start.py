"""Random initial parameters for circuits whose structure does not come from slices of rows.

In a hidden Chow-Liu tree or a RAT-SPN, many leaves stand over the same column and many sums over
the same children. If they started equal, EM would keep them equal for ever, so they start at
random. A leaf starts as the column's own distribution, pulled towards the value of a random
training row; the weights of a sum start as a draw from a Dirichlet distribution. Both are smoothed
as in EM.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.dataset import Table
from spnc.learners import LearningTask
from spnc.learners.support.leaf_fit import Indices, leaf_class
from spnc.leaves import Distribution, smoothing
from spnc.leaves.leaf_columns import LeafColumns


def drawn_rows(table: Table, count: int, rng: np.random.Generator) -> Indices:
    """Draw training rows with replacement, with probabilities proportional to their weights."""
    ends = np.cumsum(table.weights)
    picked = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
    rows: Indices = np.minimum(picked, table.rows - 1).astype(np.intp)
    return rows


class _ColumnStatistics(NamedTuple):
    """The statistics of a column's values."""

    rows: float  # the total weight of the rows that have a value
    share: Floats  # the statistics, divided by `rows`


class StartingLeaves:
    """Makes leaves between their column's distribution and the values of single rows."""

    def __init__(self, task: LearningTask, pull: float) -> None:
        self._task, self._pull = task, pull
        self._statistics: dict[int, _ColumnStatistics] = {}

    def over(self, variable: int, picks: Indices) -> list[Distribution]:
        """Return a leaf over this column for each of the picked rows.

        Each leaf is fitted to an equal share of all rows. A part of this share has the value of
        the picked row (or none, if that is missing), the rest follows the column's distribution.
        The part approaches `pull` for many leaves, and is zero for a single leaf.
        """
        task, column, count = self._task, self._task.columns[variable], len(picks)
        leaf, known = leaf_class(column.kind), self._column(variable)
        values = task.table.at(picks, np.array(variable))
        fallback = np.tile(leaf.default(column), (count, 1))
        columns = LeafColumns.of([column], np.zeros(count, dtype=np.int64))
        picked = leaf.statistics(values[:, None], np.ones((count, 1)), fallback, columns)
        pull = self._pull * (1.0 - 1.0 / count)
        counts = ((1.0 - pull) * known.share + pull * picked) * (known.rows / count)
        found = leaf.estimate(counts, task.smoothing.leaves, fallback, columns)
        return [leaf.from_row(row) for row in found]

    def _column(self, variable: int) -> _ColumnStatistics:
        if variable not in self._statistics:
            table, column = self._task.table, self._task.columns[variable]
            values = table.column(variable)
            rows = float(table.weights[~np.isnan(values)].sum())
            leaf = leaf_class(column.kind)
            start = np.array([leaf.default(column)], dtype=np.float64)
            columns = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
            statistics = leaf.statistics(values[None, :], table.weights[None, :], start, columns)
            self._statistics[variable] = _ColumnStatistics(rows, statistics / (rows or 1.0))
        return self._statistics[variable]


def starting_weights(
    rows: Floats, fan: int, concentration: float, task: LearningTask, stay: float = 0.0
) -> Floats:
    """Return weights `[sum, child]` of sums with `fan` children, from a symmetric Dirichlet.

    If there are as many sums as children, a part `stay` of each sum's weight goes to the child with
    the sum's own number. Weights are smoothed as if counted over the `rows[sum]` of each sum.
    """
    draws = task.rng.dirichlet(np.full(fan, concentration), size=len(rows))
    if len(rows) == fan:
        draws = (1.0 - stay) * draws + stay * np.eye(fan)
    return smoothing.smoothed(draws * rows[:, None], task.smoothing.weights, draws)


def shared_out(rows: Floats, weights: Floats) -> Floats:
    """Distribute the rows of sums over their children, by the weights `[sum, child]`.

    Not a matrix product, whose bits depend on the number of threads.
    """
    found: Floats = (rows[:, None] * weights).sum(axis=0)
    return found
