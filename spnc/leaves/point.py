"""The point leaf: a column has one value for certain, and training does not change that.

On a real column or a date, the point is a box of one resolution around the value, so that it can be
weighed against densities. A sum of a point and another leaf is a zero-inflated distribution, or one
that is inflated at any other value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves.fixed import FixedLeaf
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import not_finite, not_positive, only_possible, scale_of, too_narrow
from spnc.registry import LEAVES


@LEAVES.register("point")
@dataclass(frozen=True, slots=True)
class Point(FixedLeaf):
    """`point(value, width)`: a box around a value; of width 1 for counts. Nothing is learned."""

    value: float
    width: float

    kinds: ClassVar[tuple[ColumnKind, ...]] = ("real", "date", "count")

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the parameters for a leaf over this column."""
        found = [*not_finite(value=self.value), *not_positive(width=self.width)]
        if column.kind != "count":
            return found + too_narrow(column, self.width, 1.0, "width")
        if not found and not (self.value >= 0.0 and self.value == np.floor(self.value)):
            found.append(f"value = {self.value:g} is not a whole number from 0")
        if self.width != 1.0:
            found.append(f"width = {self.width:g}, where counts need 1")
        return found

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """No point is like the column; return the one at its least value."""
        scale = scale_of(column)
        if column.kind == "count":
            return max(np.floor(scale.low), 0.0), 1.0
        return scale.low, scale.resolution

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether values are finite, widths positive, and counts whole numbers of width 1."""
        if table.shape[1] != 2 or not np.isfinite(table).all():
            return False
        value, width = table[:, 0], table[:, 1]
        whole = (value >= 0) & (value == np.floor(value)) & (width == 1.0)
        return bool(np.where(columns.is_count, whole, width > 0).all())

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        del columns
        value, width = table[:, :1], table[:, 1:]
        found = np.where(np.abs(values - value) <= 0.5 * width, -np.log(width), -np.inf)
        np.copyto(found, 0.0, where=np.isnan(values))
        return found

    @staticmethod
    def slope(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return zero: the density is constant wherever it does not jump."""
        del columns
        return np.zeros((len(table), values.shape[1]))

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Return the value of each leaf: the box around it is what rounds to it."""
        del columns, rng
        return table[:, 0].copy()

    @staticmethod
    def mode(table: Floats, columns: LeafColumns) -> Floats:
        """Return the value."""
        del columns
        return table[:, 0].copy()

    @staticmethod
    def mean(table: Floats, columns: LeafColumns) -> Floats:
        """Return the value."""
        del columns
        return table[:, 0].copy()

    @staticmethod
    def variance(table: Floats, columns: LeafColumns) -> Floats:
        """Return the variance of the box, zero for counts."""
        return np.where(columns.is_count, 0.0, table[:, 1] ** 2 / 12.0)

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        value, width = table[:, :1], table[:, 1:]
        within = np.clip((values - value) / width + 0.5, 0.0, 1.0)
        return np.where(columns.is_count[:, None], (values >= value).astype(np.float64), within)

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return centre and variance of what an interval leaves of the box, or of the value."""
        mass = cls.interval(table, low[:, None], high[:, None], columns)[:, 0]
        ends = cls.support(table, columns)
        low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        return only_possible(mass, low + 0.5 * (high - low), (high - low) ** 2 / 12.0)

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """Return the ends of the box; for counts, the value."""
        half = np.where(columns.is_count, 0.0, 0.5 * table[:, 1])
        return table[:, 0] - half, table[:, 0] + half
