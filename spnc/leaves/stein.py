"""Moments within an interval in closed form, for leaves with a Stein identity.

The density p of most leaves has a polynomial s(d) = c0 + c1 d + c2 d², where d is the distance from
the mean, with (s p)' = -d p. For a Gaussian leaf, s is its variance. Integrated by parts over an
interval, the identity gives the conditional mean and variance from the probability of the interval
and the values of s p at its ends. Counts have the same identity with differences: s(d) p(x) is
x p(x) / c, and the upper end is the whole number after the interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats

# A variance below this share of the terms that it is the difference of has lost digits. Above, the
# error is a hundred times that of a special function.
_CANCELLED = 0.01


class SteinMoments(NamedTuple):
    """Conditional moments by leaf: the mean is relative to that of the whole leaf."""

    mean: Floats
    variance: Floats
    is_doubtful: NDArray[np.bool_]  # whether digits were lost


def stein_moments(
    mass: Floats,
    low: Floats,
    high: Floats,
    at_low: Floats,
    at_high: Floats,
    coefficients: tuple[Floats | float, ...],
    mean: Floats | None = None,
) -> SteinMoments:
    """Return the moments of leaves within intervals of probability `mass`.

    `low` and `high` are the ends as distances from the leaves' means; `at_low` and `at_high` are
    the values of s p there, zero at an end that is infinite. `coefficients` are c0, c1 and c2.
    `mean` is the conditional mean where it is known more exactly than by the identity.
    """
    constant, linear, quadratic = coefficients
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        below, above = at_low / mass, at_high / mass
        if mean is None:
            mean = below - above
        start = np.where(at_low > 0.0, low, 0.0) * below
        stop = np.where(at_high > 0.0, high, 0.0) * above
        square = (constant + linear * mean + start - stop) / (1.0 - quadratic)
        variance = square - mean**2
        terms = constant + np.abs(linear * mean) + np.abs(start) + np.abs(stop)
        terms = terms / np.abs(1.0 - quadratic) + mean**2
        kept = np.isfinite(variance) & (variance >= _CANCELLED * terms)
    return SteinMoments(mean, variance, ~kept & (mass > 0.0))
