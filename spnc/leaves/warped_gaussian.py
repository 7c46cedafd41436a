"""The warped Gaussian leaf: a column is normally distributed at the places of its warp.

A warp that fits the column (`spnc.data.warp`) makes the marginal distribution standard normal, so
`warped-gaussian(0, 1)` is the column itself, whatever its shape, and leaves of a circuit are
narrower or shifted versions of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column, ColumnKind
from spnc.data.warp import Warp
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.normal import NormalLeaf, normal_density, variance_of
from spnc.leaves.numeric import (
    NORMAL_HEIGHT,
    WIDTH_TOLERANCE,
    not_finite,
    not_positive,
    only_possible,
    resolution_of,
)
from spnc.registry import LEAVES

Map = Callable[[Warp, Floats], Floats]
# Grids of means around the best so far, each as wide as two steps of the one before.
_GRID = np.linspace(-1.0, 1.0, 33)
_ZOOMS = 7
_STEPS = 200  # of an iteration that converges within a few steps, but for rare leaves
_MOST_PAIRS = 2**18  # of leaves and pieces that are computed at once
_MARGIN = 1e-9  # for rounding errors
_DROP = 50.0  # nats below the peak from which on a density is left out: a share of 1e-21
_NARROW = 0.01  # standard deviations; half a piece up to which a short series is exact to 1e-9


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
            found[own] = _least_deviation(warp, mean[own], first, last, 2.0 * half[own])
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
            found[own] = _modes(warp, table[own], low[own], high[own])
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
            mean[own], variance[own] = _moments(warp, table[own], low[own], high[own])
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


def _least_deviation(
    warp: Warp, mean: Floats, first: Ints, last: Ints, resolution: Floats
) -> Floats:
    """Return the least deviations whose densities in pieces first … last are within the bound.

    In a piece of slope s that is d away from the mean, the density is at most 1/resolution if
    sd >= resolution · s · exp(-d² / (2 sd²)) / sqrt(2 pi). The right side rises with sd, so taking
    it for sd again and again, from below, ends at the least solution. Leaves wider than the column
    itself would have higher densities in its tails, not lower ones.
    """
    found = np.empty(len(mean))
    for pairs in _pairs(first, last):
        start, stop = _ends(warp, pairs.piece)
        place = mean[pairs.leaf]
        apart = np.maximum(np.maximum(start - place, place - stop), 0.0)
        most = NORMAL_HEIGHT * resolution[pairs.leaf] * warp.pieces.slopes[pairs.piece]
        least = pairs.highest(np.where(apart == 0.0, most, 0.0))
        widest = np.maximum(least, 1.0)
        rises = np.full(len(least), True)
        for _ in range(_STEPS):
            after = pairs.highest(most * np.exp(-0.5 * (apart / least[pairs.number]) ** 2))
            after = np.where(rises, np.maximum(after, least), least)
            rises &= after > least * (1.0 + WIDTH_TOLERANCE)
            least = after
            if not rises.any():
                break
        found[pairs.leaves] = np.minimum(least, widest)
    return found


def _modes(warp: Warp, table: Floats, low: Floats, high: Floats) -> Floats:
    """Return the values of highest density within intervals, of leaves over one column."""
    pieces, (mean, sd) = warp.pieces, table.T
    first, last = warp.to_places(low), warp.to_places(high)
    peak = np.clip(mean, first, last)
    # No piece is steep enough to be higher than the one at the peak, if it is further away.
    steeper = pieces.log_slopes.max() - pieces.log_slopes[_piece_at(warp, peak)]
    reach = np.hypot(peak - mean, sd * np.sqrt(2.0 * steeper)) * (1.0 + _MARGIN)
    found = np.empty(len(table))
    start, stop = np.maximum(first, mean - reach), np.minimum(last, mean + reach)
    for pairs in _pairs(_piece_at(warp, start), _piece_at(warp, stop)):
        leaf, piece = pairs.leaf, pairs.piece
        start, stop = _ends(warp, piece)
        start, stop = np.maximum(start, first[leaf]), np.minimum(stop, last[leaf])
        best = np.clip(mean[leaf], start, np.maximum(start, stop))
        height = pieces.log_slopes[piece] - 0.5 * ((best - mean[leaf]) / sd[leaf]) ** 2
        height = np.where(start <= stop, height, -np.inf)
        highest = np.flatnonzero(height == pairs.highest(height)[pairs.number])
        _, each = np.unique(leaf[highest], return_index=True)
        chosen = highest[each]
        piece, place = piece[chosen], best[chosen]
        inside = pieces.values[piece] + (place - pieces.places[piece]) / pieces.slopes[piece]
        # The end of a piece belongs to the next one, whose density may be lower.
        is_end = (place >= stop[chosen]) & (stop[chosen] < last[pairs.leaves])
        inside = np.where(is_end, np.nextafter(inside, -np.inf), inside)
        found[pairs.leaves] = np.clip(inside, low[pairs.leaves], high[pairs.leaves])
    return found


def _on_warps(function: Map, numbers: Floats, columns: LeafColumns) -> Floats:
    """Return a function of the numbers of each leaf; one row of them may be for all leaves."""
    warps = _by_warp(columns)
    if len(warps) == 1:
        return function(warps[0][0], numbers)
    found = np.empty((len(columns), numbers.shape[1]))
    for warp, own in warps:
        found[own] = function(warp, numbers if len(numbers) == 1 else numbers[own])
    return found


def _moments(warp: Warp, table: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance within intervals, of leaves over one column."""
    places, values, (mean, sd) = warp.pieces.places, warp.pieces.values, table.T
    first, last = warp.to_places(low), warp.to_places(high)
    peak = np.abs(np.clip(mean, first, last) - mean) / sd
    # Where the density is exp(-_DROP) of that at the peak, it is left out.
    reach = sd * np.sqrt(peak**2 + 2.0 * _DROP)
    found, variance = np.full(len(table), np.nan), np.full(len(table), np.nan)
    start, stop = np.maximum(first, mean - reach), np.minimum(last, mean + reach)
    for pairs in _pairs(_piece_at(warp, start), _piece_at(warp, stop)):
        leaf, piece = pairs.leaf, pairs.piece
        start, stop = _ends(warp, piece)
        start, stop = np.maximum(start, first[leaf]), np.minimum(stop, last[leaf])
        mass, place, spread = _in_pieces(table[leaf], start, stop, peak[leaf])
        slope = warp.pieces.slopes[piece]
        value = values[piece] + (place - places[piece]) / slope
        # Differences from a value nearby keep the digits of values far from zero.
        near, number = value[pairs.starts], pairs.number
        near = np.where(np.isnan(near), values[piece[pairs.starts]], near)
        possible = mass > 0.0
        mass = np.where(possible, mass, 0.0)
        apart = np.where(possible, value - near[number], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            total = pairs.sums(mass)
            shift = pairs.sums(mass * apart) / total
            square = (apart - shift[number]) ** 2 + np.where(possible, spread, 0.0) / slope**2
            found[pairs.leaves] = near + shift
            variance[pairs.leaves] = pairs.sums(mass * square) / total
    return found, variance


def _in_pieces(
    table: Floats, start: Floats, stop: Floats, peak: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return probability, mean and variance of places between start and stop, by leaf.

    `peak` is how far, in standard deviations, the densest place of the whole interval is from the
    mean. Where the density hardly changes, its series is as exact as the closed forms, and faster.
    """
    mean, sd = table.T
    half = 0.5 * (stop - start)
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (start + stop)
        is_narrow = (half > 0.0) & (half * np.maximum(peak, 1.0) < _NARROW * sd)
    mass, place = np.zeros(len(table)), np.full(len(table), np.nan)
    spread = np.zeros(len(table))
    if (own := is_narrow).any():
        unit, distance = half[own] / sd[own], (middle[own] - mean[own]) / sd[own]
        # The density is exp(tilt · u - curve · u² / 2) of that in the middle, for u from -1 to 1.
        tilt, curve = -distance * unit, unit**2
        mass[own] = 2.0 * unit * normal_density(distance) * (1.0 + (tilt**2 - curve) / 6.0)
        place[own] = middle[own] + half[own] * tilt * (1 / 3 - tilt**2 / 45 - curve * (2 / 45))
        spread[own] = half[own] ** 2 * (1 / 3 - tilt**2 / 15 - curve * (2 / 45))
    if (own := ~is_narrow & (start < stop)).any():
        known = LeafColumns.of([Column("x", "real", 0)], np.zeros(int(own.sum()), dtype=np.int64))
        ends = start[own], stop[own]
        mass[own] = Gaussian.interval(table[own], ends[0][:, None], ends[1][:, None], known)[:, 0]
        place[own], spread[own] = Gaussian.moments_within(table[own], *ends, known)
    return mass, place, spread


def _piece_at(warp: Warp, places: Floats) -> Ints:
    """Return the number of the piece that each place lies in; at a knot, the upper one."""
    found: Ints = np.searchsorted(warp.pieces.places[1:-1], places, side="right")
    return found


def _ends(warp: Warp, piece: Ints) -> tuple[Floats, Floats]:
    """Return the places where pieces start and stop; the outer ones go on without an end."""
    places = warp.pieces.places
    start = np.where(piece == 0, -np.inf, places[piece])
    return start, np.where(piece == len(places) - 2, np.inf, places[piece + 1])


class _Pairs(NamedTuple):
    """Leaves `leaves`, each with some pieces of a warp, one after another."""

    leaves: slice
    starts: Ints  # of each leaf's pieces in the following
    number: Ints  # of the leaf among `leaves`
    leaf: Ints
    piece: Ints

    def highest(self, numbers: Floats) -> Floats:
        """Return the highest number of each leaf."""
        found: Floats = np.maximum.reduceat(numbers, self.starts)
        return found

    def sums(self, numbers: Floats) -> Floats:
        """Return the sum of each leaf's numbers."""
        found: Floats = np.add.reduceat(numbers, self.starts)
        return found


def _pairs(first: Ints, last: Ints) -> Iterator[_Pairs]:
    """Yield leaves with pieces first … last, as many at once as memory is taken for lightly."""
    counts = np.maximum(last - first + 1, 1)
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        before = int(ends[begin] - counts[begin])
        end = max(begin + 1, int(np.searchsorted(ends, before + _MOST_PAIRS, side="right")))
        starts = ends[begin:end] - counts[begin:end] - before
        number = np.repeat(np.arange(end - begin), counts[begin:end])
        piece = first[begin + number] + np.arange(len(number)) - starts[number]
        yield _Pairs(slice(begin, end), starts, number, begin + number, piece)
        begin = end
