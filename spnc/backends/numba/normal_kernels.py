"""The compiled loops over leaves that are normal on some scale: values, and sums of flows."""

from __future__ import annotations

import numpy as np

from spnc.backends.numba.kernels import FLOOR
from spnc.backends.planning.compiling import exact_kernel, inlined, kernel
from spnc.backends.planning.leaf_list import LEAST_RATIO

_LOG_FLOOR = float(np.log(FLOOR))
_LOG_LEAST = float(np.log(LEAST_RATIO))
_LOG_INFINITY = 710.0  # its exponential is infinite
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_, _, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13 = 1.0 / np.cumprod([1.0, *range(1, 14)])


@inlined
def _exponential(x):
    """Return exp(x) for -708 <= x <= 710, with an error of at most two units in the last place.

    Unlike the library's function, it is compiled into loops that compute several numbers at once:
    exp(x) = 2^k exp(r) with a whole k and |r| <= log(2)/2, for which a Taylor series is exact.
    """
    k = np.floor(x * _LOG2_E + 0.5)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    series = (1.0 + r) + r2 * (_2 + _3 * r) + r4 * ((_4 + _5 * r) + r2 * (_6 + _7 * r))
    series += r4 * r4 * ((_8 + _9 * r) + r2 * (_10 + _11 * r) + r4 * (_12 + _13 * r))
    bits = (np.int64(np.int32(k)) + 1023) << 52  # of the double 2^k
    return series * np.int64(bits).view(np.float64)


@exact_kernel
def normal_ratios(positions, log_slopes, codes, log_reference, parabolas, ratios):
    """Write ratios[leaf, row] of the densities to the reference; return whether any is low.

    `log_slopes` are added to the log densities of positions. The row of a missing value gets 1, and
    rows behind the last position 0. As in `leaf_list.exponential`, only what is impossible becomes
    zero. A ratio is low if it is below the floor of the kernels.
    """
    size = len(positions)
    places, present, shifts = np.empty(size), np.empty(size), np.empty(size)
    for k in range(size):
        known = not np.isnan(positions[k])
        places[k] = positions[k] if known else 0.0
        present[k] = 1.0 if known else 0.0
        slope = log_slopes[k] if known else 0.0
        shifts[k] = slope - log_reference[codes[k]]
    low = 0
    for i in range(len(ratios)):
        centre, rate, height = parabolas.centre[i], parabolas.rate[i], parabolas.height[i]
        own = ratios[i]
        for k in range(size):
            distance = rate * (places[k] - centre)
            log = shifts[k] + present[k] * (height - 0.5 * distance * distance)
            low += (log < _LOG_FLOOR) & (log > -np.inf)
            ratio = _exponential(min(max(log, _LOG_LEAST), _LOG_INFINITY))
            own[k] = ratio if log > -np.inf else 0.0
        own[size:] = 0.0
    return low > 0


@kernel
def normal_largest(positions, log_slopes, parabolas, largest):
    """Write the largest log density of any leaf by row; 0 where the value is missing."""
    size = len(positions)
    for k in range(size):
        position, top = positions[k], -np.inf
        if np.isnan(position):
            largest[k] = 0.0
            continue
        for i in range(len(parabolas.centre)):
            distance = parabolas.rate[i] * (position - parabolas.centre[i])
            top = max(top, parabolas.height[i] - 0.5 * distance * distance)
        largest[k] = log_slopes[k] + top


@kernel
def normal_sums(positions, origin, unit, flows, sums):
    """Write the sums of flows, and of flows times the first and second power of the position.

    Positions are distances from the origin in units. Missing and impossible values count nothing.
    """
    size = len(positions)
    present, distances = np.empty(size), np.empty(size)
    for k in range(size):
        known = positions[k] > -np.inf
        present[k] = 1.0 if known else 0.0
        distances[k] = (positions[k] - origin) / unit if known else 0.0
    for i in range(len(sums)):
        own = flows[i]
        total, first, second = 0.0, 0.0, 0.0
        for k in range(size):
            total += own[k] * present[k]
            weighted = own[k] * distances[k]
            first += weighted
            second += weighted * distances[k]
        sums[i, 0], sums[i, 1], sums[i, 2] = total, first, second


@inlined
def _raise(largest, values):
    for k in range(len(largest)):
        largest[k] = values[k] if values[k] > largest[k] else largest[k]


@kernel
def raise_to_largest(values, largest):
    """Raise largest[row] to the largest of values[leaf, row]."""
    for i in range(len(values)):
        _raise(largest, values[i])
