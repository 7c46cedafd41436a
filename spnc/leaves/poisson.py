"""The Poisson leaf: the number of events in a count column, at a constant rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves.count_moments import count_moments
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import NumericLeaf, scale_of
from spnc.registry import LEAVES


@LEAVES.register("poisson")
@dataclass(frozen=True, slots=True)
class Poisson(NumericLeaf):
    """`poisson(rate)`: the expected number of events."""

    rate: float

    kinds: ClassVar[tuple[ColumnKind, ...]] = ("count",)
    arity: ClassVar[int | None] = 1

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the rate."""
        del column
        if np.isfinite(self.rate) and self.rate >= 0.0:
            return []
        return [f"rate = {self.rate:g} is not a finite number of at least 0"]

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """The mean of the column."""
        return (max(scale_of(column).mean, 0.0),)

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether all rates are finite and not negative."""
        del columns
        return table.shape[1] == 1 and bool((np.isfinite(table) & (table >= 0)).all())

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        del columns
        from scipy.special import gammaln

        known, outside = whole_numbers(values)
        rate = table[:, :1]
        found = log_powers(rate, known)
        found -= rate
        found -= gammaln(known + 1.0)
        found += outside
        np.copyto(found, 0.0, where=np.isnan(values))
        return found

    @staticmethod
    def features(values: Floats, columns: LeafColumns) -> list[Floats]:
        """The value itself."""
        del columns
        known, outside = whole_numbers(values)
        present = ~np.isnan(values) & (outside == 0.0)
        return [present.astype(np.float64), np.where(present, known, 0.0)]

    @staticmethod
    def average(table: Floats, columns: LeafColumns) -> Floats:
        """The column's mean."""
        del table
        return np.maximum(columns.mean, 0.0)[:, None]

    @staticmethod
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the mean as the rate."""
        del table, columns
        return averages

    @staticmethod
    def expected_log_density(table: Floats, averages: Floats, columns: LeafColumns) -> Floats:
        """Return the average log density by leaf, without the factorials."""
        del columns
        found: Floats = log_powers(table, averages)[:, 0] - table[:, 0]
        return found

    @classmethod
    def coordinates(cls, table: Floats, columns: LeafColumns) -> Floats | None:
        """The logarithm of the rate."""
        del columns
        with np.errstate(divide="ignore"):
            return np.log(table)

    @classmethod
    def from_coordinates(cls, coordinates: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the rates."""
        del table, columns
        return np.exp(coordinates)

    @classmethod
    def gradient(cls, table: Floats, statistics: Floats, columns: LeafColumns) -> Floats:
        """Return the derivative by the logarithm of the rate."""
        del columns
        found: Floats = statistics[:, 1:] - table * statistics[:, :1]
        return found

    @classmethod
    def information(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the rate."""
        del columns
        return table.copy()

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a value from each leaf."""
        del columns
        return rng.poisson(table[:, 0]).astype(np.float64)

    @staticmethod
    def mode(table: Floats, columns: LeafColumns) -> Floats:
        """Return the largest whole number that is not above the rate."""
        del columns
        return np.floor(table[:, 0])

    @staticmethod
    def mean(table: Floats, columns: LeafColumns) -> Floats:
        """Return the rate."""
        del columns
        return table[:, 0].copy()

    @staticmethod
    def variance(table: Floats, columns: LeafColumns) -> Floats:
        """Return the rate."""
        del columns
        return table[:, 0].copy()

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        from scipy.special import gammaincc

        del columns
        whole = np.floor(np.maximum(values, 0.0))
        return np.where(values < 0.0, 0.0, gammaincc(whole + 1.0, table))

    @classmethod
    def above(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of more than the value."""
        from scipy.special import gammainc

        del columns
        whole = np.floor(np.maximum(values, 0.0))
        return np.where(values < 0.0, 1.0, gammainc(whole + 1.0, table))

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance given low <= value <= high."""
        return count_moments(cls, table, low, high, columns, 1.0)

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """Return zero and infinity; only zero is possible at rate zero."""
        del columns
        return np.zeros(len(table)), np.where(table[:, 0] > 0.0, np.inf, 0.0)


def whole_numbers(values: Floats) -> tuple[Floats, Floats]:
    """Return values with 0 in place of what is no count, and what to add to their log density.

    That is zero for counts and missing values, and minus infinity for all other numbers.
    """
    is_count = (values >= 0.0) & (values == np.floor(values))
    known = np.where(is_count, values, 0.0)
    return known, np.where(is_count | np.isnan(values), 0.0, -np.inf)


def log_powers(base: Floats, exponents: Floats) -> Floats:
    """Return exponents * log(base), `[leaf, row]`, with 0 * log(0) = 0; `base` is `[leaf, 1]`."""
    zero = base == 0.0
    found: Floats = np.log(np.where(zero, 1.0, base)) * exponents
    if zero.any():
        np.copyto(found, -np.inf, where=zero & (exponents > 0.0))
    return found
