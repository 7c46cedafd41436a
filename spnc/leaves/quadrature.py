"""Means and variances by numerical integration: sums of positive terms, so that no digits cancel.

Closed forms for the moments of a leaf within an interval are differences. They lose their digits
where the interval is narrow or far out in a tail; there, these integrals are as exact as the
density. They are also the default for leaves that have no closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.leaves import Distribution
from spnc.leaves.leaf_columns import LeafColumns

# Returns the logarithm of a density, divided by the one at the peak, at distances `[leaf, node]`.
LogRatio = Callable[[Floats], Floats]

_NODES = 16  # of Gauss-Legendre quadrature in each panel
_DROP = 50.0  # nats below the peak from which on a density is left out: a share of 1e-21
_DOUBLINGS = 1100  # from the least double to the largest
LEVELS = 4  # panels on each side, for smooth log-concave densities: exact to about 1e-14
MANY_LEVELS = 30  # for densities about which nothing is known


def integrated_moments(
    log_ratio: LogRatio,
    left: Floats,
    right: Floats,
    *,
    levels: int = LEVELS,
    place: Callable[[Floats], Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Return mean and variance of `place(t)` for t from -left to right, by leaf.

    t is the distance from the peak of the density. Panels double in width from there on.
    `place` is the identity by default.
    """
    nodes, weights = _panels(levels)
    t = np.concatenate([-left[:, None] * nodes, right[:, None] * nodes], axis=1)
    width = np.concatenate([left[:, None] * weights, right[:, None] * weights], axis=1)
    return _moments(np.exp(log_ratio(t)) * width, t if place is None else place(t))


def summed_moments(log_ratio: LogRatio, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of the whole numbers t from -left to right, by leaf."""
    count = int(max(left.max(initial=0.0), right.max(initial=0.0)))
    t = np.arange(-count, count + 1, dtype=np.float64)[None, :]
    inside = (t >= -left[:, None]) & (t <= right[:, None])
    t = np.where(inside, t, 0.0)
    return _moments(np.where(inside, np.exp(log_ratio(t)), 0.0), t)


def reach(log_ratio: LogRatio, limit: Floats, scale: Floats, sign: float) -> Floats:
    """Return how far from the peak the density matters, at most `limit`, in one direction.

    `scale` is where the search begins, above zero; `sign` is 1.0 to the right and -1.0 to the left.
    """

    def is_near(distance: Floats) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = log_ratio(sign * distance[:, None])[:, 0] > -_DROP
        return found

    found = np.minimum(limit, scale)
    for _ in range(_DOUBLINGS):
        nearer = is_near(found) & (found < limit)
        if not nearer.any():
            break
        found = np.where(nearer, np.minimum(2.0 * found, limit), found)
    for _ in range(_DOUBLINGS):
        further = ~is_near(0.5 * found) & (found > 0.0)
        if not further.any():
            break
        found = np.where(further, 0.5 * found, found)
    return found


def _moments(mass: Floats, places: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of places with these masses, by row."""
    share = mass / mass.sum(axis=1, keepdims=True)
    mean = (share * places).sum(axis=1)
    variance = (share * (places - mean[:, None]) ** 2).sum(axis=1)
    return mean, variance


@cache
def _panels(levels: int) -> tuple[Floats, Floats]:
    """Return nodes and weights for integrals from 0 to 1, in panels that halve towards 0.

    With `MANY_LEVELS` they also halve towards 1, where the support may end.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    ends = np.concatenate([[0.0], 0.5 ** np.arange(levels - 1, -1, -1.0)])
    if levels == MANY_LEVELS:  # halve towards 1 as well
        ends = np.concatenate([ends[:-1], 1.0 - ends[:-2][::-1]])
    low, width = ends[:-1, None], np.diff(ends)[:, None]
    return (low + width * (0.5 + 0.5 * nodes)).ravel(), (width * 0.5 * weights).ravel()


def count_reach(log_ratio: LogRatio, limit: Floats, scale: Floats, sign: float) -> Floats:
    """Return how many whole numbers beside the peak matter, at most `limit`; as `reach`."""

    def at_whole(t: Floats) -> Floats:
        return log_ratio(sign * np.ceil(np.abs(t)))

    return np.ceil(reach(at_whole, limit, scale, sign))


def numerical_moments(
    kind: type[Distribution], table: Floats, low: Floats, high: Floats, columns: LeafColumns
) -> tuple[Floats, Floats]:
    """Return mean and variance of leaves over numbers given low <= value <= high.

    Moments of a leaf that are not finite are not finite either within an unbounded interval.
    """
    mass = kind.interval(table, low[:, None], high[:, None], columns)[:, 0]
    ends = kind.support(table, columns)
    low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
    unbounded = np.isinf(low) | np.isinf(high)
    mean, variance = np.full((2, len(table)), np.nan)
    for is_count, moments in ((False, _real_moments), (True, _count_moments)):
        own = np.flatnonzero((mass > 0.0) & (columns.is_count == is_count))
        if len(own) > 0:
            part = kind, table[own], low[own], high[own], columns.take(own)
            mean[own], variance[own] = moments(*part)
    unbounded &= mass > 0.0
    usual = kind.mean(table, columns), kind.variance(table, columns)
    mean = np.where(unbounded & ~np.isfinite(usual[0]), usual[0], mean)
    return mean, np.where(unbounded & ~np.isfinite(usual[1]), usual[1], variance)


def _real_moments(
    kind: type[Distribution], table: Floats, low: Floats, high: Floats, columns: LeafColumns
) -> tuple[Floats, Floats]:
    peak = np.clip(kind.mode(table, columns), low, high)
    log_ratio, scale = ratio_to_peak(kind, table, peak, columns), _scale(columns)
    left = reach(log_ratio, peak - low, scale, -1.0)
    right = reach(log_ratio, high - peak, scale, 1.0)
    mean, variance = integrated_moments(log_ratio, left, right, levels=MANY_LEVELS)
    return peak + mean, variance


def _count_moments(
    kind: type[Distribution], table: Floats, low: Floats, high: Floats, columns: LeafColumns
) -> tuple[Floats, Floats]:
    low, high = np.ceil(low), np.floor(high)
    peak = np.clip(np.rint(kind.mode(table, columns)), low, high)
    log_ratio, scale = ratio_to_peak(kind, table, peak, columns), _scale(columns)
    left = count_reach(log_ratio, peak - low, scale, -1.0)
    right = count_reach(log_ratio, high - peak, scale, 1.0)
    mean, variance = summed_moments(log_ratio, left, right)
    return peak + mean, variance


def ratio_to_peak(
    kind: type[Distribution], table: Floats, peak: Floats, columns: LeafColumns
) -> LogRatio:
    """Return the log density at distances from the peak, relative to the one there."""
    top = kind.log_density(table, peak[:, None], columns)

    def log_ratio(t: Floats) -> Floats:
        found: Floats = kind.log_density(table, peak[:, None] + t, columns) - top
        return found

    return log_ratio


def _scale(columns: LeafColumns) -> Floats:
    """Return a distance to begin with, above zero."""
    return np.where(columns.sd > 0.0, columns.sd, columns.resolution)
