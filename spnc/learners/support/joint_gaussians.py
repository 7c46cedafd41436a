"""Joint Gaussians over real columns and dates, as parts of a circuit.

The columns are jointly normal on the scales on which their leaves are normal: values, logarithms or
places on warps. Such a Gaussian of low rank becomes a sum over a grid of factors, each a product of
one leaf per column (`factor_models.py`). A single leaf over several columns would be smaller, but
has no closed form for the probability of `age > 40 and height < 150`; of a circuit, all questions
are answered exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.learners import LearningTask
from spnc.learners.support.clustering import thread_pools
from spnc.learners.support.deferred_builder import AttachPoint, DeferredBuilder
from spnc.learners.support.factor_models import (
    FactorModel,
    Places,
    best_factor_model,
    factor_grid,
)
from spnc.learners.support.leaf_choice import LeafModel, SliceOptions
from spnc.learners.support.leaf_fit import DataSlice
from spnc.learners.support.point_masses import PointSplit
from spnc.leaves import Distribution
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.normal import NormalLeaf

MOST_POINTS = 4000  # of a grid


@dataclass(frozen=True, eq=False)
class JointColumn:
    """A column that is jointly normal with others."""

    variable: int
    column: Column
    kind: type[NormalLeaf]
    points: Floats | None  # values with point masses, which are no part of the Gaussian

    def known(self, count: int = 1) -> LeafColumns:
        """Return what this many leaves over the column know about it."""
        return LeafColumns.of([self.column], np.zeros(count, dtype=np.int64))

    def places(self, values: Floats) -> Floats:
        """Return places in standard deviations; NaN where a value is missing or has a point."""
        known = self.known()
        apart = self.kind.positions(values[None], known) - self.kind.origin(known)
        found: Floats = (apart / self.kind.unit(known))[0]
        at_points = np.isin(values, [] if self.points is None else self.points)
        found[at_points | ~np.isfinite(found)] = np.nan
        return found

    def leaves(self, means: Floats, noise: float, rows: float, alpha: float) -> list[LeafModel]:
        """Return leaves with these means and this variance, both as places; without points."""
        known = self.known(len(means))
        unit = self.kind.unit(known)
        mean = self.kind.origin(known) + unit * means
        sd = np.maximum(unit * np.sqrt(noise), self.kind.narrowest(mean, known))
        # The protocol has what a leaf object can do, which the base class does not know.
        kind = cast("type[Distribution]", self.kind)
        leaves = [kind.from_row(row) for row in np.stack([mean, sd], axis=1)]
        return [LeafModel.of(leaf, self.column, rows, alpha) for leaf in leaves]


def joint_columns(
    columns: Sequence[Column], kinds: Mapping[int, type[NormalLeaf]], points: Mapping[int, Floats]
) -> list[JointColumn]:
    """Return the columns with these numbers, and with these leaves."""
    return [JointColumn(v, columns[v], kind, points.get(v)) for v, kind in kinds.items()]


def add_grid(
    builder: DeferredBuilder,
    point: AttachPoint | None,
    columns: Sequence[JointColumn],
    model: FactorModel,
    splits: Sequence[PointSplit],
    rows: float,
    alpha: float,
) -> None:
    """Add a joint Gaussian: a sum over points, each a product of a leaf per column.

    `splits` has, for each column, how the weights of the rows are divided.
    """
    grid, noise = factor_grid(model, MOST_POINTS)
    shares = (grid.shares * rows).tolist()
    points: Sequence[AttachPoint | None] = [point]
    if len(shares) > 1:
        points = builder.add_sum(point, shares, smoothed=False)
    if len(columns) > 1:
        points = [builder.add_product(p, own) for p, own in zip(points, shares, strict=True)]
    for place, (column, split) in enumerate(zip(columns, splits, strict=True)):
        held = float(split.rest.sum())
        leaves = column.leaves(grid.means[:, place], float(noise[place]), held, alpha)
        for below, leaf, own in zip(points, split.beside(0, leaves), shares, strict=True):
            builder.add_model(below, column.variable, leaf, own)


def add_joint_gaussian(
    builder: DeferredBuilder,
    task: LearningTask,
    point: AttachPoint | None,
    part: DataSlice,
    options: SliceOptions,
) -> None:
    """Add the model of a slice: a joint Gaussian, and a leaf for each other column."""
    kinds = options.joint_kinds(task.columns, part.columns.tolist())
    columns = joint_columns(task.columns, kinds, builder.points)
    if len(columns) < 2:
        builder.add_leaves(point, part)
        return
    task.deadline.check()
    weights = task.table.weights[part.rows]
    values = [task.table.at(part.rows, np.array(c.variable)) for c in columns]
    places = Places.of(
        np.stack([c.places(v) for c, v in zip(columns, values, strict=True)], axis=1)
    )
    with thread_pools().limit(limits=1):
        model = best_factor_model(places, weights, task.smoothing.leaves, options.factors or 0)
    if model.loadings.shape[1] == 0:  # the columns are independent
        builder.add_leaves(point, part)
        return
    others = np.array([v for v in part.columns.tolist() if v not in kinds], dtype=np.intp)
    if len(others):
        point = builder.add_product(point, part.weight)
        builder.add_leaves(point, part._replace(columns=others))
    splits = [builder.divided(c.variable, v, weights) for c, v in zip(columns, values, strict=True)]
    add_grid(builder, point, columns, model, splits, part.weight, task.smoothing.leaves)
