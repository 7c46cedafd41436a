"""The exponential leaf: waiting times, or any column of numbers from 0 that are mostly small."""

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
from spnc.leaves.quadrature import integrated_moments
from spnc.registry import LEAVES

_NARROW = 2.0  # intervals of fewer means are integrated: differences would lose digits
_LARGEST = 745.0  # means after which exp(-x) is zero


@LEAVES.register("exponential")
@dataclass(frozen=True, slots=True)
class Exponential(NumericLeaf):
    """`exponential(rate)`: one divided by the mean."""

    rate: float

    # Learners take the first built-in leaf with a kind in front, and this is not the one for reals.
    kinds: ClassVar[tuple[ColumnKind, ...]] = ("date", "real")
    arity: ClassVar[int | None] = 1

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the rate for a leaf over this column."""
        found = not_positive(rate=self.rate)
        return found or too_narrow(column, 1.0 / self.rate, 1.0, "1 / rate")

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """The rate of a leaf with the column's mean."""
        scale = scale_of(column)
        return (1.0 / max(scale.mean, scale.resolution),)

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether all rates are finite and positive."""
        del columns
        return table.shape[1] == 1 and bool((np.isfinite(table) & (table > 0)).all())

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        del columns
        with np.errstate(over="ignore"):
            found: Floats = values * -table
        found += np.log(table)
        np.copyto(found, -np.inf, where=values < 0.0)
        np.copyto(found, 0.0, where=np.isnan(values))
        return found

    @staticmethod
    def slope(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the derivative of the log density by the value; zero where it is missing."""
        del columns
        return np.where(values >= 0.0, -table, 0.0)

    @staticmethod
    def features(values: Floats, columns: LeafColumns) -> list[Floats]:
        """The value itself."""
        del columns
        possible = values >= 0.0
        return [possible.astype(np.float64), np.where(possible, values, 0.0)]

    @staticmethod
    def average(table: Floats, columns: LeafColumns) -> Floats:
        """The column's mean."""
        del table
        return np.where(columns.low >= 0.0, columns.mean, positive_mean(columns))[:, None]

    @staticmethod
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the rate of this mean, at most one per resolution."""
        del table
        return 1.0 / np.maximum(averages, resolution_of(columns)[:, None])

    @staticmethod
    def expected_log_density(table: Floats, averages: Floats, columns: LeafColumns) -> Floats:
        """Return the average log density by leaf."""
        del columns
        found: Floats = (np.log(table) - table * averages)[:, 0]
        return found

    @classmethod
    def coordinates(cls, table: Floats, columns: LeafColumns) -> Floats | None:
        """The logarithm of the rate."""
        del columns
        return np.log(table)

    @classmethod
    def from_coordinates(cls, coordinates: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the rates, at most one per resolution."""
        del table
        return np.minimum(np.exp(coordinates), 1.0 / resolution_of(columns)[:, None])

    @classmethod
    def gradient(cls, table: Floats, statistics: Floats, columns: LeafColumns) -> Floats:
        """Return the derivative by the logarithm of the rate."""
        del columns
        found: Floats = statistics[:, :1] - table * statistics[:, 1:]
        return found

    @classmethod
    def information(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return one."""
        del columns
        return np.ones_like(table)

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a value from each leaf."""
        del columns
        return rng.exponential(1.0 / table[:, 0])

    @staticmethod
    def mode(table: Floats, columns: LeafColumns) -> Floats:
        """Return zero."""
        del columns
        return np.zeros(len(table))

    @staticmethod
    def mean(table: Floats, columns: LeafColumns) -> Floats:
        """Return one divided by the rate."""
        del columns
        found: Floats = 1.0 / table[:, 0]
        return found

    @staticmethod
    def variance(table: Floats, columns: LeafColumns) -> Floats:
        """Return the square of the mean."""
        del columns
        found: Floats = table[:, 0] ** -2.0
        return found

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        del columns
        found: Floats = -np.expm1(-table * np.maximum(values, 0.0))
        return found

    @classmethod
    def above(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of more than the value."""
        del columns
        found: Floats = np.exp(-table * np.maximum(values, 0.0))
        return found

    @classmethod
    def quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value whose cdf is at least the share."""
        del columns
        with np.errstate(divide="ignore"):
            found: Floats = -np.log1p(-shares) / table[:, 0]
        return found

    @classmethod
    def upper_quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the value that is exceeded with this probability."""
        del columns
        with np.errstate(divide="ignore"):
            found: Floats = -np.log(shares) / table[:, 0]
        return found

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance given low <= value <= high: what is above low forgets it."""
        rate = table[:, 0]
        mass = cls.interval(table, low[:, None], high[:, None], columns)[:, 0]
        start = np.maximum(low, 0.0)
        with np.errstate(invalid="ignore", over="ignore"):
            width = rate * (high - start)
        known = np.clip(np.where(mass > 0.0, width, 1.0), _NARROW, _LARGEST)
        rest = np.exp(-known)
        apart = 1.0 - known * rest / -np.expm1(-known)
        variance = 1.0 - rest * (known / np.expm1(-known)) ** 2
        if (own := (mass > 0.0) & (width < _NARROW)).any():
            found = integrated_moments(np.negative, np.zeros(int(own.sum())), width[own])
            apart[own], variance[own] = found
        return only_possible(mass, start + apart / rate, variance / rate**2)

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """All numbers from zero are possible."""
        del columns
        return np.zeros(len(table)), np.full(len(table), np.inf)
