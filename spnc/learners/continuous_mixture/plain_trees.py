"""The single tree that all trees of a mixture start near, and that missing states are drawn from.

It joins the columns of states that have the most affinity. A column of numbers hangs below the
column of states that explains the most of it, if that is worth the parameters that it takes for
every state: rows · information, less what chance gives (half a nat for each degree of freedom of a
table of ranges and states), has to be more than half of ln(rows) for each parameter, as for the
choice of leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.binning import Binning
from spnc.data.pairs import PairCounts
from spnc.learners import LearningTask
from spnc.learners.continuous_mixture.decoded_leaves import decoded_kind
from spnc.learners.continuous_mixture.imputation import Imputation
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.number_column import NumberColumn, coordinate_count
from spnc.learners.continuous_mixture.number_leaves import NumberLeaves
from spnc.learners.support.leaf_choice import LeafOptions
from spnc.learners.support.random_start import ColumnFit, StartingLeaves
from spnc.learners.support.trees import maximum_spanning_tree
from spnc.leaves.fitting import fit_table
from spnc.leaves.numeric import as_numeric
from spnc.leaves.smoothing import smoothed

# Pseudo-rows per state, beyond the smoothing, of the single tree that all trees start near: its
# logits have to be finite even without smoothing.
PLAIN_TREE_PSEUDO_ROWS = 0.5


@dataclass(frozen=True, eq=False)
class PlainTree:
    """A tree for a mixture, and a model that is this tree alone."""

    trees: PlainTrees
    edges: list[tuple[int, int]]  # between columns of states, numbered by themselves
    parents: dict[int, int]  # of each column of numbers, among the columns of states; -1 for none

    @cached_property
    def tree(self) -> LogLinearTree:
        """The tree, whose columns of numbers have the leaves of the model."""
        trees = self.trees
        columns = [trees.task.columns[i] for i in trees.states_at]
        if not self.parents:
            return LogLinearTree.of(columns, self.edges)
        numbers = tuple(trees.number(i, parent) for i, parent in self.parents.items())
        return LogLinearTree.of(columns, self.edges, NumberLeaves(numbers, trees.states_at))

    @property
    def tables(self) -> list[Floats]:
        """The probabilities of each column of states, `[state of the parent, state]`."""
        return [self._every[i] for i in self.trees.states_at]

    @cached_property
    def imputation(self) -> Imputation:
        """Draws of missing states from the model."""
        return Imputation(self._whole, self._every, self.trees.ranges)

    @cached_property
    def _whole(self) -> LogLinearTree:
        """The tree of all columns, numbers by their ranges."""
        states_at, ranges = self.trees.states_at, self.trees.ranges
        if ranges is None:
            return self.tree
        edges = [(states_at[a], states_at[b]) for a, b in self.edges]
        edges += [(states_at[parent], i) for i, parent in self.parents.items() if parent >= 0]
        return LogLinearTree.of(ranges.columns, edges)

    @cached_property
    def _every(self) -> list[Floats]:
        """The probabilities of each column, numbers by their ranges."""
        trees, found = self.trees, []
        for column, parent in enumerate(self._whole.parents.tolist()):
            counts = trees.pairs.between(column, column).diagonal()[None, :]
            if parent >= 0:
                counts = trees.pairs.between(parent, column)
            pseudo_rows = trees.task.smoothing.leaves + PLAIN_TREE_PSEUDO_ROWS
            found.append(smoothed(counts, pseudo_rows, counts))
        return found


@dataclass(frozen=True, eq=False)
class PlainTrees:
    """Makes trees over the columns of a task."""

    task: LearningTask
    leaves: LeafOptions
    pairs: PairCounts  # of all columns; numbers by their ranges

    @cached_property
    def states_at(self) -> tuple[int, ...]:
        """The columns of states."""
        return tuple(i for i, column in enumerate(self.task.columns) if column.is_finite)

    @cached_property
    def numbers_at(self) -> tuple[int, ...]:
        """The columns of numbers."""
        return tuple(i for i, column in enumerate(self.task.columns) if not column.is_finite)

    @cached_property
    def ranges(self) -> Binning | None:
        """The ranges of the columns of numbers; None if there are none."""
        if not self.numbers_at:
            return None
        if self.task.sums is not None and self.task.sums.ranges is not None:
            return self.task.sums.ranges
        return Binning.of(self.task.columns, self.task.table)

    @cached_property
    def _fits(self) -> dict[int, ColumnFit]:
        """The leaf of each column of numbers, chosen once."""
        starting = StartingLeaves(self.task, 0.0, self.leaves)
        return {i: starting.column(i) for i in self.numbers_at}

    def tree(self, affinity: Floats, information: float) -> PlainTree:
        """Return the tree of most affinity, rooted at the column with the most in total.

        `information` is how many nats of mutual information a unit of affinity stands for; with 0,
        no column of numbers has a parent.
        """
        states_at = list(self.states_at)
        own = affinity[np.ix_(states_at, states_at)] if self.numbers_at else affinity
        edges = maximum_spanning_tree(own, int(np.argmax(own.sum(axis=1)))) if states_at else []
        parents = {i: self._parent(i, information * affinity[i]) for i in self.numbers_at}
        return PlainTree(self, edges, parents)

    def _parent(self, variable: int, information: Floats) -> int:
        """Return the parent of a column of numbers, among the columns of states; -1 for none."""
        fit, rows = self._fits[variable], self.task.total
        kind = decoded_kind(fit.kind)
        outputs = coordinate_count(kind, fit.start[0], fit.columns) + len(fit.points)
        assert self.ranges is not None
        chance = 0.5 * (self.ranges.columns[variable].states - 1)
        cost = 0.5 * np.log(max(rows, 1.0)) * outputs + chance
        gains = [
            rows * information[i] - cost * (self.task.columns[i].states - 1) for i in self.states_at
        ]
        best = int(np.argmax(gains)) if gains else -1
        return best if best >= 0 and gains[best] > 0.0 else -1

    def number(self, variable: int, parent: int) -> NumberColumn:
        """Return a column of numbers, with leaves that are fitted to the rows of each group."""
        task, fit = self.task, self._fits[variable]
        column, table = task.columns[variable], task.table
        values, weights = table.column(variable), table.weights
        states = table.column(self.states_at[parent]) if parent >= 0 else np.zeros(len(values))
        groups = task.columns[self.states_at[parent]].states if parent >= 0 else 1
        alpha = task.smoothing.leaves + PLAIN_TREE_PSEUDO_ROWS
        kind, known = decoded_kind(fit.kind), fit.columns
        at_points = values[:, None] == fit.points
        elsewhere = np.where(at_points.any(axis=1), np.nan, values)
        everything = np.ones((1, len(values)), dtype=np.bool_)
        start = fit_table(kind, fit.start, known, elsewhere[None], everything * weights, alpha)[0]
        plain = []
        for group in range(groups):
            own = weights * (states == group)
            row = fit_table(kind, fit.start, known, elsewhere[None], own[None], alpha)
            coordinates = as_numeric(kind).coordinates(row, known)
            held = [own[~np.isnan(elsewhere)].sum(), *(own @ at_points)]
            shares = np.log(np.array(held) + alpha)
            decoded = () if coordinates is None else coordinates[0]
            plain.append([*(shares[1:] - shares[0]), *decoded])
        return NumberColumn(
            variable,
            column,
            parent,
            groups,
            fit.kind,
            start,
            fit.points,
            (task.total, task.smoothing.leaves),
            np.array(plain, dtype=np.float64),
        )
