"""Where EM begins in circuits whose structure does not come from slices of rows.

In a hidden Chow-Liu tree or a RAT-SPN, many leaves stand over the same column and many sums over
the same children. If these began equal, EM would keep them equal for ever: it is chance that tells
them apart. A leaf begins as the column's own distribution, pulled towards the value of a random
training row; the weights of a sum begin as a draw from a Dirichlet distribution. Both go through
the smoothing that EM uses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.dataset import Table
from spnc.learners import LearningTask
from spnc.learners.support.leaf_fit import Indices, leaf_class
from spnc.leaves import Distribution, smoothing


def random_rows(table: Table, count: int, rng: np.random.Generator) -> Indices:
    """Training rows drawn at random with replacement, each as often as its weight says."""
    ends = np.cumsum(table.weights)
    picked = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
    rows: Indices = np.minimum(picked, table.rows - 1).astype(np.intp)
    return rows


class _Known(NamedTuple):
    """What is in a column."""

    rows: float  # that have a value
    share: Floats  # their statistics, as for a single row


class StartingLeaves:
    """Makes leaves that lie between their column's distribution and the values of single rows."""

    def __init__(self, task: LearningTask, pull: float) -> None:
        self._lesson, self._pull = task, pull
        self._known: dict[int, _Known] = {}

    def over(self, variable: int, picks: Indices) -> list[Distribution]:
        """A leaf over this column for each of the rows picked.

        Each is fitted to an equal share of all rows. Of these, a part has the value of the picked
        row (or none, where that is missing) and the others are spread as the column is. The part
        is `pull` if the leaves are many and nothing for a leaf that is alone.
        """
        task, column, count = self._lesson, self._lesson.columns[variable], len(picks)
        leaf, known = leaf_class(column.kind), self._column(variable)
        values = task.table.values[picks, variable]
        picked = leaf.statistics(values[:, None], np.ones((count, 1)), column.states)
        pull = self._pull * (1.0 - 1.0 / count)
        counts = ((1.0 - pull) * known.share + pull * picked) * (known.rows / count)
        fallback = np.tile(leaf.uniform(column.states), (count, 1))
        found = leaf.estimate(counts, task.smoothing.leaves, fallback)
        return [leaf.from_row(row) for row in found]

    def _column(self, variable: int) -> _Known:
        if variable not in self._known:
            table, column = self._lesson.table, self._lesson.columns[variable]
            values = table.values[:, variable]
            rows = float(table.weights[~np.isnan(values)].sum())
            statistics = leaf_class(column.kind).statistics(
                values[None, :], table.weights[None, :], column.states
            )
            self._known[variable] = _Known(rows, statistics / (rows or 1.0))
        return self._known[variable]


def starting_weights(
    rows: Floats, fan: int, concentration: float, task: LearningTask, stay: float = 0.0
) -> Floats:
    """Weights `[sum, child]` of sums with `fan` children, drawn from a symmetric Dirichlet.

    A part `stay` of each sum's weight goes to the child of its own number instead, if there are as
    many sums as children. All are smoothed as if counted over the `rows[sum]` behind each sum.
    """
    draws = task.rng.dirichlet(np.full(fan, concentration), size=len(rows))
    if len(rows) == fan:
        draws = (1.0 - stay) * draws + stay * np.eye(fan)
    return smoothing.smoothed(draws * rows[:, None], task.smoothing.weights, draws)


def shared_out(rows: Floats, weights: Floats) -> Floats:
    """The rows behind each child of sums `[sum, child]`, by weight.

    Not a matrix product: what those give depends on the number of threads.
    """
    found: Floats = (rows[:, None] * weights).sum(axis=0)
    return found
