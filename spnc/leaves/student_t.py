"""The Student-t leaf: like a Gaussian, with heavier tails that are not thrown off by outliers.

A t distribution is a normal distribution whose precision is drawn from a gamma distribution, and
EM over that precision fits it. `statistics` weighs every value with its expected precision under
the current parameters; `estimate` is the M-step of parameter-expanded EM (Liu, Rubin and Wu, 1998),
which takes far fewer steps than plain EM and never lowers the likelihood either.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import (
    NORMAL_HEIGHT,
    NumericLeaf,
    column_unit,
    not_finite,
    not_positive,
    only_possible,
    resolution_of,
    scale_of,
    too_narrow,
    weighted_sums,
)
from spnc.leaves.special import gamma_shape
from spnc.leaves.student_t_within import standard_moments
from spnc.registry import LEAVES

LEAST_DF, MOST_DF = 1.0, 1000.0  # from a Cauchy distribution to what no data tell from a Gaussian
# From here, `fit_steps` steps end within 0.003 nats per row of the best, be the tails those of 1.5
# degrees of freedom or of a Gaussian; from 5 or 100, they end further away.
_START_DF = 10.0
_NODES = 7  # pseudo-values that stand for a row of the column
_LARGEST = 1e150  # its square is finite


@LEAVES.register("student-t")
@dataclass(frozen=True, slots=True)
class StudentT(NumericLeaf):
    """`student-t(mean, scale, df)`: df degrees of freedom, from 1 to 1000."""

    location: float
    scale: float
    df: float

    arity: ClassVar[int | None] = 3
    fit_steps: ClassVar[int] = 50
    feature_count: ClassVar[int] = 4

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the parameters for a leaf over this column."""
        found = [*not_finite(mean=self.location), *not_positive(scale=self.scale)]
        if not LEAST_DF <= self.df <= MOST_DF:
            found.append(f"df = {self.df:g} is not between {LEAST_DF:g} and {MOST_DF:g}")
        # The height of a t density times its scale is at most that of a normal density.
        return found + too_narrow(column, self.scale, NORMAL_HEIGHT, "scale")

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """A leaf with the column's mean and standard deviation."""
        known = scale_of(column)
        scale = known.sd * ((_START_DF - 2.0) / _START_DF) ** 0.5
        return known.mean, max(scale, NORMAL_HEIGHT * known.resolution), _START_DF

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether all numbers are finite and in range."""
        del columns
        if table.shape[1] != 3 or not np.isfinite(table).all():
            return False
        df = table[:, 2]
        return bool(((table[:, 1] > 0) & (df >= LEAST_DF) & (df <= MOST_DF)).all())

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        del columns
        from scipy.special import gammaln

        scale, df = table[:, 1:2], table[:, 2:]
        found = np.log1p(_squares(table, values))
        found *= -0.5 * (df + 1.0)
        found += gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * np.log(np.pi * df)
        found -= np.log(scale)
        np.copyto(found, 0.0, where=np.isnan(values))
        return found

    @staticmethod
    def slope(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the derivative of the log density by the value; zero where it is missing."""
        del columns
        location, scale, df = table[:, :1], table[:, 1:2], table[:, 2:]
        apart = (values - location) / scale
        found: Floats = -(df + 1.0) * apart / (df + apart**2) / scale
        np.copyto(found, 0.0, where=np.isnan(values))
        return found

    @classmethod
    def statistics(
        cls, values: Floats, flows: Floats, table: Floats, columns: LeafColumns
    ) -> Floats:
        """Return sums of 1, of precisions w, of w z and w z², and of log(1 + d²/df).

        z is the distance from the column's mean in its standard deviations, d the distance from
        the leaf's mean in units of its scale, and w = (df + 1) / (df + d²).
        """
        df = table[:, 2:]
        squares = _squares(table, values)
        missing = np.isnan(squares)
        np.copyto(squares, 0.0, where=missing)
        z = (values - columns.mean[:, None]) / column_unit(columns)[:, None]
        np.copyto(z, 0.0, where=missing)
        present = np.where(missing, 0.0, 1.0)
        precision = (df + 1.0) / df / (1.0 + squares)
        precision *= present
        first = precision * z
        second = first * z
        return weighted_sums(flows, [present, precision, first, second, np.log1p(squares)])

    @classmethod
    def average(cls, table: Floats, columns: LeafColumns) -> Floats:
        """The features' averages over a normal distribution like the column, by quadrature."""
        values, weights = _pseudo_rows(columns)
        return cls.statistics(values, weights, table, columns)[:, 1:]

    @classmethod
    def coordinates(cls, table: Floats, columns: LeafColumns) -> Floats | None:
        """The mean, in units from the column's mean, and the log scale; `df` has none."""
        unit = column_unit(columns)
        mean = (table[:, 0] - columns.mean) / unit
        return np.stack([mean, np.log(table[:, 1] / unit)], axis=1)

    @classmethod
    def from_coordinates(cls, coordinates: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the means and scales, these not below the resolution's bound."""
        unit = column_unit(columns)
        mean = columns.mean + coordinates[:, 0] * unit
        least = NORMAL_HEIGHT * resolution_of(columns)
        scale = np.maximum(np.exp(coordinates[:, 1]) * unit, least)
        return np.stack([mean, scale, table[:, 2]], axis=1)

    @classmethod
    def gradient(cls, table: Floats, statistics: Floats, columns: LeafColumns) -> Floats:
        """Return the derivatives by the mean and by the log scale."""
        unit = column_unit(columns)
        mean, scale = (table[:, 0] - columns.mean) / unit, table[:, 1] / unit
        weight, precision, first, second, _ = statistics.T
        squares = second - 2.0 * mean * first + mean**2 * precision
        return np.stack(
            [(first - mean * precision) / scale**2, squares / scale**2 - weight], axis=1
        )

    @classmethod
    def information(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the information about the mean and about the log scale."""
        df = table[:, 2]
        mean = (df + 1.0) / (df + 3.0) * (column_unit(columns) / table[:, 1]) ** 2
        return np.stack([mean, 2.0 * df / (df + 3.0)], axis=1)

    @staticmethod
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the parameters of the next step of EM."""
        from scipy.special import digamma

        unit, df = column_unit(columns), table[:, 2]
        precision = averages[:, 0]
        mean = averages[:, 1] / precision
        variance = np.maximum(averages[:, 2] / precision - mean**2, 0.0) * unit**2
        log_precision = digamma(0.5 * (df + 1.0)) - np.log(0.5 * df) - averages[:, 3]
        excess = np.log(precision) - log_precision
        # The expanded step divides the variance by the average precision. Where this makes the
        # leaf narrower than its resolution, plain EM has its maximum on the bound.
        least = (NORMAL_HEIGHT * resolution_of(columns)) ** 2
        narrow = variance < least
        excess = np.where(narrow, precision - 1.0 - log_precision, excess)
        variance = np.where(narrow, np.maximum(variance * precision, least), variance)
        df = 2.0 * gamma_shape(excess, 0.5 * LEAST_DF, 0.5 * MOST_DF)
        return np.stack([columns.mean + mean * unit, np.sqrt(variance), df], axis=1)

    @classmethod
    def log_prior(cls, table: Floats, alpha: float, columns: LeafColumns) -> float:
        """Return `alpha` times the expected log density of a row like the training column."""
        if alpha == 0.0:
            return 0.0
        values, weights = _pseudo_rows(columns)
        return float(alpha * (weights * cls.log_density(table, values, columns)).sum())

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a value from each leaf."""
        del columns
        found: Floats = table[:, 0] + table[:, 1] * rng.standard_t(table[:, 2])
        return found

    @staticmethod
    def mode(table: Floats, columns: LeafColumns) -> Floats:
        """Return the centre."""
        del columns
        return table[:, 0].copy()

    @staticmethod
    def mean(table: Floats, columns: LeafColumns) -> Floats:
        """Return the centre, or NaN for one degree of freedom."""
        del columns
        return np.where(table[:, 2] > 1.0, table[:, 0], np.nan)

    @staticmethod
    def variance(table: Floats, columns: LeafColumns) -> Floats:
        """Return the variance: infinite up to two degrees of freedom, NaN for one."""
        del columns
        df = table[:, 2]
        finite = table[:, 1] ** 2 * df / np.where(df > 2.0, df - 2.0, 1.0)
        return np.where(df > 2.0, finite, np.where(df > 1.0, np.inf, np.nan))

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        from scipy.special import stdtr

        del columns
        found: Floats = stdtr(table[:, 2:], (values - table[:, :1]) / table[:, 1:2])
        return found

    @classmethod
    def above(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of more than the value."""
        from scipy.special import stdtr

        del columns
        found: Floats = stdtr(table[:, 2:], (table[:, :1] - values) / table[:, 1:2])
        return found

    @classmethod
    def quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value whose cdf is at least the share."""
        from scipy.special import stdtrit

        del columns
        found: Floats = table[:, 0] + table[:, 1] * stdtrit(table[:, 2], shares)
        return found

    @classmethod
    def upper_quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the value that is exceeded with this probability."""
        from scipy.special import stdtrit

        del columns
        found: Floats = table[:, 0] - table[:, 1] * stdtrit(table[:, 2], shares)
        return found

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance given low <= value <= high."""
        location, scale = table[:, 0], table[:, 1]
        mass = cls.interval(table, low[:, None], high[:, None], columns)[:, 0]
        a, b = ((end - location) / scale for end in (low, high))
        mean, variance = standard_moments(table[:, 2], a, b, mass)
        return only_possible(mass, location + scale * mean, scale**2 * variance)

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """All numbers are possible."""
        del columns
        return np.full(len(table), -np.inf), np.full(len(table), np.inf)


def _squares(table: Floats, values: Floats) -> Floats:
    """Return d²/df, `[leaf, row]`, where d is the distance in units of the scale."""
    with np.errstate(over="ignore"):
        found: Floats = values - table[:, :1]
        found /= table[:, 1:2] * np.sqrt(table[:, 2:])
    np.clip(found, -_LARGEST, _LARGEST, out=found)
    return np.square(found, out=found)


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss-Hermite quadrature for the normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes, weights / weights.sum()


def _pseudo_rows(columns: LeafColumns) -> tuple[Floats, Floats]:
    """Return values and weights, `[leaf, node]`, that stand for one row of each column."""
    nodes, weights = _nodes()
    values = columns.mean[:, None] + columns.sd[:, None] * nodes
    return values, np.tile(weights, (len(columns), 1))
