"""A component whose structure is recorded first and whose parameters are fitted afterwards.

A learner that splits rows and columns needs no leaf and no weight while it does so. It adds sums,
products and slices of data to be modelled by leaves. When the structure is complete, the weights of
all sums and the parameters of all leaves are estimated together, and all nodes are added to the
forest at once. With thousands of small slices this saves nearly all of the time.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spnc.common.arrays import Floats
from spnc.graph.nodes import Leaf, Node, Product, Sum
from spnc.graph.recorded import edge_columns
from spnc.learners import LearningTask
from spnc.learners.support.leaf_choice import DEFAULT, LeafModel, LeafOptions
from spnc.learners.support.leaf_fit import DataSlice, fit_leaves
from spnc.learners.support.leaf_nodes import NodeList
from spnc.learners.support.point_masses import PointSplit, point_values, with_points
from spnc.leaves import smoothing
from spnc.leaves.indicator import Indicator


class AttachPoint(NamedTuple):
    """Where a node is to be attached: a parent and, if that is a sum, the weight of the edge."""

    parent: int
    slot: int | None = None  # index of the weight among those of all sums


class DeferredBuilder:
    """Records a circuit from the root down, and fits and builds it in the end.

    Every method takes the point to attach the new nodes to; None stands for the root. Nodes are
    numbered in the order in which they are added.
    """

    def __init__(self, task: LearningTask, leaves: LeafOptions = DEFAULT) -> None:
        self._task, self._leaf_options = task, leaves
        self._origin = task.builder.origin
        self._nodes: list[Node | None] = []  # None: a leaf, put in place in the end
        # Edges as arrays of machine integers; the slot of one without a weight is -1.
        self._parents, self._children, self._slots = array("q"), array("q"), array("q")
        self._shares: list[float] = []  # rows behind each child of each sum
        self._starts = [0]  # where each sum's shares begin, and the end of the last
        self._exact: list[slice] = []  # the shares that are not smoothed
        self._slices: list[DataSlice] = []
        self._models: dict[int, tuple[int, LeafModel, float]] = {}  # fitted already, by node
        self._indicators: dict[tuple[int, int], int] = {}
        self._root = 0

    @cached_property
    def points(self) -> Mapping[int, Floats]:
        """The values that get point masses, by column."""
        return point_values(self._task.columns, self._task.table, self._leaf_options)

    def divided(self, variable: int, values: Floats, weights: Floats) -> PointSplit:
        """Divide the weights of rows, with these values of a column, into points and the rest."""
        task, shared = self._task, [self.points.get(variable)]
        variables = np.array([variable], dtype=np.intp)
        return with_points(
            task.columns, variables, shared, values[None], weights[None], task.smoothing.weights
        )

    def add_product(self, point: AttachPoint | None, rows: float) -> AttachPoint:
        """Add a product. Return the point for all its children."""
        return AttachPoint(self._add(point, Product(rows, self._origin)))

    def add_sum(
        self, point: AttachPoint | None, shares: list[float], *, smoothed: bool = True
    ) -> list[AttachPoint]:
        """Add a sum with these numbers of rows behind its children. Return a point per child.

        Weights are the smoothed shares, or the shares as they are.
        """
        number = self._add(point, Sum(sum(shares), self._origin))
        slot = len(self._shares)
        self._shares += shares
        self._starts.append(len(self._shares))
        if not smoothed:
            self._exact.append(slice(slot, len(self._shares)))
        return [AttachPoint(number, s) for s in range(slot, len(self._shares))]

    def add_leaves(self, point: AttachPoint | None, part: DataSlice) -> None:
        """Add a leaf for each of the slice's columns, below a product if there are several."""
        first = len(self._nodes)
        count = len(part.columns)
        self._slices.append(part)
        self._nodes += [None] * count
        if count == 1:
            self.attach(point, first)
            return
        number = self._add(point, Product(part.weight, self._origin))
        self._parents.extend([number] * count)
        self._children.extend(range(first, first + count))
        self._slots.extend([-1] * count)

    def add_leaf(self, point: AttachPoint | None, leaf: Leaf) -> None:
        """Add a leaf that is fitted already."""
        self._add(point, leaf)

    def add_model(
        self, point: AttachPoint | None, variable: int, model: LeafModel, rows: float
    ) -> int:
        """Add a model of a column that is fitted already. Return its number, for `attach`."""
        number = len(self._nodes)
        self._nodes.append(None)
        self._models[number] = variable, model, rows
        self.attach(point, number)
        return number

    def add_indicator(self, point: AttachPoint, variable: int, state: int) -> None:
        """Attach the indicator leaf of a column's state; the circuit has one of each."""
        number = self._indicators.get((variable, state))
        if number is not None:
            self.attach(point, number)
            return
        rows = self._task.rows_in_state(variable, state)
        leaf = Leaf(variable, Indicator(float(state)), rows, self._origin)
        self._indicators[variable, state] = self._add(point, leaf)

    def _add(self, point: AttachPoint | None, node: Node) -> int:
        number = len(self._nodes)
        self._nodes.append(node)
        self.attach(point, number)
        return number

    def attach(self, point: AttachPoint | None, number: int) -> None:
        """Attach a node that was added before, given by its number, to one more point."""
        if point is None:
            self._root = number
        else:
            self._parents.append(point.parent)
            self._children.append(number)
            self._slots.append(-1 if point.slot is None else point.slot)

    def build(self) -> int:
        """Fit all weights and leaves, and add the circuit to the forest. Return its root."""
        task, starts = self._task, np.array(self._starts)
        counts = np.array(self._shares)
        uniform = np.repeat(1.0 / np.diff(starts), np.diff(starts))
        prior = task.smoothing
        weights = smoothing.smoothed_segments(counts, starts, prior.weights, uniform)
        for own in self._exact:
            weights[own] = counts[own] / counts[own].sum()
        fitted = (
            fit_leaves(task.columns, task.table, self._slices, prior, self._leaf_options)
            if self._slices
            else iter(())
        )
        models = (
            (variable, model, part.weight)
            for part, found in zip(self._slices, fitted, strict=True)
            for variable, model in zip(part.columns.tolist(), found, strict=True)
        )
        nodes = NodeList(self._origin)
        nodes.nodes = list(self._nodes)  # type: ignore[arg-type]  # the gaps are filled here
        for place in [i for i, node in enumerate(self._nodes) if node is None]:
            variable, model, rows = self._models.get(place) or next(models)
            nodes.put(place, variable, model, rows)
        slots = np.array(self._slots, dtype=np.int64)
        given = np.append(weights, np.nan)[slots]  # slot -1 finds what was appended
        parents, children, more, _ = edge_columns(nodes.edges)
        return self._root + task.builder.extend_by_arrays(
            nodes.nodes,
            np.concatenate([np.array(self._parents, dtype=np.int64), parents]),
            np.concatenate([np.array(self._children, dtype=np.int64), children]),
            np.concatenate([given, more]),
        )
