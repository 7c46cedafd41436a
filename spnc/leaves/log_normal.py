"""The log-normal leaf: the logarithm of a positive column is normally distributed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import (
    NORMAL_HEIGHT,
    NumericLeaf,
    not_finite,
    not_positive,
    resolution_of,
    scale_of,
    too_narrow,
)
from spnc.leaves.special import increasing_root
from spnc.registry import LEAVES

_LOG_ROOT = 0.5 * np.log(2.0 * np.pi)
# The least standard deviation of the logarithm, times exp(mean), in resolutions. With it the
# density of a value x of at least one resolution is at most one per resolution. Let s be the
# standard deviation. For s >= 1/sqrt(2 pi) this is so because x p(x) <= 1/(s sqrt(2 pi)); below,
# the highest density is exp(s²/2 - mean) / (s sqrt(2 pi)), and exp(s²/2) < exp(1/(4 pi)).
_LEAST = NORMAL_HEIGHT * float(np.exp(0.25 / np.pi))
_LARGEST_LOG = 600.0  # keeps exponentials finite


@LEAVES.register("log-normal")
@dataclass(frozen=True, slots=True)
class LogNormal(NumericLeaf):
    """`log-normal(mean, sd)`: the mean and standard deviation of the logarithm."""

    location: float  # the mean of the logarithm
    sd: float

    feature_count: ClassVar[int] = 2

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
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether all numbers are finite and all standard deviations positive."""
        del columns
        finite = table.shape[1] == 2 and bool(np.isfinite(table).all())
        return finite and bool((table[:, 1] > 0).all())

    @staticmethod
    def log_density(table: Floats, values: Floats) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        mean, sd = table[:, :1], table[:, 1:]
        possible = values > 0.0
        logarithms = np.log(np.where(possible, values, 1.0))
        with np.errstate(over="ignore"):
            found: Floats = logarithms - mean
            found /= sd
            np.square(found, out=found)
        found *= -0.5
        found -= np.log(sd) + _LOG_ROOT
        found -= logarithms
        np.copyto(found, -np.inf, where=~possible)
        np.copyto(found, 0.0, where=np.isnan(values))
        return found

    @staticmethod
    def features(values: Floats, columns: LeafColumns) -> list[Floats]:
        """The logarithm's distance from the column's mean in standard deviations; its square."""
        possible = values > 0.0
        logarithms = np.log(np.where(possible, values, 1.0))
        z = (logarithms - columns.log_mean[:, None]) / _unit(columns)[:, None]
        np.copyto(z, 0.0, where=~possible)
        return [possible.astype(np.float64), z, z * z]

    @staticmethod
    def average(table: Floats, columns: LeafColumns) -> Floats:
        """The features' averages over the positive values of the column: 0 and 1."""
        del table
        spread = (columns.log_sd / _unit(columns)) ** 2
        return np.stack([np.zeros_like(spread), spread], axis=1)

    @staticmethod
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the mean and standard deviation of the logarithm within the resolution's bound.

        Where the unconstrained maximum is too narrow, the maximum is on the bound.
        """
        del table
        unit = _unit(columns)
        mean = columns.log_mean + averages[:, 0] * unit
        variance = np.maximum(averages[:, 1] - averages[:, 0] ** 2, 0.0) * unit**2
        log_least = np.log(_LEAST * resolution_of(columns))
        log_bound = np.minimum(2.0 * (log_least - mean), _LARGEST_LOG)  # of the variance
        bound = np.exp(log_bound)
        narrow = variance < bound
        if narrow.any():
            mean[narrow] += _shift(variance[narrow], bound[narrow], log_bound[narrow])
        sd = np.where(narrow, np.exp(log_least - mean), np.sqrt(variance))
        return np.stack([mean, sd], axis=1)

    @staticmethod
    def expected_log_density(table: Floats, averages: Floats, columns: LeafColumns) -> Floats:
        """Return the average log density by leaf, without the term -log(value)."""
        unit = _unit(columns)
        mean, sd = (table[:, 0] - columns.log_mean) / unit, table[:, 1] / unit
        square = averages[:, 1] - 2.0 * mean * averages[:, 0] + mean**2
        found: Floats = -np.log(table[:, 1]) - 0.5 * square / sd**2
        return found

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
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        from scipy.special import ndtr

        del columns
        found: Floats = ndtr((_log(values) - table[:, :1]) / table[:, 1:])
        return found

    @classmethod
    def above(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of more than the value."""
        from scipy.special import ndtr

        del columns
        found: Floats = ndtr((table[:, :1] - _log(values)) / table[:, 1:])
        return found

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """All positive numbers are possible."""
        del columns
        return np.zeros(len(table)), np.full(len(table), np.inf)


def _unit(columns: LeafColumns) -> Floats:
    return np.where(columns.log_sd > 0.0, columns.log_sd, 1.0)


def _exp(logarithms: Floats) -> Floats:
    """Return exponentials that are positive and finite."""
    limits = np.finfo(np.float64)
    with np.errstate(over="ignore"):
        return np.clip(np.exp(logarithms), limits.tiny, limits.max)


def _log(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        found: Floats = np.log(np.maximum(values, 0.0))
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
