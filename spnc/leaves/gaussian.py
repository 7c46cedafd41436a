"""The Gaussian leaf: a real column or a date has a mean and a standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.normal import NormalLeaf, normal_density, normal_integrals, variance_of
from spnc.leaves.numeric import (
    NORMAL_HEIGHT,
    column_unit,
    not_finite,
    not_positive,
    only_possible,
    resolution_of,
    scale_of,
    too_narrow,
)
from spnc.leaves.stein import stein_moments
from spnc.registry import LEAVES


@LEAVES.register("gaussian")
@dataclass(frozen=True, slots=True)
class Gaussian(NormalLeaf):
    """`gaussian(mean, sd)`: a normal distribution with this mean and standard deviation."""

    location: float  # the mean; `mean` is a question
    sd: float

    kinds: ClassVar[tuple[ColumnKind, ...]] = ("real", "date")

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the parameters for a leaf over this column."""
        found = [*not_finite(mean=self.location), *not_positive(sd=self.sd)]
        return found + too_narrow(column, self.sd, NORMAL_HEIGHT, "sd")

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """The mean and standard deviation of the column."""
        scale = scale_of(column)
        return scale.mean, max(scale.sd, NORMAL_HEIGHT * scale.resolution)

    @staticmethod
    def positions(values: Floats, columns: LeafColumns) -> Floats:
        """The values themselves."""
        del columns
        return values

    @staticmethod
    def origin(columns: LeafColumns) -> Floats:
        """Return the mean of each column."""
        return columns.mean

    @staticmethod
    def unit(columns: LeafColumns) -> Floats:
        """Return the standard deviation of each column, or its resolution."""
        return column_unit(columns)

    @staticmethod
    def spread(columns: LeafColumns) -> Floats:
        """Return the standard deviation of each column."""
        return columns.sd

    @staticmethod
    def narrowest(mean: Floats, columns: LeafColumns) -> Floats:
        """Return the standard deviation at which the density is one per resolution."""
        del mean
        return NORMAL_HEIGHT * resolution_of(columns)

    @staticmethod
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the mean and the standard deviation, not below the resolution's bound."""
        del table
        unit = column_unit(columns)
        variance = variance_of(averages)
        sd = np.maximum(np.sqrt(variance) * unit, NORMAL_HEIGHT * resolution_of(columns))
        return np.stack([columns.mean + averages[:, 0] * unit, sd], axis=1)

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a value from each leaf."""
        del columns
        return rng.normal(table[:, 0], table[:, 1])

    @staticmethod
    def mode(table: Floats, columns: LeafColumns) -> Floats:
        """Return the mean."""
        del columns
        return table[:, 0].copy()

    @staticmethod
    def mean(table: Floats, columns: LeafColumns) -> Floats:
        """Return the mean."""
        del columns
        return table[:, 0].copy()

    @staticmethod
    def variance(table: Floats, columns: LeafColumns) -> Floats:
        """Return the square of the standard deviation."""
        del columns
        return table[:, 1] ** 2

    @classmethod
    def quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value whose cdf is at least the share."""
        from scipy.special import ndtri

        del columns
        found: Floats = table[:, 0] + table[:, 1] * ndtri(shares)
        return found

    @classmethod
    def upper_quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the value that is exceeded with this probability."""
        from scipy.special import ndtri

        del columns
        found: Floats = table[:, 0] - table[:, 1] * ndtri(shares)
        return found

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance given low <= value <= high."""
        location, sd = table[:, 0], table[:, 1]
        a, b = (low - location) / sd, (high - location) / sd
        mass = cls.interval(table, low[:, None], high[:, None], columns)[:, 0]
        closed = stein_moments(mass, a, b, normal_density(a), normal_density(b), (1.0, 0.0, 0.0))
        mean, variance = location + sd * closed.mean, closed.variance
        if (own := closed.is_doubtful).any():
            peak = np.clip(location, low, high)[own]
            left, right = (peak - low[own]) / sd[own], (high[own] - peak) / sd[own]
            apart, variance[own] = normal_integrals((peak - location[own]) / sd[own], left, right)
            mean[own] = peak + sd[own] * apart
        return only_possible(mass, mean, sd**2 * variance)

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """All numbers are possible."""
        del columns
        return np.full(len(table), -np.inf), np.full(len(table), np.inf)
