"""The log-normal leaf: the logarithm of a positive column is normally distributed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.normal import NormalLeaf, normal_integrals, variance_of
from spnc.leaves.numeric import (
    NORMAL_HEIGHT,
    not_finite,
    not_positive,
    only_possible,
    resolution_of,
    scale_of,
    too_narrow,
)
from spnc.leaves.special import increasing_root
from spnc.registry import LEAVES

# The least standard deviation of the logarithm, times exp(mean), in resolutions. With it the
# density of a value x of at least one resolution is at most one per resolution. Let s be the
# standard deviation. For s >= 1/sqrt(2 pi) this is so because x p(x) <= 1/(s sqrt(2 pi)); below,
# the highest density is exp(s²/2 - mean) / (s sqrt(2 pi)), and exp(s²/2) < exp(1/(4 pi)).
_LEAST = NORMAL_HEIGHT * float(np.exp(0.25 / np.pi))
# The log ratio of a mean square to a squared mean; below, the variance loses digits.
_NARROW = 0.1
_LARGEST_LOG = 600.0  # keeps exponentials finite


@LEAVES.register("log-normal")
@dataclass(frozen=True, slots=True)
class LogNormal(NormalLeaf):
    """`log-normal(mean, sd)`: the mean and standard deviation of the logarithm."""

    location: float  # the mean of the logarithm
    sd: float

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the parameters for a leaf over this column."""
        found = [*not_finite(mean=self.location), *not_positive(sd=self.sd)]
        if found:
            return found
        width = self.sd * float(np.exp(min(self.location, _LARGEST_LOG)))
        return too_narrow(column, width, _LEAST, "sd times exp(mean)")

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """The mean and standard deviation of the logarithms of the column's positive values."""
        scale = scale_of(column)
        least = _LEAST * scale.resolution * np.exp(np.clip(-scale.log_mean, None, _LARGEST_LOG))
        return scale.log_mean, float(max(scale.log_sd, least))

    @staticmethod
    def positions(values: Floats, columns: LeafColumns) -> Floats:
        """The logarithms; -inf for values that are not positive."""
        del columns
        with np.errstate(divide="ignore"):
            found: Floats = np.log(np.maximum(values, 0.0))
        return found

    @classmethod
    def log_slopes(cls, values: Floats, columns: LeafColumns) -> Floats:
        """Minus the logarithms, since the derivative of log(value) is 1/value."""
        found = cls.positions(values, columns)
        return np.negative(found, out=np.zeros_like(found), where=np.isfinite(found))

    @classmethod
    def slope(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the derivative of the log density by the value; zero where there is none."""
        mean, sd = table[:, :1], table[:, 1:]
        possible = values > 0.0
        known = np.where(possible, values, 1.0)
        distance = (cls.positions(known, columns) - mean) / sd**2
        return np.where(possible, (-1.0 - distance) / known, 0.0)

    @staticmethod
    def origin(columns: LeafColumns) -> Floats:
        """Return the mean logarithm of each column."""
        return columns.log_mean

    @staticmethod
    def unit(columns: LeafColumns) -> Floats:
        """Return the standard deviation of the logarithms of each column, or 1."""
        return np.where(columns.log_sd > 0.0, columns.log_sd, 1.0)

    @staticmethod
    def spread(columns: LeafColumns) -> Floats:
        """Return the standard deviation of the logarithms of each column."""
        return columns.log_sd

    @staticmethod
    def narrowest(mean: Floats, columns: LeafColumns) -> Floats:
        """Return the standard deviation at which the density is one per resolution."""
        exponent = np.log(_LEAST * resolution_of(columns)) - mean
        return np.exp(np.minimum(exponent, _LARGEST_LOG))

    @classmethod
    def best(cls, averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the mean and standard deviation of the logarithm within the resolution's bound.

        Where the unconstrained maximum is too narrow, the maximum is on the bound.
        """
        del table
        unit = cls.unit(columns)
        mean = columns.log_mean + averages[:, 0] * unit
        variance = variance_of(averages) * unit**2
        log_least = np.log(_LEAST * resolution_of(columns))
        log_bound = np.minimum(2.0 * (log_least - mean), _LARGEST_LOG)  # of the variance
        bound = np.exp(log_bound)
        narrow = variance < bound
        if narrow.any():
            mean[narrow] += _shift(variance[narrow], bound[narrow], log_bound[narrow])
        sd = np.where(narrow, np.exp(log_least - mean), np.sqrt(variance))
        return np.stack([mean, sd], axis=1)

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a value from each leaf."""
        del columns
        return _exp(rng.normal(table[:, 0], table[:, 1]))

    @staticmethod
    def mode(table: Floats, columns: LeafColumns) -> Floats:
        """Return exp(mean - sd²)."""
        del columns
        return _exp(table[:, 0] - table[:, 1] ** 2)

    @staticmethod
    def mean(table: Floats, columns: LeafColumns) -> Floats:
        """Return exp(mean + sd²/2)."""
        del columns
        with np.errstate(over="ignore"):
            found: Floats = np.exp(table[:, 0] + 0.5 * table[:, 1] ** 2)
        return found

    @staticmethod
    def variance(table: Floats, columns: LeafColumns) -> Floats:
        """Return (exp(sd²) - 1) exp(2 mean + sd²)."""
        del columns
        square = table[:, 1] ** 2
        with np.errstate(over="ignore"):
            found: Floats = np.exp(np.log(np.expm1(square)) + 2.0 * table[:, 0] + square)
        return found

    @classmethod
    def quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value whose cdf is at least the share."""
        from scipy.special import ndtri

        del columns
        with np.errstate(over="ignore"):
            found: Floats = np.exp(table[:, 0] + table[:, 1] * ndtri(shares))
        return found

    @classmethod
    def upper_quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the value that is exceeded with this probability."""
        from scipy.special import ndtri

        del columns
        with np.errstate(over="ignore"):
            found: Floats = np.exp(table[:, 0] - table[:, 1] * ndtri(shares))
        return found

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance given low <= value <= high.

        x^n p(x) is a log-normal density with another mean of the logarithm, times a constant.
        """
        location, sd = table[:, 0], table[:, 1]
        mass = cls.interval(table, low[:, None], high[:, None], columns)[:, 0]
        a, b = ((cls.positions(end, columns) - location) / sd for end in (low, high))
        with np.errstate(invalid="ignore", over="ignore"):
            whole, once, twice = (_log_mass(a - n * sd, b - n * sd) for n in range(3))
            log_mean = location + 0.5 * sd**2 + once - whole
            log_ratio = sd**2 + twice + whole - 2.0 * once  # of the mean square to the squared mean
            mean = np.exp(log_mean)
            variance = np.exp(2.0 * log_mean + np.log(np.expm1(np.maximum(log_ratio, _NARROW))))
        own = ~(log_ratio > _NARROW) & (mass > 0.0)
        if own.any():
            centre = _exp(location[own])
            peak = np.clip(centre, low[own], high[own])
            with np.errstate(divide="ignore"):
                left = -np.log1p((np.maximum(low[own], 0.0) - peak) / peak) / sd[own]
            right = np.log1p((high[own] - peak) / peak) / sd[own]
            start = np.where(peak == centre, 0.0, (np.log(peak) - location[own]) / sd[own])
            apart, square = normal_integrals(
                start, left, right, lambda t: np.expm1(sd[own][:, None] * t)
            )
            mean[own], variance[own] = peak * (1.0 + apart), peak**2 * square
        return only_possible(mass, mean, variance)

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """All positive numbers are possible."""
        del columns
        return np.zeros(len(table)), np.full(len(table), np.inf)


def _exp(logarithms: Floats) -> Floats:
    """Return exponentials that are positive and finite."""
    limits = np.finfo(np.float64)
    with np.errstate(over="ignore"):
        return np.clip(np.exp(logarithms), limits.tiny, limits.max)


def _log_mass(low: Floats, high: Floats) -> Floats:
    """Return the log probability that a standard normal number is between two numbers."""
    from scipy.special import log_ndtr

    low, high = np.where(low > 0.0, -high, low), np.where(low > 0.0, -low, high)
    end = log_ndtr(high)
    with np.errstate(divide="ignore"):
        found: Floats = end + np.log1p(-np.exp(log_ndtr(low) - end))
    return found


def _shift(variance: Floats, bound: Floats, log_bound: Floats) -> Floats:
    """Return by how much the mean rises where the maximum is on the bound sd = c exp(-mean).

    The derivative of the log-likelihood along the bound is zero at the d >= 0 for which
    exp(2 d) (variance + d + d²) = bound; the left side is increasing and convex.
    """

    def function(d: Floats) -> tuple[Floats, Floats]:
        growth = np.exp(2.0 * d - log_bound)
        value = growth * (variance + d + d * d)
        return value - 1.0, 2.0 * value + growth * (1.0 + 2.0 * d)

    most = np.minimum(bound, np.maximum(1.0, 0.5 * log_bound))
    return increasing_root(function, np.zeros_like(bound), most, most)
