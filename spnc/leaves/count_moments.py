"""Mean and variance of Poisson and negative binomial leaves within an interval."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats
from spnc.leaves import Distribution
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import only_possible
from spnc.leaves.quadrature import count_reach, ratio_to_peak, summed_moments
from spnc.leaves.stein import stein_moments

_MOST_TERMS = 4096.0  # of a sum that stands in for a closed form


def count_moments(
    kind: type[Distribution],
    table: Floats,
    low: Floats,
    high: Floats,
    columns: LeafColumns,
    ratio: Floats | float,
) -> tuple[Floats, Floats]:
    """Return mean and variance of leaves given low <= value <= high.

    `ratio` is the variance divided by the mean. The leaves have
    x p(x) = (1 - 1/ratio) (x - 1 + mean/(ratio - 1)) p(x - 1), or mean p(x - 1) for a ratio of one.
    """
    mass = kind.interval(table, low[:, None], high[:, None], columns)[:, 0]
    centre = kind.mean(table, columns)
    first, last = np.ceil(np.maximum(low, 0.0)), np.floor(high)

    def at(number: Floats) -> Floats:
        known = np.where(np.isfinite(number), np.maximum(number, 0.0), 0.0)
        return ratio * known * np.exp(kind.log_density(table, known[:, None], columns)[:, 0])

    closed = stein_moments(
        mass,
        first - centre,
        last + 1.0 - centre,
        at(first),
        at(last + 1.0),
        (centre * ratio, ratio - 1.0, 0.0),
    )
    mean, variance = centre + closed.mean, closed.variance
    own = np.flatnonzero(closed.is_doubtful)
    if len(own) > 0:
        known = columns.take(own)
        peak = np.clip(kind.mode(table[own], known), first[own], last[own])
        log_ratio = ratio_to_peak(kind, table[own], peak, known)
        scale = np.sqrt(kind.variance(table[own], known)) + 1.0
        left = count_reach(log_ratio, peak - first[own], scale, -1.0)
        right = count_reach(log_ratio, last[own] - peak, scale, 1.0)
        few = np.maximum(left, right) <= _MOST_TERMS
        found = summed_moments(log_ratio, np.where(few, left, 0.0), np.where(few, right, 0.0))
        mean[own] = np.where(few, peak + found[0], mean[own])
        variance[own] = np.where(few, found[1], variance[own])
    return only_possible(mass, mean, variance)
