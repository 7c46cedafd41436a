"""Point masses for values that many rows share, beside the distribution of all other values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.learners.support.leaf_choice import LeafModel, LeafOptions
from spnc.leaves import Distribution
from spnc.leaves.atoms import find_atoms, point_at
from spnc.leaves.smoothing import smoothed


def point_values(
    columns: Sequence[Column], table: Table, options: LeafOptions
) -> Mapping[int, Floats]:
    """Return the values that get point masses, by column; columns without any are left out."""
    if options.points == "none":
        return {}
    found = {
        i: repeated_values(column, table.column(i), table.weights)
        for i, column in enumerate(columns)
        if not column.is_finite
    }
    return {i: values for i, values in found.items() if len(values)}


def repeated_values(column: Column, values: Floats, weights: Floats) -> Floats:
    """Return the values of a column that get point masses, the heaviest first."""
    return np.array([atom.value for atom in find_atoms(column, values, weights)])


class Shares(NamedTuple):
    """How much of a leaf's weight falls on each of the column's points, and where."""

    points: tuple[Distribution, ...]
    held: tuple[float, ...]


class PointSplit(NamedTuple):
    """The weights of several leaves, divided into points and the rest."""

    rest: Floats  # `[leaf, row]`: zero on points and, beside points, where values are missing
    shares: list[Shares | None]
    alpha: float

    def models(self, others: Sequence[LeafModel]) -> list[LeafModel]:
        """Return each leaf's points together with the model of the rest."""
        triples = zip(self.shares, self.rest.sum(axis=1).tolist(), others, strict=True)
        return [self._beside(share, rest, other) for share, rest, other in triples]

    def beside(self, leaf: int, others: Sequence[LeafModel]) -> list[LeafModel]:
        """Return the points of one leaf together with each of several models of the rest."""
        share, rest = self.shares[leaf], float(self.rest[leaf].sum())
        return [self._beside(share, rest, other) for other in others]

    def _beside(self, share: Shares | None, rest: float, other: LeafModel) -> LeafModel:
        if share is None:
            return other
        counts = np.array([*share.held, rest])
        weights = smoothed(counts, self.alpha, np.full(len(counts), 1.0 / len(counts)))
        return other.beside(share.points, weights.tolist())


def with_points(
    columns: Sequence[Column],
    variables: NDArray[np.intp],
    points: Sequence[Floats | None],
    values: Floats,
    weights: Floats,
    alpha: float,
) -> PointSplit:
    """Divide the weights of leaves over these columns, given `values` and `weights`."""
    if all(own is None for own in points):
        return PointSplit(weights, [None] * len(points), alpha)
    rest, shares = np.where(np.isnan(values), 0.0, weights), list[Shares | None]()
    for i, (variable, own) in enumerate(zip(variables.tolist(), points, strict=True)):
        made: list[Distribution] = []
        held: list[float] = []
        for value in () if own is None else own.tolist():
            equal = values[i] == value
            weight = float(weights[i, equal].sum())
            if weight > 0.0:
                made.append(point_at(columns[variable], value))
                held.append(weight)
                rest[i, equal] = 0.0
        shares.append(Shares(tuple(made), tuple(held)) if made else None)
    return PointSplit(rest, shares, alpha)
