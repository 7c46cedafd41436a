"""Questions to normal distributions on the pieces of a warp: modes, moments, and least widths.

A warp may have tens of thousands of pieces. Only those that matter to a leaf are looked at, and as
many leaves at once as memory is taken for lightly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column
from spnc.data.warp import Warp
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.normal import normal_density
from spnc.leaves.numeric import NORMAL_HEIGHT, WIDTH_TOLERANCE

_STEPS = 200  # of an iteration that converges within a few steps, but for rare leaves
_MOST_PAIRS = 2**18  # of leaves and pieces that are computed at once
_MARGIN = 1e-9  # for rounding errors
_DROP = 50.0  # nats below the peak from which on a density is left out: a share of 1e-21
_NARROW = 0.01  # standard deviations; half a piece up to which a short series is exact to 1e-9


def least_deviation(
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


def modes(warp: Warp, table: Floats, low: Floats, high: Floats) -> Floats:
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


def moments(warp: Warp, table: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
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
