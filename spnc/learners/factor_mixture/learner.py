"""A mixture of factor models: groups of rows, in each of which real columns are jointly normal.

Rows belong to the groups in part, and EM fits all of them together. Within a group, real columns
and dates have a Gaussian of low rank (Ghahramani & Hinton 1996, "The EM Algorithm for Mixtures of
Factor Analyzers"), on the scale on which their leaves are normal; all other columns are
independent. In the end each group becomes a product, in which the Gaussian is a sum over a grid of
factors. The points of a grid belong together, which EM on the circuit would not know: it would
treat each as free. So all parameters are fitted when the learner is done, and `max_iterations: 0`
leaves them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.dataset import Dataset
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.learners import LearningTask
from spnc.learners.factor_mixture.group_parts import (
    Both,
    GroupPart,
    JointPart,
    NumbersPart,
    StatesPart,
)
from spnc.learners.factor_mixture.mixture_fit import MixtureFit
from spnc.learners.support.clustering import encoded, kmeans, thread_pools
from spnc.learners.support.deferred_builder import AttachPoint, DeferredBuilder
from spnc.learners.support.joint_gaussians import add_grid, joint_columns
from spnc.learners.support.leaf_choice import JointOptions, LeafModel, finite_leaf_with
from spnc.learners.support.leaf_fit import DataSlice, fit_leaves
from spnc.learners.support.point_masses import PointSplit
from spnc.leaves import Distribution
from spnc.leaves.point import Point
from spnc.registry import LEARNERS, Options, option


@LEARNERS.register("factor-mixture")
@dataclass(frozen=True, kw_only=True)
class FactorMixture(Options):
    """Groups of rows in which real columns are jointly normal, and all others independent."""

    ends_by_validation_rows: ClassVar[bool] = True  # keeps the best iteration on them

    groups: int = option(16, "the number of groups; fewer if there are fewer different rows", min=1)
    factors: int = option(
        2, "how many factors the real columns of a group have in common", min=1, max=3
    )
    iterations: int = option(
        100,
        "how many iterations of EM the groups are fitted for at most; with validation rows, the "
        "best one is kept",
        min=0,
    )
    leaves: JointOptions = option(JointOptions(), "the distributions of leaves over numbers")

    def verify(self, dataset: Dataset | None, sink: Sink) -> None:
        """Report nothing: all columns can be modelled."""

    def learn(self, task: LearningTask) -> int:
        """Add a circuit over all columns. Return its root."""
        with thread_pools().limit(limits=1):
            return _Mixture(self, task).learn()


class _Mixture:
    """One mixture while it is learned."""

    def __init__(self, options: FactorMixture, task: LearningTask) -> None:
        self._options, self._task = options, task
        self._builder = DeferredBuilder(task, options.leaves)
        kinds = options.leaves.joint_kinds(task.columns, range(len(task.columns)))
        self._joint_columns = joint_columns(task.columns, kinds, self._builder.points)
        train, valid = task.table, task.valid
        self._tables = Both(train, train.take(np.arange(0)) if valid is None else valid)
        # The parts of the mixture; those of one column by its number.
        self._joint: JointPart | None = None
        self._states: dict[int, StatesPart] = {}
        self._points: dict[int, StatesPart] = {}
        self._numbers: dict[int, NumbersPart] = {}

    def learn(self) -> int:
        """Fit the groups, and add their circuit. Return its root."""
        task, builder = self._task, self._builder
        places = Both(*(self._places(table) for table in self._tables))
        members = self._first_members(places.train)
        self._make_parts(places, members)
        weights = Both(*(table.weights for table in self._tables))
        fit = MixtureFit(task, self._parts(), weights, members)
        members = fit.run(self._options.iterations)
        rows = (fit.shares * float(task.table.weights.sum())).tolist()
        points: list[AttachPoint | None] = [None]
        if len(rows) > 1:
            points = [*builder.add_sum(None, rows, smoothed=False)]
        if len(task.columns) > 1:
            points = [builder.add_product(p, own) for p, own in zip(points, rows, strict=True)]
        for group, (point, own) in enumerate(zip(points, rows, strict=True)):
            self._add_group(group, point, members[group], own)
        return builder.build()

    def _places(self, table: Table) -> Floats:
        """Return the places of the columns that are jointly normal, `[row, column]`."""
        found = [column.places(table.column(column.variable)) for column in self._joint_columns]
        return np.array(found).reshape(len(found), table.rows).T

    def _first_members(self, places: Floats) -> Floats:
        """Return the weights of rows in groups found by k-means, `[group, row]`."""
        task = self._task
        cells = np.stack([task.table.column(i) for i in range(len(task.columns))], axis=1)
        cells[:, [column.variable for column in self._joint_columns]] = places
        labels = kmeans(
            encoded(task.columns, cells), task.table.weights, self._options.groups, task.rng
        )
        groups = np.arange(int(labels.max()) + 1)[:, None]
        found: Floats = (labels == groups) * task.table.weights
        return found

    def _make_parts(self, places: Both[Floats], members: Floats) -> None:
        task, groups, prior = self._task, len(members), self._task.smoothing
        if self._joint_columns:
            self._joint = JointPart(places, members, self._options.factors, prior.leaves)
        joint = {column.variable for column in self._joint_columns}
        for i, column in enumerate(task.columns):
            values = Both(*(table.column(i) for table in self._tables))
            if column.is_finite:
                self._states[i] = StatesPart(values, column.states, groups, prior.leaves)
                continue
            points = self._builder.points.get(i, np.empty(0))
            if len(points):
                codes = Both(*(_codes(own, points) for own in values))
                self._points[i] = StatesPart(codes, len(points) + 1, groups, prior.weights)
            if i not in joint:
                others = Both(*(np.where(np.isin(v, points), np.nan, v) for v in values))
                leaf = self._leaf(i)
                self._numbers[i] = NumbersPart(column, leaf, others, groups, prior.leaves)

    def _leaf(self, variable: int) -> Distribution:
        """Return the leaf of a column of numbers for all rows together."""
        task, leaves = self._task, self._options.leaves
        whole = DataSlice(np.arange(task.table.rows), np.array([variable]), task.total)
        [[model]] = fit_leaves(task.columns, task.table, [whole], task.smoothing, leaves)
        return next(part for part in model.parts if not isinstance(part, Point))

    def _parts(self) -> dict[str, GroupPart]:
        """Return the parts by name."""
        found: dict[str, GroupPart] = {} if self._joint is None else {"joint": self._joint}
        found |= {f"states.{i}": part for i, part in self._states.items()}
        found |= {f"points.{i}": part for i, part in self._points.items()}
        found |= {f"numbers.{i}": part for i, part in self._numbers.items()}
        return found

    def _add_group(
        self, group: int, point: AttachPoint | None, members: Floats, rows: float
    ) -> None:
        """Add the leaves of a group, to which the training rows belong with these weights."""
        task, builder, prior = self._task, self._builder, self._task.smoothing
        for i, states in self._states.items():
            leaf = finite_leaf_with(task.columns[i], states.table[group])
            builder.add_model(point, i, LeafModel((leaf,)), rows)
        for i, numbers in self._numbers.items():
            [model] = self._split(i, members).models([numbers.model(group)])
            builder.add_model(point, i, model, rows)
        if self._joint is not None:
            splits = [self._split(column.variable, members) for column in self._joint_columns]
            gaussian = self._joint.model(group)
            add_grid(builder, point, self._joint_columns, gaussian, splits, rows, prior.leaves)

    def _split(self, variable: int, members: Floats) -> PointSplit:
        return self._builder.divided(variable, self._tables.train.column(variable), members)


def _codes(values: Floats, points: Floats) -> Floats:
    """Return the number of the point that each value is at, or of the rest; NaN where missing."""
    at = values == points[:, None]
    found: Floats = np.where(at.any(axis=0), at.argmax(axis=0), len(points)).astype(np.float64)
    found[np.isnan(values)] = np.nan
    return found
