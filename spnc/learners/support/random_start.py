"""Random initial parameters for circuits whose structure does not come from slices of rows.

In a hidden Chow-Liu tree or a RAT-SPN, many leaves stand over the same column and many sums over
the same children. If they started equal, EM would keep them equal for ever, so they start at
random. A leaf starts as the column's own distribution, pulled towards the value of a random
training row; the weights of a sum start as a draw from a Dirichlet distribution. Both are smoothed
as in EM.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.row_sums import Sums
from spnc.data.table import Table
from spnc.learners import LearningTask
from spnc.learners.support.leaf_choice import DEFAULT, LeafModel, LeafOptions, penalised, start_of
from spnc.learners.support.leaf_fit import Indices
from spnc.learners.support.point_masses import repeated_values
from spnc.leaves import Distribution, smoothing
from spnc.leaves.atoms import point_at
from spnc.leaves.fitting import fit_table
from spnc.leaves.leaf_columns import LeafColumns


def drawn_rows(table: Table, count: int, rng: np.random.Generator) -> Indices:
    """Draw training rows with replacement, with probabilities proportional to their weights."""
    ends = np.cumsum(table.weights)
    picked = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
    rows: Indices = np.minimum(picked, table.rows - 1).astype(np.intp)
    return rows


class ColumnFit(NamedTuple):
    """The distribution of a column's leaves, and the statistics of its values."""

    kind: type[Distribution]
    start: Floats  # a table of one default leaf
    columns: LeafColumns
    points: Floats  # values with point masses
    held: Floats  # the weight of the rows at each point, and of those elsewhere
    share: Floats  # the statistics of the values elsewhere, divided by their weight


_Fits = dict[tuple[LeafOptions, float], dict[int, ColumnFit]]
_CACHE: WeakKeyDictionary[Table | Sums, _Fits] = WeakKeyDictionary()


class StartingLeaves:
    """Makes leaves between their column's distribution and the values of single rows."""

    def __init__(self, task: LearningTask, pull: float, options: LeafOptions = DEFAULT) -> None:
        self._task, self._pull, self._options = task, pull, options
        # The components of a forest ask for the same columns of the same table.
        cache = _CACHE.setdefault(task.table if task.sums is None else task.sums, {})
        self._fits = cache.setdefault((options, task.smoothing.leaves), {})

    def over(self, variable: int, picks: Indices) -> list[LeafModel]:
        """Return a model of this column for each of the picked rows.

        Each is fitted to an equal share of all rows. A part of this share has the value of the
        picked row (or none, if that is missing), the rest follows the column's distribution. The
        part approaches `pull` for many leaves, and is zero for a single leaf.
        """
        task, count, own = self._task, len(picks), self.column(variable)
        values = task.table.at(picks, np.array(variable))
        at_points = values[:, None] == own.points
        fallback, columns = (
            np.repeat(own.start, count, axis=0),
            own.columns.take(np.zeros(count, int)),
        )
        elsewhere = np.where(at_points.any(axis=1), np.nan, values)[:, None]
        picked = own.kind.statistics(elsewhere, np.ones((count, 1)), fallback, columns)
        pull = self._pull * (1.0 - 1.0 / count)
        counts = ((1.0 - pull) * own.share + pull * picked) * (own.held[-1] / count)
        table = own.kind.estimate(counts, task.smoothing.leaves, fallback, columns)
        column, alpha, rows = task.columns[variable], task.smoothing.leaves, own.held[-1] / count
        leaves = [LeafModel.of(own.kind.from_row(row), column, rows, alpha) for row in table]
        if len(own.points) == 0:
            return leaves
        places = np.column_stack([at_points, ~at_points.any(axis=1) & ~np.isnan(values)])
        total = own.held.sum()
        shares = (1.0 - pull) * own.held / total + pull * places
        weights = smoothing.smoothed(
            shares * total / count,
            task.smoothing.weights,
            np.full_like(shares, 1.0 / len(own.held)),
        )
        points = [point_at(column, value) for value in own.points.tolist()]
        return [
            leaf.beside(points, row) for leaf, row in zip(leaves, weights.tolist(), strict=True)
        ]

    def column(self, variable: int) -> ColumnFit:
        """Return the distribution of a column's leaves, which is chosen once."""
        if variable not in self._fits:
            self._fits[variable] = self._fit(variable)
        return self._fits[variable]

    def _fit(self, variable: int) -> ColumnFit:
        """Choose the distribution of a column by all its values, and add up their statistics.

        If these are a sample, only the counts of states are those of all rows.
        """
        table, column = self._task.table, self._task.columns[variable]
        points = np.empty(0)
        if not column.is_finite and self._options.points == "auto":
            points = repeated_values(column, table.column(variable), table.weights)
        values, weights = table.column(variable)[None, :], table.weights[None, :]
        at_points = [values[0] == point for point in points.tolist()]
        for own in at_points:
            weights = np.where(own, 0.0, weights)
        known = ~np.isnan(values)
        held = np.array([table.weights[own].sum() for own in at_points] + [weights[known].sum()])
        columns = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
        kind = self._best(column, columns, values, weights)
        start = start_of(kind, self._task.columns, table, variable)[None, :]
        counts = self._task.sums.states[variable] if self._task.sums is not None else None
        if counts is not None:
            held, statistics = counts.sum(keepdims=True), counts[None, :]
        else:
            statistics = kind.statistics(values, weights, start, columns)
        return ColumnFit(kind, start, columns, points, held, statistics / (held[-1] or 1.0))

    def _best(
        self, column: Column, columns: LeafColumns, values: Floats, weights: Floats
    ) -> type[Distribution]:
        kinds = self._options.candidates(column)
        if len(kinds) == 1:
            return kinds[0]
        scores = []
        for kind in kinds:
            start = np.array([kind.default(column)], dtype=np.float64)
            table = fit_table(kind, start, columns, values, weights, self._task.smoothing.leaves)
            scores.append(float(penalised(kind, table, columns, values, weights)[0]))
        return kinds[int(np.argmax(scores))]


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
