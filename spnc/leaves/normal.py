"""`NormalLeaf`: leaves that are normal on some scale, as the values or their logarithms.

Both have the same loops over values: their log density is a parabola in the position of the value
on that scale, and the sums of the position and of its square are all that training has to know.
Engines compute such leaves with compiled code.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from spnc.common.arrays import Floats
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import NumericLeaf
from spnc.leaves.quadrature import integrated_moments, reach

_LOG_ROOT = 0.5 * np.log(2.0 * np.pi)
_LARGEST = np.finfo(np.float64).max
_SUMS = 1e-14  # the relative error of a sum of squares, some times that of one rounding


class Parabolas(NamedTuple):
    """Log densities on the scale: height - (rate · (position - centre))² / 2, by leaf."""

    centre: Floats
    rate: Floats
    height: Floats

    @staticmethod
    def of(table: Floats) -> Parabolas:
        """Return the parabolas of leaves with these means and standard deviations."""
        sd = table[:, 1]
        with np.errstate(over="ignore"):
            rate = np.minimum(1.0 / sd, _LARGEST)
        return Parabolas(np.ascontiguousarray(table[:, 0]), rate, -np.log(sd) - _LOG_ROOT)


class NormalLeaf(NumericLeaf):
    """A leaf with a mean and a standard deviation on some scale.

    A subclass says where values are on the scale, and adds the questions and `best`.
    """

    __slots__ = ()

    feature_count: ClassVar[int] = 2

    @staticmethod
    @abstractmethod
    def positions(values: Floats, columns: LeafColumns) -> Floats:
        """Return where values are: NaN for a missing one, -inf for one that is impossible."""

    @staticmethod
    def log_slopes(values: Floats, columns: LeafColumns) -> Floats:
        """Return the logarithm of the derivative of `positions`; zero where it is no number.

        That is zero for values that are positions themselves.
        """
        del columns
        return np.zeros_like(values)

    @staticmethod
    @abstractmethod
    def origin(columns: LeafColumns) -> Floats:
        """Return the mean position of each column."""

    @staticmethod
    @abstractmethod
    def unit(columns: LeafColumns) -> Floats:
        """Return the unit in which positions are summed, above zero: the standard deviation."""

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether all numbers are finite and all standard deviations positive."""
        del columns
        finite = table.shape[1] == 2 and bool(np.isfinite(table).all())
        return finite and bool((table[:, 1] > 0).all())

    @classmethod
    def log_density(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        mean, sd = table[:, :1], table[:, 1:]
        positions = cls.positions(values, columns)
        with np.errstate(over="ignore"):
            found: Floats = positions - mean
            found /= sd
            np.square(found, out=found)
        found *= -0.5
        found -= np.log(sd) + _LOG_ROOT
        found += cls.log_slopes(values, columns)
        np.copyto(found, 0.0, where=np.isnan(positions))
        return found

    @classmethod
    def slope(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the derivative of the log density by the value; zero where it is missing.

        This is for positions whose slope is constant, at least piece by piece.
        """
        mean, sd = table[:, :1], table[:, 1:]
        with np.errstate(invalid="ignore"):  # outside the support
            found: Floats = (mean - cls.positions(values, columns)) / sd**2
            found *= np.exp(cls.log_slopes(values, columns))
        np.copyto(found, 0.0, where=~np.isfinite(found))
        return found

    @classmethod
    def features(cls, values: Floats, columns: LeafColumns) -> list[Floats]:
        """The distance from the column's mean position in standard deviations, and its square."""
        apart = cls.positions(values, columns) - cls.origin(columns)[:, None]
        z = apart / cls.unit(columns)[:, None]
        possible = np.isfinite(z)
        np.copyto(z, 0.0, where=~possible)
        return [possible.astype(np.float64), z, z * z]

    @classmethod
    def average(cls, table: Floats, columns: LeafColumns) -> Floats:
        """The features' averages over the column: 0 and, unless it is constant, 1."""
        del table
        spread = (cls.spread(columns) / cls.unit(columns)) ** 2
        return np.stack([np.zeros_like(spread), spread], axis=1)

    @staticmethod
    @abstractmethod
    def spread(columns: LeafColumns) -> Floats:
        """Return the standard deviation of the positions of each column; it may be zero."""

    @classmethod
    def expected_log_density(cls, table: Floats, averages: Floats, columns: LeafColumns) -> Floats:
        """Return the average log density by leaf, without terms that the table has no part in."""
        unit = cls.unit(columns)
        mean, sd = (table[:, 0] - cls.origin(columns)) / unit, table[:, 1] / unit
        square = averages[:, 1] - 2.0 * mean * averages[:, 0] + mean**2
        found: Floats = -np.log(table[:, 1]) - 0.5 * square / sd**2
        return found

    @classmethod
    def coordinates(cls, table: Floats, columns: LeafColumns) -> Floats | None:
        """The mean, in units from the column's mean position, and the log standard deviation."""
        unit = cls.unit(columns)
        mean = (table[:, 0] - cls.origin(columns)) / unit
        return np.stack([mean, np.log(table[:, 1] / unit)], axis=1)

    @classmethod
    def from_coordinates(cls, coordinates: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the means and standard deviations, these not below the resolution's bound."""
        del table
        unit = cls.unit(columns)
        mean = cls.origin(columns) + coordinates[:, 0] * unit
        sd = np.maximum(np.exp(coordinates[:, 1]) * unit, cls.narrowest(mean, columns))
        return np.stack([mean, sd], axis=1)

    @staticmethod
    @abstractmethod
    def narrowest(mean: Floats, columns: LeafColumns) -> Floats:
        """Return the least standard deviation of leaves with this mean."""

    @classmethod
    def gradient(cls, table: Floats, statistics: Floats, columns: LeafColumns) -> Floats:
        """Return the derivatives by the mean and by the log standard deviation."""
        unit = cls.unit(columns)
        mean, sd = (table[:, 0] - cls.origin(columns)) / unit, table[:, 1] / unit
        weight, first, second = statistics.T
        squares = second - 2.0 * mean * first + mean**2 * weight
        return np.stack([(first - mean * weight) / sd**2, squares / sd**2 - weight], axis=1)

    @classmethod
    def information(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return one divided by the variance, in units, and 2."""
        precision = (cls.unit(columns) / table[:, 1]) ** 2
        return np.stack([precision, np.full_like(precision, 2.0)], axis=1)

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        from scipy.special import ndtr

        found: Floats = ndtr((cls.positions(values, columns) - table[:, :1]) / table[:, 1:])
        return found

    @classmethod
    def above(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of more than the value."""
        from scipy.special import ndtr

        found: Floats = ndtr((table[:, :1] - cls.positions(values, columns)) / table[:, 1:])
        return found


def normal_density(z: Floats) -> Floats:
    """Return the standard normal density."""
    with np.errstate(over="ignore"):
        found: Floats = np.exp(-0.5 * z * z - _LOG_ROOT)
    return found


def normal_integrals(
    peak: Floats,
    left: Floats,
    right: Floats,
    place: Callable[[Floats], Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Return mean and variance of `place(t)`, by leaf, where peak + t is standard normal.

    t is between -left and right. The density within these bounds is highest at `peak`. `place` is
    the identity by default.
    """

    def log_ratio(t: Floats) -> Floats:
        return -t * (peak[:, None] + 0.5 * t)

    left = reach(log_ratio, left, np.ones_like(peak), -1.0)
    right = reach(log_ratio, right, np.ones_like(peak), 1.0)
    return integrated_moments(log_ratio, left, right, place=place)


def variance_of(averages: Floats) -> Floats:
    """Return the variance of positions, given the averages of positions and of their squares.

    It is a difference: below `_SUMS` of the squares there are only rounding errors, with which the
    width of a leaf would vary that has come to stand on a single value. They count as zero.
    """
    mean, squares = averages[:, 0], averages[:, 1]
    found = squares - mean**2
    return np.where(found > _SUMS * squares, found, 0.0)
