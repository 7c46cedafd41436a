"""Leaves whose shape is decoded as well: negative-binomial and student-t.

Gradients of these leaves elsewhere leave the shape as it is, or there are none. Here both have a
coordinate for it, and its derivative follows from the statistics that EM sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spnc.common.arrays import Floats
from spnc.leaves import Distribution
from spnc.leaves.fixed import FixedLeaf
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.negative_binomial import LEAST_SIZE, MOST_SIZE, NegativeBinomial
from spnc.leaves.numeric import NumericLeaf
from spnc.leaves.student_t import LEAST_DF, MOST_DF, StudentT

LEAST_MEAN = 1e-12  # of counts


class DecodedNegativeBinomial(NegativeBinomial):
    """A negative binomial leaf with the logarithms of its mean and size as coordinates."""

    __slots__ = ()

    @classmethod
    def coordinates(cls, table: Floats, columns: LeafColumns) -> Floats:
        """The logarithms of mean and size."""
        del columns
        size, p = table[:, 0], table[:, 1]
        mean = np.maximum(size * (1.0 - p) / p, LEAST_MEAN)
        return np.stack([np.log(mean), np.log(size)], axis=1)

    @classmethod
    def from_coordinates(cls, coordinates: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the sizes, within their range, and the probabilities that give the means."""
        del table, columns
        size = np.clip(np.exp(coordinates[:, 1]), LEAST_SIZE, MOST_SIZE)
        mean = np.maximum(np.exp(coordinates[:, 0]), LEAST_MEAN)
        return np.stack([size, size / (size + mean)], axis=1)

    @classmethod
    def gradient(cls, table: Floats, statistics: Floats, columns: LeafColumns) -> Floats:
        """Return the derivatives by the logarithms of mean and size."""
        del columns
        size, p = table[:, 0], table[:, 1]
        weight, values, slopes = statistics.T
        missed = size * (1.0 - p)
        by_size = slopes + weight * (size * np.log(p) + missed) - p * values
        return np.stack([p * values - missed * weight, by_size], axis=1)


class DecodedStudentT(StudentT):
    """A Student-t leaf that has the logarithm of its degrees of freedom as a coordinate too."""

    __slots__ = ()

    @classmethod
    def coordinates(cls, table: Floats, columns: LeafColumns) -> Floats:
        """The mean, in units from the column's mean; the logarithms of the scale and of df."""
        found = StudentT.coordinates(table, columns)
        assert found is not None
        return np.column_stack([found, np.log(table[:, 2])])

    @classmethod
    def from_coordinates(cls, coordinates: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return means, scales not below the resolution's bound, and df within its range."""
        found = StudentT.from_coordinates(coordinates, table, columns)
        found[:, 2] = np.clip(np.exp(coordinates[:, 2]), LEAST_DF, MOST_DF)
        return found

    @classmethod
    def gradient(cls, table: Floats, statistics: Floats, columns: LeafColumns) -> Floats:
        """Return the derivatives by the mean and by the logarithms of the scale and of df."""
        from scipy.special import digamma

        df = table[:, 2]
        weight, precision, logarithms = statistics[:, 0], statistics[:, 1], statistics[:, 4]
        rise = 0.5 * (digamma(0.5 * (df + 1.0)) - digamma(0.5 * df) - 1.0 / df)
        beyond = (df + 1.0) / df * weight - precision  # the sum of (df + 1)/df · q/(1 + q)
        by_df = df * (weight * rise + 0.5 * (beyond - logarithms))
        return np.column_stack([StudentT.gradient(table, statistics, columns), by_df])


_WITH_SHAPE: dict[type[Distribution], type[Distribution]] = {
    NegativeBinomial: DecodedNegativeBinomial,
    StudentT: DecodedStudentT,
}


def decoded_kind(kind: type[Distribution]) -> type[Distribution]:
    """Return a leaf with coordinates for all that can be decoded of it."""
    return _WITH_SHAPE.get(kind, kind)


def has_coordinates(kind: type[Distribution]) -> bool:
    """Whether all that is learned about a leaf can be decoded."""
    own: Any = decoded_kind(kind)
    if issubclass(own, FixedLeaf):
        return True  # nothing is learned
    base: Any = NumericLeaf.coordinates
    return issubclass(own, NumericLeaf) and own.coordinates.__func__ is not base.__func__
