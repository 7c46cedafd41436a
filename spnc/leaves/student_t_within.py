"""Mean and variance of the standard t distribution within an interval."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats
from spnc.leaves.quadrature import integrated_moments, reach
from spnc.leaves.stein import stein_moments

_LARGEST = 1e150  # its square is finite
_LEVELS = 12  # panels of integrals: intervals of the logarithm may be long
_HEAVY = 2.5  # degrees of freedom up to which the second moment needs all of an interval


def standard_moments(df: Floats, low: Floats, high: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Return the moments of t distributions within intervals of probability `mass`.

    With infinite ends, the mean is infinite (or, with two, NaN) for one degree of freedom, and the
    variance is infinite up to two.
    """
    from scipy.special import gammaln

    infinite = np.isinf(low) | np.isinf(high)
    height = np.exp(gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df)) / np.sqrt(np.pi * df)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = _mean(df, low, high) * height / mass

    def at(end: Floats) -> Floats:
        known = np.clip(end, -_LARGEST, _LARGEST)
        found = df * height * np.exp(-0.5 * (df - 1.0) * np.log1p(known**2 / df))
        return np.where(np.isinf(end), 0.0, found)

    # All coefficients are multiplied by df - 1, which may be zero: here, s(d) is df + d².
    closed = stein_moments(mass, low, high, at(low), at(high), (df, 0.0, 3.0 - df), mean)
    variance = np.where(infinite & (df <= 2.0), np.inf, closed.variance)
    own = closed.is_doubtful & ~(infinite & (df <= _HEAVY))
    if own.any():
        mean[own], variance[own] = _integrals(df[own], low[own], high[own])
    return mean, np.where(np.isnan(mean), np.nan, variance)


def _mean(df: Floats, low: Floats, high: Floats) -> Floats:
    """Return the integrals of z (1 + z²/df)^(-(df + 1)/2), stable for df near one."""
    from scipy.special import exprel

    power = 0.5 * (1.0 - df)
    a, b = np.clip(low, -_LARGEST, _LARGEST), np.clip(high, -_LARGEST, _LARGEST)
    near = 1.0 + np.minimum(np.abs(a), np.abs(b)) ** 2 / df
    sign = np.sign(np.abs(b) - np.abs(a))
    # The logarithm of the ratio of 1 + z²/df at the further end to that at the nearer one.
    rise = np.log1p(np.abs((b - a) * (b + a)) / df / near)
    found = rise * exprel(power * rise)
    found = np.where(np.isinf(low) | np.isinf(high), 1.0 / np.abs(power), found)
    found = 0.5 * df * sign * near**power * found
    both = np.isinf(low) & np.isinf(high)
    return np.where(both, np.where(df > 1.0, 0.0, np.nan), found)


def _integrals(df: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance where closed forms lose digits.

    With z = sqrt(df) sinh(u), the density of u is cosh(u)^-df, which is log-concave.
    """
    root = np.sqrt(df)
    peak, a, b = (
        np.clip(z, -_LARGEST, _LARGEST) / root for z in (np.clip(0.0, low, high), low, high)
    )
    sinh, cosh = peak[:, None], np.sqrt(1.0 + peak**2)[:, None]

    def log_ratio(t: Floats) -> Floats:
        # cosh(u + t) / cosh(u) - 1, where u and t never have different signs.
        growth = 2.0 * np.sinh(0.5 * t) ** 2 + sinh / cosh * np.sinh(t)
        found: Floats = -df[:, None] * np.log1p(growth)
        return found

    def square_ratio(t: Floats) -> Floats:
        return log_ratio(t) * (1.0 - 2.0 / df[:, None])

    def place(t: Floats) -> Floats:
        apart: Floats = 2.0 * sinh * np.sinh(0.5 * t) ** 2 + cosh * np.sinh(t)
        return root[:, None] * apart

    left, right = _apart(peak, a), _apart(peak, b)
    light = df > _HEAVY
    start = 1.0 / np.sqrt(df)
    left = np.where(light, reach(square_ratio, left, start, -1.0), left)
    right = np.where(light, reach(square_ratio, right, start, 1.0), right)
    mean, variance = integrated_moments(log_ratio, left, right, levels=_LEVELS, place=place)
    return root * peak + mean, variance


def _apart(peak: Floats, end: Floats) -> Floats:
    """Return |asinh(end) - asinh(peak)| for two numbers of the same sign, without cancellation."""
    with np.errstate(invalid="ignore"):
        total = (peak + end) / (end * np.sqrt(1.0 + peak**2) + peak * np.sqrt(1.0 + end**2))
    found: Floats = np.arcsinh(np.abs(end - peak) * np.where(end == peak, 0.0, total))
    return found
