"""The distribution of one column in every row of a table, given other cells of the row.

Given cells of a row, a column is a mixture of the leaves over it; `spnc.queries.leaf_weights`
computes the weights. What is asked here is computed for many rows at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column, Scale
from spnc.leaves.finite import as_finite
from spnc.queries.leaf_group import NEGLIGIBLE, LeafGroup, Question, density_of
from spnc.queries.value_sets import is_whole

_GRID = 129  # values over the range of a column at which all leaves are computed
_MOST_MODES = 512  # leaves whose modes are added to these values
_ROUNDS = 100  # of narrowing an interval; false position needs ten to twenty
_TOLERANCE = 1e-10  # the width at which narrowing ends, in standard deviations of the column
_GOLDEN = 0.5 * (3.0 - 5.0**0.5)
_PEAK_ROUNDS = 40  # of golden section: eight digits of the place of a maximum

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ColumnGivenRows:
    """The distribution of a column by row. An impossible row has NaN for every answer."""

    column: Column
    groups: tuple[LeafGroup, ...]
    impossible: Mask  # whether the known cells of a row have probability zero, `[row]`

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.impossible)

    def take(self, rows: Ints) -> ColumnGivenRows:
        """Return the distributions in some of the rows."""
        if len(rows) == self.rows:
            return self
        groups = (replace(g, weights=np.ascontiguousarray(g.weights[:, rows])) for g in self.groups)
        return ColumnGivenRows(self.column, tuple(groups), self.impossible[rows])

    def probabilities(self) -> Floats:
        """Return the probability of each state of a column with finitely many, `[row, state]`."""
        found = np.zeros((self.rows, self.column.states))
        for group in self.groups:
            chances = as_finite(group.leaf.kind).probabilities(group.table, self.column.states)
            found += group.weights.T @ chances
        return self._possible(found)

    def mean(self) -> Floats:
        """Return the expectation in each row; NaN where there is none."""
        means, _ = self._moments
        return self._possible(self._expected(means))

    def variance(self) -> Floats:
        """Return the variance in each row; NaN where there is none."""
        means, variances = self._moments
        finite = [m[np.isfinite(m)] for m in means]
        everything = np.concatenate(finite)
        # Around a number near all means: a difference of squares far from zero loses digits.
        centre = float(everything.mean()) if len(everything) else 0.0
        squares = [v + (m - centre) ** 2 for m, v in zip(means, variances, strict=True)]
        apart = self._expected(means) - centre
        return self._possible(np.maximum(self._expected(squares) - apart**2, 0.0))

    def moments_within(self, low: float, high: float) -> tuple[Floats, Floats]:
        """Return mean and variance in each row, given that the value lies in an interval.

        Both are NaN where the interval has no probability that a double can tell from zero.
        """
        known = [group.within(low, high) for group in self.groups]
        total = np.zeros(self.rows)
        first, second = np.zeros(self.rows), np.zeros(self.rows)
        centre = 0.5 * (low + high)  # differences of squares far from zero would lose digits
        for group, (chances, means, variances) in zip(self.groups, known, strict=True):
            total += chances @ group.weights
            first += (chances * (means - centre)) @ group.weights
            second += (chances * (variances + (means - centre) ** 2)) @ group.weights
        none = total <= NEGLIGIBLE
        total = np.where(none, np.nan, total)
        mean = first / total
        variance = np.maximum(second / total - mean**2, 0.0)
        return self._possible(mean + centre), self._possible(variance)

    def usual_moments(self) -> tuple[Floats, Floats]:
        """Return mean and variance in each row, given that the value is not far from all others.

        Not far is within a standard deviation of the range of the column's training values. The
        tails of fitted distributions go further; with heavy ones, a mean without this condition
        may be anywhere, or not exist. Without a range, the condition is dropped.
        """
        scale = self.column.scale
        if scale is None:
            return self.mean(), self.variance()
        margin = max(scale.sd, scale.resolution)
        low = scale.low - margin
        if self.column.kind == "count":
            low = max(low, 0.0)
        return self.moments_within(low, scale.high + margin)

    def density(self, values: Floats) -> Floats:
        """Return the density, or the probability of a whole number, at the value of each row."""
        found = np.zeros(self.rows)
        for group in self.groups:
            found += group.at(density_of(group), values)
        return self._possible(found)

    def cdf(self, values: Floats) -> Floats:
        """Return the probability of at most the value of each row."""
        return self._possible(np.minimum(self._cdf(values), 1.0))

    def within(self, low: Floats, high: Floats) -> Floats:
        """Return the probability of an interval, which is given for each row; ends included."""
        total = np.zeros(self.rows)
        for group in self.groups:
            total += group.at(group.leaf.kind.interval, low, high)
        return self._possible(np.minimum(total, 1.0))

    def quantile(self, share: float) -> Floats:
        """Return the smallest value that is not exceeded with this probability, in each row.

        0 < `share` < 1. A real number is exact to 1e-10 standard deviations of its column.
        """
        whole, scale = is_whole(self.column), self._scale
        low, high, below, above = self._bracket(share)
        tolerance = 0.0 if whole else _TOLERANCE * (scale.sd or scale.resolution)
        for turn in range(_ROUNDS):
            with np.errstate(invalid="ignore", divide="ignore"):
                straight = low + (high - low) * (share - below) / (above - below)
            middle = 0.5 * (low + high)
            if turn % 3 != 2:  # false position, with a halving after every two
                # Kept off the ends, so that both of them come nearer.
                margin = 0.02 * (high - low)
                middle = np.clip(np.nan_to_num(straight), low + margin, high - margin)
            if whole:
                middle = np.clip(np.floor(middle), low, high - 1.0)
                middle = np.where(middle <= low, np.floor(0.5 * (low + high)), middle)
            open_still = (low < middle) & (middle < high) & (high - low > tolerance)
            if not open_still.any():
                break
            reached = self._cdf(middle)
            up = open_still & (reached >= share)
            down = open_still & ~up
            high, above = np.where(up, middle, high), np.where(up, reached, above)
            low, below = np.where(down, middle, low), np.where(down, reached, below)
        return self._possible(high)

    def mode(self) -> Floats:
        """Return the most probable value in each row.

        Of a real column, it is a value of locally highest density, near the highest that was found
        on a grid and at the modes of leaves.
        """
        if self.column.is_finite:
            found = self.probabilities()
            best = np.argmax(np.nan_to_num(found), axis=1).astype(np.float64)
            return self._possible(best)
        grid = self._grid
        dense = self._on_grid([density_of(group) for group in self.groups])
        at = np.argmax(dense, axis=1)
        best, low, high = (grid[np.clip(at + shift, 0, len(grid) - 1)] for shift in (0, -1, 1))
        return self._possible(self._climbed(best, low, high))

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw a value for each row, independently of all other columns."""
        ends = np.cumsum(np.concatenate([group.weights for group in self.groups]), axis=0)
        at = np.minimum(rng.random(self.rows) * ends[-1], np.nextafter(ends[-1], -np.inf))
        chosen = (ends <= at).sum(axis=0)
        found, first = np.full(self.rows, np.nan), 0
        for group in self.groups:
            own = np.flatnonzero((chosen >= first) & (chosen < first + len(group.table)))
            leaves = np.minimum(chosen[own] - first, len(group.table) - 1)
            drawn = group.leaf.kind.sample(group.table[leaves], group.columns.take(leaves), rng)
            found[own] = drawn
            first += len(group.table)
        return self._possible(found)

    # -- parts ---------------------------------------------------------------------------------

    @property
    def _scale(self) -> Scale:
        return self.column.scale or Scale()

    @cached_property
    def _moments(self) -> tuple[list[Floats], list[Floats]]:
        """Means and variances of leaves, by group."""
        means = [g.leaf.kind.mean(g.table, g.columns) for g in self.groups]
        return means, [g.leaf.kind.variance(g.table, g.columns) for g in self.groups]

    @cached_property
    def _grid(self) -> Floats:
        """Values over the range of the column: evenly spaced, and modes of leaves with weight."""
        scale = self._scale
        spaced = np.linspace(scale.low - scale.sd, scale.high + scale.sd, _GRID)
        modes = np.concatenate([g.leaf.kind.mode(g.table, g.columns) for g in self.groups])
        weight = np.concatenate([g.weights.sum(axis=1) for g in self.groups])
        heaviest = np.argsort(-weight, kind="stable")[:_MOST_MODES]
        found = np.concatenate([spaced, modes[heaviest]])
        if is_whole(self.column):
            first = np.arange(_GRID, dtype=np.float64) + max(0.0, np.floor(scale.low))
            found = np.maximum(np.round(np.concatenate([found, first])), 0.0)
        return np.unique(found[np.isfinite(found)])

    def _on_grid(self, questions: list[Question]) -> Floats:
        """Return the answers, one question for each group, on the grid, `[row, value]`."""
        found = np.zeros((self.rows, len(self._grid)))
        for group, question in zip(self.groups, questions, strict=True):
            found += group.on(question, self._grid)
        return found

    def _cdf(self, values: Floats) -> Floats:
        found = np.zeros(self.rows)
        for group in self.groups:
            found += group.at(group.leaf.kind.cdf, values)
        return found

    def _expected(self, each: list[Floats]) -> Floats:
        """Return the weighted mean of a number of each leaf; NaN where it is not finite."""
        found = np.zeros(self.rows)
        for group, numbers in zip(self.groups, each, strict=True):
            bad = ~np.isfinite(numbers)
            found += np.where(bad, 0.0, numbers) @ group.weights
            if bad.any():
                found[(group.weights[bad] > NEGLIGIBLE).any(axis=0)] = np.nan
        return found

    def _bracket(self, share: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return values around a quantile in each row, and the probability of at most each."""
        grid = self._grid
        below = self._on_grid([group.leaf.kind.cdf for group in self.groups])
        at = (below < share).sum(axis=1)  # the first value of the grid that reaches the share
        rows = np.arange(self.rows)
        low, high = grid[np.maximum(at - 1, 0)], grid[np.minimum(at, len(grid) - 1)]
        under, over = below[rows, np.maximum(at - 1, 0)], below[rows, np.minimum(at, len(grid) - 1)]
        step = np.full(self.rows, max(self._scale.sd, self._scale.resolution))
        step = np.ceil(step) if is_whole(self.column) else step
        for _ in range(_ROUNDS):
            outside = (under >= share) & ~self.impossible
            if not outside.any():
                break
            high, over = np.where(outside, low, high), np.where(outside, under, over)
            low, step = np.where(outside, low - step, low), np.where(outside, 2.0 * step, step)
            under = np.where(outside, self._cdf(low), under)
        for _ in range(_ROUNDS):
            outside = (over < share) & ~self.impossible
            if not outside.any():
                break
            low, under = np.where(outside, high, low), np.where(outside, over, under)
            high, step = np.where(outside, high + step, high), np.where(outside, 2.0 * step, step)
            over = np.where(outside, self._cdf(high), over)
        return low, high, under, over

    def _climbed(self, best: Floats, low: Floats, high: Floats) -> Floats:
        """Return where the density is highest between two values, at least that of `best`."""
        top = np.nan_to_num(self.density(best))
        if is_whole(self.column):
            for step in (-1.0, 1.0):
                for _ in range(_PEAK_ROUNDS):
                    next_one = np.maximum(best + step, 0.0)
                    own = np.nan_to_num(self.density(next_one))
                    if not (own > top).any():
                        break
                    best, top = np.where(own > top, next_one, best), np.maximum(own, top)
            return best
        left, right = low + _GOLDEN * (high - low), high - _GOLDEN * (high - low)
        for _ in range(_PEAK_ROUNDS):
            at_left, at_right = (np.nan_to_num(self.density(x)) for x in (left, right))
            for own, value in ((at_left, left), (at_right, right)):
                best, top = np.where(own > top, value, best), np.maximum(own, top)
            falling = at_left > at_right
            low, high = np.where(falling, low, left), np.where(falling, right, high)
            left, right = low + _GOLDEN * (high - low), high - _GOLDEN * (high - low)
        return best

    def _possible(self, found: Floats) -> Floats:
        if self.impossible.any():
            found[self.impossible] = np.nan
        return found
