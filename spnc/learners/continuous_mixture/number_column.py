"""A column of numbers: what the decoder gives for its leaves, and their likelihood.

The column depends on the latent point and, if it has a parent, on the state of that column: the
leaves for one such state are a *group*. For each group the decoder gives a logit for every point
mass that the column has, and the coordinates of a leaf for all other values: numbers without
bounds, such as a mean and the logarithm of a standard deviation (`NumericLeaf.coordinates`). Leaves
keep the bounds of their resolution, so that no trained leaf is too narrow.

A missing number has likelihood one. A value with a point mass counts as the point's, and never as
one of the leaf beside it: the compiled circuit, which adds both up, is slightly more likely.

For most leaves the log density is linear in features of the value, such as z and z², so that all
rows under all points are one product of matrices. Products are in double precision: a narrow leaf
is a small difference of large terms. Leaves whose features depend on their parameters (`student-t`,
`negative-binomial`), and histograms, compute the density of each value at each point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column
from spnc.learners.continuous_mixture.decoded_leaves import decoded_kind
from spnc.learners.support.leaf_choice import LeafModel
from spnc.leaves import Distribution
from spnc.leaves.atoms import point_at
from spnc.leaves.histogram import Histogram
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import NumericLeaf, as_numeric

FARTHEST = 50.0  # bound on coordinates: its exponential is finite, and so is the square of that
MOVED = 1e-6  # relative change from which on a coordinate counts as moved to a bound
# The bound on the width of a leaf on a warp differs from mean to mean and takes long to compute. It
# is looked up at this many places, which reach this far from the median in standard deviations.
PLACES, REACH = 8192, 8.0
MISSING = -1  # in place of the number of a point mass


class DecodedColumn(NamedTuple):
    """The leaves of a column at some latent points."""

    coordinates: Floats  # as the decoder gives them, `[group · point, coordinate]`
    table: Floats  # their parameters, `[group · point, parameter]`
    shares: Floats  # of the leaf and of each point mass, `[group, 1 + mass, latent point]`
    theta: Floats  # what the statistics are multiplied with, `[statistic, latent point]`


class ColumnRows(NamedTuple):
    """The values of a column in some rows."""

    values: Floats
    groups: Ints  # the state of the parent, or 0
    masses: Ints  # 0: no point mass; else its number, from 1; or `MISSING`
    is_possible: NDArray[np.bool_]  # under the leaf; never where a point mass is or none is known

    def take(self, part: slice) -> ColumnRows:
        """Return some of the rows."""
        values, groups, masses, is_possible = self
        return ColumnRows(values[part], groups[part], masses[part], is_possible[part])


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """One column of numbers in a tree."""

    variable: int  # its number among all columns
    column: Column
    parent: int  # its parent's number among the columns of states; -1: none
    groups: int  # the parent's states, or 1
    leaf: type[Distribution]
    start: Floats  # the parameters of a leaf over the whole column
    points: Floats  # values with point masses
    beside: tuple[float, float]  # rows and smoothing: what `LeafModel.of` puts beside a leaf
    plain: Floats  # what the decoder gives at first, `[group, logit or coordinate]`

    @cached_property
    def kind(self) -> type[Distribution]:
        """The leaf, with coordinates for all that is decoded of it."""
        return decoded_kind(self.leaf)

    @cached_property
    def known(self) -> LeafColumns:
        """What leaves know about the column."""
        return LeafColumns.of([self.column], np.zeros(1, dtype=np.int64))

    @cached_property
    def coordinates(self) -> int:
        """How many numbers are decoded for a leaf; none if it is not learned."""
        return coordinate_count(self.kind, self.start, self.known)

    @cached_property
    def features(self) -> int:
        """How many statistics the log density of a leaf is linear in; 0 if it is not."""
        return 1 + as_numeric(self.kind).feature_count if is_linear(self.kind) else 0

    @property
    def masses(self) -> int:
        """How many statistics say whether there is a point mass, and which."""
        return len(self.points) + 1 if len(self.points) else 0

    @property
    def outputs(self) -> int:
        """How many numbers the decoder gives for the column."""
        return self.groups * (len(self.points) + self.coordinates)

    @property
    def statistics_count(self) -> int:
        """How many statistics a row has."""
        return self.groups * (self.features + self.masses)

    # -- rows ----------------------------------------------------------------------------------

    def rows(self, values: Floats, groups: Ints) -> ColumnRows:
        """Return the rows with these values and states of the parent."""
        masses = np.where(np.isnan(values), MISSING, 0)
        for number, point in enumerate(self.points.tolist(), 1):
            masses[values == point] = number
        start = self.kind.log_density(self.start[None], values[None], self.known)[0]
        return ColumnRows(values, groups, masses, (masses == 0) & (start > -np.inf))

    def statistics(self, rows: ColumnRows) -> Floats:
        """Return the statistics of rows, `[row, statistic]`."""
        size = self.features + self.masses
        found = np.zeros((len(rows.values), self.groups, size))
        at = np.arange(len(rows.values))
        if self.features:
            values = np.where(rows.is_possible, rows.values, np.nan)[None]
            own = as_numeric(self.kind).features(values, self.known)
            found[at, rows.groups, : self.features] = np.concatenate(own).T
        if self.masses:
            known = np.flatnonzero(rows.masses != MISSING)
            found[known, rows.groups[known], self.features + rows.masses[known]] = 1.0
        return found.reshape(len(at), -1)

    def constant(self, rows: ColumnRows) -> Floats:
        """Return what the statistics leave out: the part of log densities that nothing changes."""
        found = np.zeros(len(rows.values))
        possible, outside = rows.is_possible, (rows.masses == 0) & ~rows.is_possible
        model = self.model(self.start)
        with np.errstate(divide="ignore"):
            shares = np.log(model.weights)
        if self.features:
            own = self.rows(rows.values, np.zeros_like(rows.groups))
            features = self.statistics(own)[:, : self.features]
            exact = self.kind.log_density(self.start[None], rows.values[None], self.known)[0]
            linear = features @ self._natural(self.start[None])[0]
            found[possible] = exact[possible] - linear[possible]
        found[possible] += shares[0]
        if outside.any():
            wide = [self._density(part, rows.values[outside]) for part in model.parts[1:]]
            found[outside] = shares[1] + wide[0] if wide else -np.inf
        for number, point in enumerate(self.points.tolist(), 1):
            own_rows = rows.masses == number
            found[own_rows] = self._density(point_at(self.column, point), rows.values[own_rows])
        return found

    def _density(self, leaf: Distribution, values: Floats) -> Floats:
        found: Floats = type(leaf).log_density(np.array([leaf.row]), values[None], self.known)[0]
        return found

    # -- what is decoded -----------------------------------------------------------------------

    def decoded(self, outputs: NDArray[Any]) -> DecodedColumn:
        """Return the leaves for the decoder's outputs, `[output, latent point]`."""
        count, points = len(self.points), outputs.shape[1]
        own = outputs.astype(np.float64).reshape(self.groups, count + self.coordinates, points)
        logits = np.concatenate([np.zeros((self.groups, 1, points)), own[:, :count]], axis=1)
        logits -= logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        coordinates = own[:, count:].transpose(0, 2, 1)
        coordinates = coordinates.reshape(self.groups * points, self.coordinates)
        table = self._table(coordinates, self.groups * points)
        parts = []
        if self.features:
            shape = self.groups, points, self.features
            parts.append(self._natural(table).reshape(shape).transpose(0, 2, 1))
        if self.masses:
            parts.append(logits)
        theta = _joined(parts, points)
        return DecodedColumn(coordinates, table, np.exp(logits), theta)

    def joined(self, parts: Sequence[DecodedColumn]) -> DecodedColumn:
        """Return the leaves at all points from those at consecutive ones."""
        tables = [part.table.reshape(self.groups, -1, len(self.start)) for part in parts]
        table = np.concatenate(tables, axis=1).reshape(-1, len(self.start))
        sizes = [part.shares.shape[2] for part in parts]
        own = [
            part.coordinates.reshape(self.groups, size, self.coordinates)
            for part, size in zip(parts, sizes, strict=True)
        ]
        return DecodedColumn(
            np.concatenate(own, axis=1).reshape(len(table), self.coordinates),
            table,
            np.concatenate([part.shares for part in parts], axis=2),
            np.concatenate([part.theta for part in parts], axis=1),
        )

    def _table(self, coordinates: Floats, leaves: int) -> Floats:
        start = np.broadcast_to(self.start, (leaves, len(self.start)))
        if not self.coordinates:
            return start
        bounded = np.clip(coordinates, -FARTHEST, FARTHEST)
        if as_numeric(self.kind).needs_warp:
            mean = bounded[:, 0]
            return np.stack([mean, np.maximum(np.exp(bounded[:, 1]), self._least(mean))], axis=1)
        return as_numeric(self.kind).from_coordinates(bounded, start, self._known_of(leaves))

    def _least(self, mean: Floats) -> Floats:
        """Return the least standard deviation on the column's warp, or a little more."""
        place = (np.clip(mean, -REACH, REACH) + REACH) * ((PLACES - 2) / (2.0 * REACH))
        return _bounds(self.kind, self.column)[place.astype(np.int64)]

    def _known_of(self, leaves: int) -> LeafColumns:
        return self.known.take(np.zeros(leaves, dtype=np.intp))

    def _natural(self, table: Floats) -> Floats:
        """Return what the features are multiplied with, `[leaf, feature]`.

        The expected log density is linear in averages of the features: its slopes are wanted.
        """
        kind, known = as_numeric(self.kind), self._known_of(len(table))
        count = self.features - 1
        none = kind.expected_log_density(table, np.zeros((len(table), count)), known)
        found = [none]
        for unit in np.eye(count):
            averages = np.broadcast_to(unit, (len(table), count))
            found.append(kind.expected_log_density(table, averages, known) - none)
        return np.stack(found, axis=1)

    def model(self, row: Floats) -> LeafModel:
        """Return the leaf with these parameters, and what stands beside it."""
        return LeafModel.of(self.leaf.from_row(row), self.column, *self.beside)

    def models(self, outputs: NDArray[Any]) -> list[LeafModel]:
        """Return the model of each point and, within it, each group."""
        found, points = self.decoded(outputs), outputs.shape[1]
        table = found.table
        if self.coordinates:  # not narrower than the exact bound
            kind, known = as_numeric(self.kind), self._known_of(len(table))
            coordinates = kind.coordinates(table, known)
            assert coordinates is not None
            table = kind.from_coordinates(coordinates, table, known)
        tables = table.reshape(self.groups, points, -1)
        shares = np.roll(found.shares, -1, axis=1)  # the leaf comes last
        masses = [point_at(self.column, value) for value in self.points.tolist()]
        models = []
        for point in range(points):
            for group in range(self.groups):
                model = self.model(tables[group, point])
                if masses:
                    model = model.beside(masses, shares[group, :, point].tolist())
                models.append(model)
        return models

    def range_chances(self, outputs: NDArray[Any], starts: Floats) -> Floats:
        """Return the probabilities of the ranges that begin at `starts`, `[group, point, range]`.

        The first range begins before all of them.
        """
        leaves, points = self.decoded(outputs), outputs.shape[1]
        known = self._known_of(len(leaves.table))
        before = np.nextafter(starts, -np.inf)[None]
        below = as_numeric(self.kind).cdf(leaves.table, before, known)
        ends = np.pad(below, ((0, 0), (1, 1)), constant_values=(0.0, 1.0))
        found = np.diff(ends, axis=1).reshape(self.groups, points, -1)
        found = found * leaves.shares[:, 0, :, None]
        for number, value in enumerate(self.points.tolist(), 1):
            place = int(np.searchsorted(starts, value, side="right"))
            found[:, :, place] += leaves.shares[:, number]
        return found

    # -- likelihoods and gradients -------------------------------------------------------------

    def add_densities(
        self, found: NDArray[np.float32], leaves: DecodedColumn, rows: ColumnRows
    ) -> None:
        """Add log densities that are not linear in statistics to `found[row, latent point]`."""
        if self.features:
            return
        tables = leaves.table.reshape(self.groups, found.shape[1], -1)
        for group in range(self.groups):
            own = np.flatnonzero(rows.is_possible & (rows.groups == group))
            if len(own):
                known = self._known_of(found.shape[1])
                found[own] += self.kind.log_density(tables[group], rows.values[None, own], known).T

    def gradient(
        self, leaves: DecodedColumn, pull: Floats, rows: ColumnRows, shares: NDArray[np.float32]
    ) -> Floats:
        """Return the gradient by the outputs, `[output, latent point]`.

        `pull[statistic, latent point]` are the statistics of the rows that each point explains,
        `shares[row, latent point]` how much of each row it does.
        """
        points = shares.shape[1]
        pull = pull.reshape(self.groups, self.features + self.masses, points)
        parts = []
        if self.masses:
            held = pull[:, self.features :]
            expected = leaves.shares * held.sum(axis=1, keepdims=True)
            parts.append((held - expected)[:, 1:])
        if self.coordinates:
            if self.features:
                sums = pull[:, : self.features].transpose(0, 2, 1).reshape(-1, self.features)
            else:
                sums = self._sums(leaves, rows, shares)
            known = self._known_of(len(sums))
            own = as_numeric(self.kind).gradient(leaves.table, sums, known)
            own = self._within_bounds(own, leaves, known)
            parts.append(own.reshape(self.groups, points, -1).transpose(0, 2, 1))
        return _joined(parts, points)

    def _sums(self, leaves: DecodedColumn, rows: ColumnRows, shares: NDArray[np.float32]) -> Floats:
        points = shares.shape[1]
        tables = leaves.table.reshape(self.groups, points, -1)
        known, found = self._known_of(points), []
        for group in range(self.groups):
            own = np.flatnonzero(rows.is_possible & (rows.groups == group))
            flows = shares[own].T.astype(np.float64)
            found.append(self.kind.statistics(rows.values[None, own], flows, tables[group], known))
        return np.concatenate(found)

    def _within_bounds(self, gradient: Floats, leaves: DecodedColumn, known: LeafColumns) -> Floats:
        """Return the gradient without what leads further beyond a bound."""
        if issubclass(self.kind, Histogram):  # without bounds; all logits may move by a constant
            return gradient
        kept = as_numeric(self.kind).coordinates(leaves.table, known)
        assert kept is not None
        back = kept - leaves.coordinates
        moved = np.abs(back) > MOVED * (1.0 + np.abs(kept))
        return np.where(moved & (gradient * back < 0.0), 0.0, gradient)


def _joined(parts: list[Floats], points: int) -> Floats:
    """Put parts of each group together, `[number, latent point]`."""
    return np.concatenate(parts, axis=1).reshape(-1, points) if parts else np.empty((0, points))


@lru_cache(maxsize=256)  # of 64 KB each
def _bounds(kind: Any, column: Column) -> Floats:
    """Return the least standard deviations of leaves between each of many places and the next."""
    places = np.linspace(-REACH, REACH, PLACES)
    least: Floats = kind.narrowest(places, LeafColumns.of([column], np.zeros(PLACES, np.int64)))
    return np.maximum(least[:-1], least[1:])


def is_linear(kind: type[Distribution]) -> bool:
    """Whether the log density of a leaf is linear in features that its parameters do not change."""
    own: Any = kind.statistics
    base: Any = NumericLeaf.statistics
    return own.__func__ is base.__func__


def coordinate_count(kind: type[Distribution], start: Floats, known: LeafColumns) -> int:
    """Return how many coordinates a leaf has; 0 if nothing about it is learned by gradients."""
    found = as_numeric(kind).coordinates(start[None], known)
    return 0 if found is None else found.shape[1]
