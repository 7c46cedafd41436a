"""The uniform leaf: all values between two bounds are equally likely. Nothing is learned about it.

The most likely bounds are the least and the largest value, which are not sums over rows, and a
single pseudo-row that may lie anywhere in the column already demands the whole range of the column.
So the bounds stay as a learner or a circuit sets them, and by default span the column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves.fixed import FixedLeaf
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import not_finite, only_possible, scale_of, too_narrow
from spnc.registry import LEAVES


@LEAVES.register("uniform")
@dataclass(frozen=True, slots=True)
class Uniform(FixedLeaf):
    """`uniform(low, high)`: between low and high, both included. Nothing is learned about it."""

    low: float
    high: float

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the bounds for a leaf over this column."""
        found = not_finite(low=self.low, high=self.high)
        if found:
            return found
        if not self.low < self.high:
            return [f"low = {self.low:g} is not below high = {self.high:g}"]
        if not np.isfinite(self.high - self.low):
            return [f"the width from {self.low:g} to {self.high:g} is not finite"]
        return too_narrow(column, self.high - self.low, 1.0, "high - low")

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """The range of the column, half a resolution wider on both sides."""
        scale = scale_of(column)
        half = 0.5 * max(scale.resolution, float(np.spacing(abs(scale.high))) * 2.0)
        return scale.low - half, scale.high + half

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether all bounds are finite and in order."""
        del columns
        if table.shape[1] != 2 or not np.isfinite(table).all():
            return False
        width = table[:, 1] - table[:, 0]
        return bool((np.isfinite(width) & (width > 0)).all())

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        del columns
        low, high = table[:, :1], table[:, 1:]
        found = np.where((low <= values) & (values <= high), -np.log(high - low), -np.inf)
        np.copyto(found, 0.0, where=np.isnan(values))
        return found

    @staticmethod
    def slope(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return zero: the density is constant wherever it does not jump."""
        del columns
        return np.zeros((len(table), values.shape[1]))

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a value from each leaf."""
        del columns
        return rng.uniform(table[:, 0], table[:, 1])

    @staticmethod
    def mode(table: Floats, columns: LeafColumns) -> Floats:
        """Return the centre: all values are equally likely."""
        return Uniform.mean(table, columns)

    @staticmethod
    def mean(table: Floats, columns: LeafColumns) -> Floats:
        """Return the centre."""
        del columns
        found: Floats = table[:, 0] + 0.5 * (table[:, 1] - table[:, 0])
        return found

    @staticmethod
    def variance(table: Floats, columns: LeafColumns) -> Floats:
        """Return the squared width divided by 12."""
        del columns
        found: Floats = (table[:, 1] - table[:, 0]) ** 2 / 12.0
        return found

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        del columns
        low, high = table[:, :1], table[:, 1:]
        return (np.clip(values, low, high) - low) / (high - low)

    @classmethod
    def quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value whose cdf is at least the share."""
        del columns
        found: Floats = table[:, 0] + shares * (table[:, 1] - table[:, 0])
        return found

    @classmethod
    def upper_quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the value that is exceeded with this probability."""
        del columns
        found: Floats = table[:, 1] - shares * (table[:, 1] - table[:, 0])
        return found

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return centre and variance of what an interval leaves between the bounds."""
        mass = cls.interval(table, low[:, None], high[:, None], columns)[:, 0]
        low, high = np.maximum(low, table[:, 0]), np.minimum(high, table[:, 1])
        return only_possible(mass, low + 0.5 * (high - low), (high - low) ** 2 / 12.0)

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """Return the bounds."""
        del columns
        return table[:, 0].copy(), table[:, 1].copy()
