"""The Gaussian leaf: a real column or a date has a mean and a standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.normal import NormalLeaf
from spnc.leaves.numeric import (
    NORMAL_HEIGHT,
    column_unit,
    not_finite,
    not_positive,
    resolution_of,
    scale_of,
    too_narrow,
)
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
    def positions(values: Floats) -> Floats:
        """The values themselves."""
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
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the mean and the standard deviation, not below the resolution's bound."""
        del table
        unit = column_unit(columns)
        variance = np.maximum(averages[:, 1] - averages[:, 0] ** 2, 0.0)
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

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """All numbers are possible."""
        del columns
        return np.full(len(table), -np.inf), np.full(len(table), np.inf)
