"""The warped Gaussian leaf: a column is normally distributed at the places of its warp.

A warp that fits the column (`spnc.data.warp`) makes the marginal distribution standard normal, so
`warped-gaussian(0, 1)` is the column itself, whatever its shape, and leaves of a circuit are
narrower or shifted versions of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column, ColumnKind
from spnc.data.warp import Warp
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.normal import NormalLeaf, variance_of
from spnc.leaves.numeric import (
    WIDTH_TOLERANCE,
    not_finite,
    not_positive,
    only_possible,
    resolution_of,
)
from spnc.leaves.warp_pieces import least_deviation, modes, moments
from spnc.registry import LEAVES

Map = Callable[[Warp, Floats], Floats]
# Grids of means around the best so far, each as wide as two steps of the one before.
_GRID = np.linspace(-1.0, 1.0, 33)
_ZOOMS = 7


@LEAVES.register("warped-gaussian")
@dataclass(frozen=True, slots=True)
class WarpedGaussian(NormalLeaf):
    """`warped-gaussian(mean, sd)`: mean and standard deviation of the place on the column's warp.

    A column without a warp has the one that is linear, with its mean at 0 and slope 1/sd.
    """

    location: float  # the mean place
    sd: float

    kinds: ClassVar[tuple[ColumnKind, ...]] = ("real", "date")
    needs_warp: ClassVar[bool] = True

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the parameters for a leaf over this column."""
        found = [*not_finite(mean=self.location), *not_positive(sd=self.sd)]
        if found or column.scale is None:
            return found
        known = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
        least = float(self.narrowest(np.array([self.location]), known)[0])
        if self.sd >= least * (1.0 - WIDTH_TOLERANCE):
            return []
        return [
            f"sd = {self.sd:g} is narrower than the column's resolution "
            f"{column.scale.resolution:g} allows: at least {least:.4g}"
        ]

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """The column's own distribution, not narrower than its resolution if it has no warp."""
        known = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
        return 0.0, max(1.0, float(WarpedGaussian.narrowest(np.zeros(1), known)[0]))

    @staticmethod
    def positions(values: Floats, columns: LeafColumns) -> Floats:
        """The places of the values."""
        return _on_warps(Warp.to_places, values, columns)

    @staticmethod
    def log_slopes(values: Floats, columns: LeafColumns) -> Floats:
        """The logarithms of the slopes of the warps."""
        return _on_warps(Warp.log_slopes, values, columns)

    @staticmethod
    def origin(columns: LeafColumns) -> Floats:
        """Return zero, where the median of a column is."""
        return np.zeros(len(columns))

    @staticmethod
    def unit(columns: LeafColumns) -> Floats:
        """Return one, the standard deviation of a column's places."""
        return np.ones(len(columns))

    @staticmethod
    def spread(columns: LeafColumns) -> Floats:
        """Return one, the standard deviation of a column's places."""
        return np.ones(len(columns))

    @staticmethod
    def narrowest(mean: Floats, columns: LeafColumns) -> Floats:
        """Return the least standard deviation whose density is at most one per resolution.

        That is asked of all values within half a resolution of the mean.
        """
        half = 0.5 * resolution_of(columns)
        found = np.empty(len(mean))
        for warp, own in _by_warp(columns):
            centre = warp.to_values(mean[own])
            first, last = (warp.piece_of(centre + side * half[own]) for side in (-1.0, 1.0))
            found[own] = least_deviation(warp, mean[own], first, last, 2.0 * half[own])
        return found

    @classmethod
    def best(cls, averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return mean and standard deviation of the places, not below the resolution's bound.

        The bound differs from mean to mean. Where the best leaf without a bound is too narrow, the
        best one is looked for around it; a leaf stays what it is if that is better.
        """
        mean, variance = averages[:, 0].copy(), variance_of(averages)
        least = cls.narrowest(mean, columns)
        found = np.stack([mean, np.maximum(np.sqrt(variance), least)], axis=1)
        narrow = np.flatnonzero(variance < least**2)
        if len(narrow):
            found[narrow] = cls._best_within_bound(
                averages[narrow], found[narrow], table[narrow], columns.take(narrow)
            )
        return found

    @classmethod
    def _best_within_bound(
        cls, averages: Floats, start: Floats, table: Floats, columns: LeafColumns
    ) -> Floats:
        """Return the best leaves, among those in `table` and ever finer grids around `start`.

        For a mean, the best deviation is the root mean square around it, or the bound.
        """
        best, value = start.copy(), cls.expected_log_density(start, averages, columns)
        is_valid = table[:, 1] >= cls.narrowest(table[:, 0], columns) * (1.0 - WIDTH_TOLERANCE)
        known = np.where(is_valid, cls.expected_log_density(table, averages, columns), -np.inf)
        better = known > value
        best[better], value[better] = table[better], known[better]
        reach = 3.0 * start[:, 1]  # further away, the mean square is worse than the bound
        size = len(_GRID)
        which = np.repeat(np.arange(len(best)), size)
        own = columns.take(which)
        for _ in range(_ZOOMS):
            mean = (best[:, :1] + reach[:, None] * _GRID).ravel()
            square = variance_of(averages)[which] + (mean - averages[which, 0]) ** 2
            sd = np.maximum(np.sqrt(square), cls.narrowest(mean, own))
            tried = np.stack([mean, sd], axis=1)
            found = cls.expected_log_density(tried, averages[which], own).reshape(-1, size)
            chosen = np.argmax(found, axis=1)
            rows = np.arange(len(best))
            better = found[rows, chosen] > value
            best[better] = tried.reshape(-1, size, 2)[rows, chosen][better]
            value = np.maximum(value, found[rows, chosen])
            reach = reach * (2.0 / (size - 1))
        return best

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a value from each leaf."""
        places = rng.normal(table[:, 0], table[:, 1])
        return _on_warps(Warp.to_values, places[:, None], columns)[:, 0]

    @classmethod
    def mode(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the value of highest density."""
        ends = np.full(len(table), np.inf)
        return cls.mode_within(table, -ends, ends, columns)

    @classmethod
    def mode_within(cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns) -> Floats:
        """Return the value of highest density between low and high, one inside a piece if it can.

        At the ends of pieces the density jumps, and is taken as that of the piece.
        """
        found = np.empty(len(table))
        for warp, own in _by_warp(columns):
            found[own] = modes(warp, table[own], low[own], high[own])
        return found

    @classmethod
    def mean(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the mean value."""
        ends = np.full(len(table), np.inf)
        return cls.moments_within(table, -ends, ends, columns)[0]

    @classmethod
    def variance(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the variance of the value."""
        ends = np.full(len(table), np.inf)
        return cls.moments_within(table, -ends, ends, columns)[1]

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance given low <= value <= high, from those within each piece."""
        mean, variance = np.empty(len(table)), np.empty(len(table))
        for warp, own in _by_warp(columns):
            mean[own], variance[own] = moments(warp, table[own], low[own], high[own])
        mass = cls.interval(table, low[:, None], high[:, None], columns)[:, 0]
        return only_possible(mass, mean, variance)

    @classmethod
    def quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value whose cdf is at least the share."""
        places = Gaussian.quantile(table, shares, columns)
        return _on_warps(Warp.to_values, places[:, None], columns)[:, 0]

    @classmethod
    def upper_quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the value that is exceeded with this probability."""
        places = Gaussian.upper_quantile(table, shares, columns)
        return _on_warps(Warp.to_values, places[:, None], columns)[:, 0]

    @classmethod
    def breaks(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the inner knots, at which the density jumps."""
        del table
        knots = [warp.pieces.values[1:-1] for warp, _ in _by_warp(columns)]
        return np.unique(np.concatenate([np.empty(0), *knots]))

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """All numbers are possible."""
        del columns
        return np.full(len(table), -np.inf), np.full(len(table), np.inf)


def _by_warp(columns: LeafColumns) -> list[tuple[Warp, Ints]]:
    """Return the warps, each with the leaves whose columns have it."""
    pairs = ((warp, np.flatnonzero(columns.warp == i)) for i, warp in enumerate(columns.warps))
    return [(warp, own) for warp, own in pairs if len(own)]


def _on_warps(function: Map, numbers: Floats, columns: LeafColumns) -> Floats:
    """Return a function of the numbers of each leaf; one row of them may be for all leaves."""
    warps = _by_warp(columns)
    if len(warps) == 1:
        return function(warps[0][0], numbers)
    found = np.empty((len(columns), numbers.shape[1]))
    for warp, own in warps:
        found[own] = function(warp, numbers if len(numbers) == 1 else numbers[own])
    return found
