"""The negative binomial leaf: counts that vary more than those of a Poisson leaf.

The log-likelihood contains log(size), log(size + 1), …, log(size + value - 1), whose sum is convex
in log(size). `statistics` sums the slope of its tangent at the current size; with the tangent in
place of the sum, `estimate` finds the maximum exactly. Since the tangent is below the sum and
touches it at the current size, no step lowers the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves.count_moments import count_moments
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import NumericLeaf, scale_of, weighted_sums
from spnc.leaves.poisson import log_powers, whole_numbers
from spnc.leaves.special import increasing_root
from spnc.registry import LEAVES

LEAST_SIZE, MOST_SIZE = 1e-6, 1e6  # from almost only zeros to what no data tell from a Poisson leaf
_LARGEST = 1e15  # larger counts are not told apart


@LEAVES.register("negative-binomial")
@dataclass(frozen=True, slots=True)
class NegativeBinomial(NumericLeaf):
    """`negative-binomial(size, p)`: failures before `size` successes of probability p.

    The mean is size (1 - p) / p, and the variance is the mean divided by p.
    """

    size: float
    p: float

    kinds: ClassVar[tuple[ColumnKind, ...]] = ("count",)
    fit_steps: ClassVar[int] = 50
    feature_count: ClassVar[int] = 2

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the parameters."""
        del column
        found = []
        if not LEAST_SIZE <= self.size <= MOST_SIZE:
            found.append(f"size = {self.size:g} is not between {LEAST_SIZE:g} and {MOST_SIZE:g}")
        if not 0.0 < self.p <= 1.0:
            found.append(f"p = {self.p:g} is not above 0 and at most 1")
        return found

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """The parameters with the mean and, if it is above the mean, the variance of the column."""
        scale = scale_of(column)
        mean, extra = max(scale.mean, 0.0), scale.sd**2 - scale.mean
        size = MOST_SIZE if extra * MOST_SIZE <= mean**2 else mean**2 / extra
        size = max(size, LEAST_SIZE)
        return size, size / (size + mean)

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether all sizes and probabilities are in range."""
        del columns
        if table.shape[1] != 2:
            return False
        size, p = table[:, 0], table[:, 1]
        return bool(((size >= LEAST_SIZE) & (size <= MOST_SIZE) & (p > 0) & (p <= 1)).all())

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        del columns
        from scipy.special import gammaln

        size, p = table[:, :1], table[:, 1:]
        known, outside = whole_numbers(values)
        found: Floats = gammaln(known + size)
        found += size * np.log(p) - gammaln(size)
        found += log_powers(1.0 - p, known)
        found -= gammaln(known + 1.0)
        found += outside
        np.copyto(found, 0.0, where=np.isnan(values))
        return found

    @classmethod
    def statistics(
        cls, values: Floats, flows: Floats, table: Floats, columns: LeafColumns
    ) -> Floats:
        """Return the sums of 1, of the values, and of the slopes of the tangents."""
        from scipy.special import digamma

        del columns
        size = table[:, :1]
        known, outside = whole_numbers(values)
        present = ~np.isnan(values) & (outside == 0.0)
        slopes = digamma(known + size)
        slopes -= digamma(size)
        slopes *= size
        return np.concatenate(
            [
                weighted_sums(flows, [present.astype(np.float64), known]),
                weighted_sums(flows, [slopes]),
            ],
            axis=1,
        )

    @classmethod
    def average(cls, table: Floats, columns: LeafColumns) -> Floats:
        """The features' averages over whole numbers with the column's mean and spread."""
        values, weights = _pseudo_rows(columns)
        return cls.statistics(values, weights, table, columns)[:, 1:]

    @staticmethod
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the maximum, with the tangents in place of the convex terms.

        p = size / (size + mean), and the size is the root of size log(1 + mean / size) = slope.
        """
        del columns
        mean, slope = averages[:, 0], averages[:, 1]
        with np.errstate(divide="ignore"):
            log_mean, log_slope = np.log(mean), np.log(slope)

        def function(log_size: Floats) -> tuple[Floats, Floats]:
            ratio = np.exp(log_mean - log_size)
            rise = np.log1p(ratio)
            # The left side's logarithm is almost linear in log(size) for small sizes.
            value = log_size + np.log(rise) - log_slope
            return value, 1.0 - ratio / ((1.0 + ratio) * rise)

        counted = (mean > 0.0) & (slope > 0.0)
        log_mean, log_slope = np.where(counted, log_mean, 0.0), np.where(counted, log_slope, -1.0)
        low, high = (np.full(len(mean), np.log(x)) for x in (LEAST_SIZE, MOST_SIZE))
        found = np.exp(increasing_root(function, low, high, np.log(table[:, 0])))
        size = np.where(counted, np.clip(found, LEAST_SIZE, MOST_SIZE), table[:, 0])
        return np.stack([size, size / (size + mean)], axis=1)

    @classmethod
    def log_prior(cls, table: Floats, alpha: float, columns: LeafColumns) -> float:
        """Return `alpha` times the expected log density of a row like the training column."""
        if alpha == 0.0:
            return 0.0
        values, weights = _pseudo_rows(columns)
        found = np.where(weights > 0.0, cls.log_density(table, values, columns), 0.0)
        return float(alpha * (weights * found).sum())

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a value from each leaf."""
        del columns
        size, p = table[:, 0], table[:, 1]
        return rng.poisson(rng.gamma(size, (1.0 - p) / p)).astype(np.float64)

    @staticmethod
    def mode(table: Floats, columns: LeafColumns) -> Floats:
        """Return the largest whole number that is not above (size - 1) (1 - p) / p."""
        del columns
        size, p = table[:, 0], table[:, 1]
        return np.floor(np.maximum(size - 1.0, 0.0) * (1.0 - p) / p)

    @staticmethod
    def mean(table: Floats, columns: LeafColumns) -> Floats:
        """Return size (1 - p) / p."""
        del columns
        found: Floats = table[:, 0] * (1.0 - table[:, 1]) / table[:, 1]
        return found

    @staticmethod
    def variance(table: Floats, columns: LeafColumns) -> Floats:
        """Return the mean divided by p."""
        del columns
        found: Floats = table[:, 0] * (1.0 - table[:, 1]) / table[:, 1] ** 2
        return found

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        from scipy.special import betainc

        del columns
        known = np.floor(np.clip(values, 0.0, _LARGEST))
        found = betainc(table[:, :1], known + 1.0, table[:, 1:])
        return np.where(values < 0.0, 0.0, np.where(values > _LARGEST, 1.0, found))

    @classmethod
    def above(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of more than the value."""
        from scipy.special import betainc

        del columns
        known = np.floor(np.clip(values, 0.0, _LARGEST))
        found = betainc(known + 1.0, table[:, :1], 1.0 - table[:, 1:])
        return np.where(values < 0.0, 1.0, np.where(values > _LARGEST, 0.0, found))

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance given low <= value <= high."""
        return count_moments(cls, table, low, high, columns, 1.0 / table[:, 1])

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """Return zero and infinity; only zero is possible with p = 1."""
        del columns
        return np.zeros(len(table)), np.where(table[:, 1] < 1.0, np.inf, 0.0)


def _pseudo_rows(columns: LeafColumns) -> tuple[Floats, Floats]:
    """Return whole numbers and weights, `[leaf, number]`, that stand for one row of each column.

    Two numbers have the column's mean and standard deviation: one standard deviation below and
    above the mean or, where the mean is too small for this, zero and a larger one. A number that is
    not whole is shared between its neighbours.
    """
    mean, sd = np.maximum(columns.mean, 0.0), columns.sd
    apart = mean >= sd
    share = np.where(apart, 0.5, sd**2 / np.maximum(sd**2 + mean**2, np.finfo(float).tiny))
    low = np.where(apart, mean - sd, 0.0)
    high = np.where(apart, mean + sd, mean / np.where(share < 1.0, 1.0 - share, 1.0))
    numbers, weights = np.stack([low, high], axis=1), np.stack([share, 1.0 - share], axis=1)
    whole = np.floor(numbers)
    part = numbers - whole
    values = np.concatenate([whole, whole + 1.0], axis=1)
    return values, np.concatenate([weights * (1.0 - part), weights * part], axis=1)
