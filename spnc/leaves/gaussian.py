"""The Gaussian leaf: a real column or a date has a mean and a standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import (
    NORMAL_HEIGHT,
    NumericLeaf,
    column_unit,
    not_finite,
    not_positive,
    resolution_of,
    scale_of,
    too_narrow,
)
from spnc.registry import LEAVES

_LOG_ROOT = 0.5 * np.log(2.0 * np.pi)


@LEAVES.register("gaussian")
@dataclass(frozen=True, slots=True)
class Gaussian(NumericLeaf):
    """`gaussian(mean, sd)`: a normal distribution with this mean and standard deviation."""

    location: float  # the mean; `mean` is a question
    sd: float

    kinds: ClassVar[tuple[ColumnKind, ...]] = ("real", "date")
    feature_count: ClassVar[int] = 2

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
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether all numbers are finite and all standard deviations positive."""
        del columns
        return (
            table.shape[1] == 2 and bool(np.isfinite(table).all()) and bool((table[:, 1] > 0).all())
        )

    @staticmethod
    def log_density(table: Floats, values: Floats) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        mean, sd = table[:, :1], table[:, 1:]
        with np.errstate(over="ignore"):
            found: Floats = values - mean
            found /= sd
            np.square(found, out=found)
        found *= -0.5
        found -= np.log(sd) + _LOG_ROOT
        np.copyto(found, 0.0, where=np.isnan(values))
        return found

    @staticmethod
    def features(values: Floats, columns: LeafColumns) -> list[Floats]:
        """The distance from the column's mean in standard deviations, and its square."""
        z = (values - columns.mean[:, None]) / column_unit(columns)[:, None]
        present = ~np.isnan(z)
        np.copyto(z, 0.0, where=~present)
        return [present.astype(np.float64), z, z * z]

    @staticmethod
    def average(table: Floats, columns: LeafColumns) -> Floats:
        """The features' averages over the column: 0 and 1."""
        del table
        spread = (columns.sd / column_unit(columns)) ** 2
        return np.stack([np.zeros_like(spread), spread], axis=1)

    @staticmethod
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the mean and the standard deviation, not below the resolution's bound."""
        del table
        unit = column_unit(columns)
        variance = np.maximum(averages[:, 1] - averages[:, 0] ** 2, 0.0)
        sd = np.maximum(np.sqrt(variance) * unit, NORMAL_HEIGHT * resolution_of(columns))
        return np.stack([columns.mean + averages[:, 0] * unit, sd], axis=1)

    @staticmethod
    def expected_log_density(table: Floats, averages: Floats, columns: LeafColumns) -> Floats:
        """Return the average log density by leaf, up to a constant."""
        unit = column_unit(columns)
        mean, sd = (table[:, 0] - columns.mean) / unit, table[:, 1] / unit
        square = averages[:, 1] - 2.0 * mean * averages[:, 0] + mean**2
        found: Floats = -np.log(table[:, 1]) - 0.5 * square / sd**2
        return found

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
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        from scipy.special import ndtr

        del columns
        found: Floats = ndtr((values - table[:, :1]) / table[:, 1:])
        return found

    @classmethod
    def above(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of more than the value."""
        from scipy.special import ndtr

        del columns
        found: Floats = ndtr((table[:, :1] - values) / table[:, 1:])
        return found

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """All numbers are possible."""
        del columns
        return np.full(len(table), -np.inf), np.full(len(table), np.inf)
