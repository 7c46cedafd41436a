"""The gamma leaf: a positive column with a shape and a rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import (
    NumericLeaf,
    not_positive,
    only_possible,
    positive_mean,
    resolution_of,
    scale_of,
    too_narrow,
)
from spnc.leaves.quadrature import integrated_moments, reach
from spnc.leaves.special import (
    gamma_shape,
    increasing_root,
    log1p_deficit,
    log_minus_digamma,
    stirling_rest,
)
from spnc.leaves.stein import stein_moments
from spnc.registry import LEAVES

# The variance is at least this fraction of the squared resolution. The density of a value of at
# least one resolution is then at most one per resolution: x p(x) <= sqrt(shape / (2 pi)), which is
# enough for shapes below 2 pi; above, the highest density is at most
# rate / sqrt(1 + 2 pi (shape - 1)), since Gamma(x + 1) >= (x / e)^x sqrt(2 pi x + 1).
_SQUARES = 2.0 * np.pi - 1.0
_SHAPES = (1e-4, 1e32)  # of logarithms that lie far apart, and of a billion resolutions
_NARROW = 1e-4  # sd / mean below which the mean logarithm of a column has too few digits
_CANCELLED = 0.05  # of a mean square that is variance; below, the difference loses digits
_LARGEST = 1e300  # keeps ratios finite
_LARGE = 1e5  # shapes up to here multiply rounding errors of 1e-15 to no more than 1e-10


@LEAVES.register("gamma")
@dataclass(frozen=True, slots=True)
class Gamma(NumericLeaf):
    """`gamma(shape, rate)`: the mean is shape / rate."""

    shape: float
    rate: float

    # Learners take the first built-in leaf with a kind in front, and this is not the one for reals.
    kinds: ClassVar[tuple[ColumnKind, ...]] = ("date", "real")
    feature_count: ClassVar[int] = 2

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the parameters for a leaf over this column."""
        found = not_positive(shape=self.shape, rate=self.rate)
        if found:
            return found
        sd = float(np.sqrt(self.shape)) / self.rate
        return too_narrow(column, sd, _SQUARES**-0.5, "the standard deviation sqrt(shape) / rate")

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """The parameters with the mean and standard deviation of the column."""
        scale = scale_of(column)
        mean = max(scale.mean, scale.resolution)
        sd = max(scale.sd, scale.resolution)
        return (mean / sd) ** 2, mean / sd**2

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether all numbers are finite and positive."""
        del columns
        return table.shape[1] == 2 and bool((np.isfinite(table) & (table > 0)).all())

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        del columns
        shape, mean = table[:, :1], table[:, :1] / table[:, 1:]
        possible = values > 0.0
        known = np.where(possible, values, 1.0)
        logarithms = np.log(known)
        # In powers and exponentials of the value, large shapes would cancel; in the relative
        # distance from the mean they do not.
        with np.errstate(over="ignore"):
            apart = np.minimum((known - mean) / mean, _LARGEST)
            found: Floats = apart - (logarithms - np.log(mean))
            large = np.flatnonzero(shape > _LARGE)
            if len(large) > 0:
                found[large] = log1p_deficit(apart[large], apart[large] - found[large])
            found *= -shape
        found += stirling_rest(shape)
        found -= logarithms
        np.copyto(found, -np.inf, where=~possible)
        np.copyto(found, 0.0, where=np.isnan(values))
        return found

    @staticmethod
    def slope(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the derivative of the log density by the value; zero where it is missing."""
        del columns
        shape, rate = table[:, :1], table[:, 1:]
        possible = values > 0.0
        return np.where(possible, (shape - 1.0) / np.where(possible, values, 1.0) - rate, 0.0)

    @staticmethod
    def features(values: Floats, columns: LeafColumns) -> list[Floats]:
        """The relative distance z from the column's mean, and z - log(1 + z)."""
        unit = _unit(columns)[:, None]
        possible = values > 0.0
        known = np.where(possible, values, unit)
        z = (known - unit) / unit
        return [possible.astype(np.float64), z, log1p_deficit(z, np.log(known) - np.log(unit))]

    @staticmethod
    def average(table: Floats, columns: LeafColumns) -> Floats:
        """The features' averages over the positive values of the column."""
        del table
        unit, mean = _unit(columns), positive_mean(columns)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = columns.sd / columns.mean
            narrow = (columns.low > 0.0) & (relative < _NARROW)
            # For narrow columns, to first order; otherwise log(mean) minus the mean logarithm.
            excess = np.where(narrow, 0.5 * relative**2, np.log(mean) - columns.log_mean)
        z = (mean - unit) / unit
        return np.stack([z, log1p_deficit(z) + np.maximum(excess, 0.0)], axis=1)

    @staticmethod
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the most likely shape and rate within the resolution's bound.

        Without the bound, the mean is the average value and the shape is that of `gamma_shape`.
        Where this is too narrow, the maximum is on the bound.
        """
        del table
        z, deficit = averages[:, 0], averages[:, 1]
        mean = _unit(columns) * (1.0 + z)
        excess = deficit - log1p_deficit(z)  # log(mean) minus the mean logarithm
        resolution = resolution_of(columns)
        most = np.minimum(_SQUARES * (mean / resolution) ** 2, _SHAPES[1])
        narrow = excess < log_minus_digamma(most)[0]
        shape = gamma_shape(np.where(narrow, 1.0, excess), *_SHAPES)
        rate = shape / mean
        if narrow.any():
            shape[narrow] = most[narrow] * np.exp(_shift(excess[narrow], most[narrow]))
            rate[narrow] = np.sqrt(_SQUARES * shape[narrow]) / resolution[narrow]
        return np.stack([shape, rate], axis=1)

    @staticmethod
    def expected_log_density(table: Floats, averages: Floats, columns: LeafColumns) -> Floats:
        """Return the average log density by leaf, without the term -log(value)."""
        shape, rate = table[:, 0], table[:, 1]
        unit = _unit(columns)
        z, deficit = averages[:, 0], averages[:, 1]
        mean = shape / rate
        apart = (unit * (1.0 + z) - mean) / mean
        excess = deficit - log1p_deficit(z)
        found: Floats = stirling_rest(shape) - shape * (log1p_deficit(apart) + excess)
        return found

    @classmethod
    def coordinates(cls, table: Floats, columns: LeafColumns) -> Floats | None:
        """The logarithms of the mean, in units of the column's, and of the shape."""
        shape = table[:, 0]
        return np.stack([np.log(shape / table[:, 1] / _unit(columns)), np.log(shape)], axis=1)

    @classmethod
    def from_coordinates(cls, coordinates: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the shapes, within the resolution's bound, and the rates."""
        del table
        mean = np.exp(coordinates[:, 0]) * _unit(columns)
        most = np.minimum(_SQUARES * (mean / resolution_of(columns)) ** 2, _SHAPES[1])
        shape = np.clip(np.exp(coordinates[:, 1]), _SHAPES[0], most)
        return np.stack([shape, shape / mean], axis=1)

    @classmethod
    def gradient(cls, table: Floats, statistics: Floats, columns: LeafColumns) -> Floats:
        """Return the derivatives by the logarithms of the mean and of the shape."""
        shape, unit = table[:, 0], _unit(columns)
        mean = shape / table[:, 1]
        weight, z, deficit = statistics.T
        values = unit * (weight + z)  # the sum of the values
        logarithms = z - deficit + weight * np.log(unit)  # the sum of their logarithms
        apart = values / mean - weight
        slack = log_minus_digamma(shape)[0] * weight
        slack += logarithms - weight * np.log(mean) - apart
        return np.stack([shape * apart, shape * slack], axis=1)

    @classmethod
    def information(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the shape; and shape² trigamma(shape) - shape, which is at least a half."""
        from scipy.special import polygamma

        del columns
        shape = table[:, 0]
        # For large shapes the difference loses its digits; its limit is 1/2.
        spread = np.where(shape > _LARGE, 0.5, shape**2 * polygamma(1, shape) - shape)
        return np.stack([shape, spread], axis=1)

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a value from each leaf."""
        del columns
        drawn = rng.gamma(table[:, 0], 1.0 / table[:, 1])
        return np.maximum(drawn, np.finfo(np.float64).tiny)

    @staticmethod
    def mode(table: Floats, columns: LeafColumns) -> Floats:
        """Return (shape - 1) / rate, or one resolution where the density falls from zero on."""
        return np.maximum((table[:, 0] - 1.0) / table[:, 1], resolution_of(columns))

    @staticmethod
    def mean(table: Floats, columns: LeafColumns) -> Floats:
        """Return shape / rate."""
        del columns
        found: Floats = table[:, 0] / table[:, 1]
        return found

    @staticmethod
    def variance(table: Floats, columns: LeafColumns) -> Floats:
        """Return shape / rate²."""
        del columns
        found: Floats = table[:, 0] / table[:, 1] ** 2
        return found

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        from scipy.special import gammainc

        del columns
        found: Floats = gammainc(table[:, :1], table[:, 1:] * np.maximum(values, 0.0))
        return found

    @classmethod
    def above(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of more than the value."""
        from scipy.special import gammaincc

        del columns
        found: Floats = gammaincc(table[:, :1], table[:, 1:] * np.maximum(values, 0.0))
        return found

    @classmethod
    def quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value whose cdf is at least the share."""
        from scipy.special import gammaincinv

        del columns
        found: Floats = gammaincinv(table[:, 0], shares) / table[:, 1]
        return found

    @classmethod
    def upper_quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the value that is exceeded with this probability."""
        from scipy.special import gammainccinv

        del columns
        found: Floats = gammainccinv(table[:, 0], shares) / table[:, 1]
        return found

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance given low <= value <= high."""
        shape, rate = table[:, 0], table[:, 1]
        low, ends = np.maximum(low, 0.0), (low[:, None], high[:, None])
        mass = cls.interval(table, *ends, columns)[:, 0]
        centre = shape / rate

        def at(end: Floats) -> Floats:
            inner = (end > 0.0) & np.isfinite(end)
            known = np.where(inner, end, 1.0)
            density = np.exp(cls.log_density(table, known[:, None], columns)[:, 0])
            return np.where(inner, density * known / rate, 0.0)

        closed = stein_moments(
            mass, low - centre, high - centre, at(low), at(high), (centre / rate, 1.0 / rate, 0.0)
        )
        mean, variance = centre + closed.mean, closed.variance
        if (own := closed.is_doubtful).any():
            raised = [
                cls.interval(table + np.array([n, 0.0]), *ends, columns)[:, 0][own] / mass[own]
                for n in (1.0, 2.0)
            ]
            first = centre[own] * raised[0]
            second = centre[own] * (shape[own] + 1.0) / rate[own] * raised[1]
            narrow = second - first**2 < _CANCELLED * second
            found = _integrals(shape[own], rate[own], low[own], high[own])
            mean[own] = np.where(narrow, found[0], first)
            variance[own] = np.where(narrow, found[1], second - first**2)
        return only_possible(mass, mean, variance)

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """All positive numbers are possible."""
        del columns
        return np.zeros(len(table)), np.full(len(table), np.inf)


def _unit(columns: LeafColumns) -> Floats:
    return np.where(columns.mean > 0.0, columns.mean, np.exp(columns.log_mean))


def _integrals(shape: Floats, rate: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance within intervals that are narrow or far from zero.

    The density of the logarithm is smooth and log-concave, with its peak at the mean.
    """
    centre = shape / rate
    peak = np.clip(centre, low, high)
    excess = np.where(peak == centre, 0.0, shape - rate * peak)[:, None]

    def log_ratio(t: Floats) -> Floats:
        apart = np.expm1(t)
        return excess * apart - shape[:, None] * log1p_deficit(apart, t)

    with np.errstate(divide="ignore"):
        left, right = -np.log1p((low - peak) / peak), np.log1p((high - peak) / peak)
    scale = np.minimum(shape**-0.5, 1.0)
    left, right = reach(log_ratio, left, scale, -1.0), reach(log_ratio, right, scale, 1.0)
    mean, variance = integrated_moments(log_ratio, left, right, place=np.expm1)
    return peak * (1.0 + mean), peak**2 * variance


def _shift(excess: Floats, most: Floats) -> Floats:
    """Return log(shape / most) where the maximum is on the bound variance = const.

    `most` is the largest shape with the mean of the values. Along the bound, with
    shape = most exp(x), the derivative of the log-likelihood is the function below; it is positive
    at x = 0, and decreasing.
    """

    def function(x: Floats) -> tuple[Floats, Floats]:
        shape = most * np.exp(x)
        rest, slope = log_minus_digamma(shape)
        half = np.exp(-0.5 * x)
        value = excess - rest + 0.5 * x + 0.5 * np.expm1(-0.5 * x)
        return value, 0.5 - 0.25 * half - slope * shape

    end = 4.0 * log_minus_digamma(most)[0]
    return increasing_root(function, np.zeros_like(most), end, np.zeros_like(most))
