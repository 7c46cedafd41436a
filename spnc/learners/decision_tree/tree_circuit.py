"""The circuit of a grown tree: sums over the sides of tests, products of columns below them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spnc.common.arrays import Floats
from spnc.learners import LearningTask
from spnc.learners.decision_tree.known_columns import KnownColumns
from spnc.learners.decision_tree.regions import Region
from spnc.learners.decision_tree.tree_growth import Tree
from spnc.learners.support.deferred_builder import AttachPoint, DeferredBuilder
from spnc.learners.support.leaf_choice import LeafModel, LeafOptions, finite_leaf_with
from spnc.learners.support.leaf_fit import DataSlice, Indices
from spnc.leaves.finite import as_finite

Regions = dict[int, Region]  # by column; a column that was not tested is missing


class TreeCircuit:
    """Turns a tree into nodes.

    The columns in `own` get a distribution of each leaf's own, with this many pseudo-rows of the
    whole column, given the tests. The others get just the latter.
    """

    def __init__(
        self,
        task: LearningTask,
        known: KnownColumns,
        tree: Tree,
        own: Mapping[int, float],
        leaves: LeafOptions,
    ) -> None:
        self.task, self.known, self.tree, self.own = task, known, tree, own
        self.builder = DeferredBuilder(task, leaves)
        self.values = {variable: task.table.column(variable) for variable in own}
        self.rows = _rows_of_leaves(tree)
        self.weights = np.zeros(len(tree.left))  # of the rows that reach each node
        self.below: list[frozenset[int]] = [frozenset(own)] * len(tree.left)
        for node in reversed(range(len(tree.left))):  # children have larger numbers
            if tree.left[node] < 0:
                self.weights[node] = task.table.weights[self.rows[node]].sum()
                continue
            sides = tree.left[node], tree.right[node]
            self.weights[node] = sum(self.weights[side] for side in sides)
            tested = tree.inputs[tree.tested[node]].variable
            self.below[node] = frozenset.union(*(self.below[s] for s in sides), {tested})
        self.shared: dict[tuple[int, Region | None], int] = {}

    def build(self) -> int:
        """Add the circuit to the forest. Return its root."""
        scope = frozenset(range(len(self.task.columns)))
        stack: list[tuple[int, AttachPoint | None, frozenset[int], Regions]] = [
            (0, None, scope, {})
        ]
        while stack:
            stack += self._add(*stack.pop())
        return self.builder.build()

    def _add(
        self, node: int, point: AttachPoint | None, scope: frozenset[int], regions: Regions
    ) -> list[tuple[int, AttachPoint | None, frozenset[int], Regions]]:
        """Add the circuit of a node over some columns. Return what is left to be added below."""
        tree, builder, weight = self.tree, self.builder, float(self.weights[node])
        if tree.left[node] < 0:
            if len(scope) > 1:
                point = builder.add_product(point, weight)
            for variable in sorted(scope):
                self._add_column(node, point, variable, regions.get(variable))
            return []
        here = scope - self.below[node]
        if here:
            point = builder.add_product(point, weight)
            for variable in sorted(here):
                self._add_shared(point, variable, regions.get(variable))
        sides = tree.left[node], tree.right[node]
        points = builder.add_sum(point, [float(self.weights[side]) for side in sides])
        variable, *parts = tree.sides(node)
        known = regions.get(variable)
        return [
            (
                side,
                own,
                self.below[node],
                {**regions, variable: part if known is None else part.within(known)},
            )
            for side, own, part in zip(sides, points, parts, strict=True)
        ]

    def _add_column(
        self, leaf: int, point: AttachPoint | None, variable: int, region: Region | None
    ) -> None:
        """Add the distribution of a column in a leaf."""
        prior, rows = self.own.get(variable), self.rows[leaf]
        if prior is None:
            self._add_shared(point, variable, region)
            return
        values, weights = self.values[variable][rows], self.task.table.weights[rows]
        held = float(weights[~np.isnan(values)].sum())
        if held == 0.0:
            self._add_shared(point, variable, region)
        elif self.task.columns[variable].is_finite:
            model = self._counted(variable, values, weights, prior, region)
            self.builder.add_model(point, variable, model, held)
        else:
            points = self.builder.add_sum(point, [held, prior])
            part = DataSlice(rows, np.array([variable]), float(weights.sum()))
            self.builder.add_leaves(points[0], part)
            self._add_shared(points[1], variable, region)

    def _counted(
        self, variable: int, values: Floats, weights: Floats, prior: float, region: Region | None
    ) -> LeafModel:
        """Return the distribution of labels in a leaf, with pseudo-rows of the whole column."""
        [whole] = self.known.given(variable, region).parts
        states, known = self.task.columns[variable].states, ~np.isnan(values)
        p = as_finite(type(whole)).probabilities(np.array([whole.row]), states)[0]
        codes = values[known].astype(np.intp)
        counts = np.bincount(codes, weights[known], minlength=states) + prior * p
        leaf = finite_leaf_with(self.task.columns[variable], counts / counts.sum())
        return LeafModel((leaf,))

    def _add_shared(self, point: AttachPoint | None, variable: int, region: Region | None) -> None:
        """Attach the distribution of a whole column, given a region; each is added once."""
        key = variable, region
        if key in self.shared:
            self.builder.attach(point, self.shared[key])
            return
        rows = float(self.task.table.weights.sum())
        model = self.known.given(variable, region)
        self.shared[key] = self.builder.add_model(point, variable, model, rows)


def _rows_of_leaves(tree: Tree) -> dict[int, Indices]:
    """Return the rows that reach each leaf."""
    order = np.argsort(tree.leaf_of, kind="stable")
    leaves, starts = np.unique(tree.leaf_of[order], return_index=True)
    return dict(zip(leaves.tolist(), np.split(order, starts[1:]), strict=True))
