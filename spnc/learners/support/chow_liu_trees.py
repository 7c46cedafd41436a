"""Chow-Liu trees over slices of data, as parts of a circuit.

For a column i and a state u of its parent column there is one sum over the states x of i, with the
weights p(x | u). Each state is a product of the indicator leaf for "i is x" and of the columns
below i, given x. These products are shared by all u, so that an edge of the tree costs as many
edges of the circuit as there are pairs of states. A column without children is an ordinary leaf
for every u.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.binning import binned
from spnc.data.pairs import PairCounter, PairCounts, mutual_information
from spnc.graph.nodes import Leaf
from spnc.learners import LearningTask
from spnc.learners.support.deferred_builder import AttachPoint, DeferredBuilder
from spnc.learners.support.leaf_choice import finite_leaf
from spnc.learners.support.leaf_fit import DataSlice
from spnc.learners.support.trees import maximum_spanning_tree, perturbed
from spnc.leaves.leaf_columns import LeafColumns


def slice_counter(task: LearningTask, part: DataSlice) -> PairCounter:
    """Return what counts the pairs of a slice's columns; numbers are counted by ranges."""
    columns = [task.columns[c] for c in part.columns.tolist()]
    return PairCounter(*binned(columns, task.table.cut(part.rows, part.columns)))


def add_chow_liu_tree(
    builder: DeferredBuilder,
    task: LearningTask,
    point: AttachPoint | None,
    part: DataSlice,
    *,
    pairs: PairCounts | None = None,
    noise: float = 0.0,
) -> None:
    """Add a Chow-Liu tree over a slice; `pairs` are its counts, if known already."""
    if len(part.columns) == 1:
        if task.sums is None or pairs is None:
            builder.add_leaves(point, part)
        else:
            _TreeWriter(builder, task, part, pairs, [[]]).add_leaf(point)
        return
    pairs = pairs if pairs is not None else slice_counter(task, part).pairs
    information = mutual_information(pairs, task.smoothing.leaves)
    # The column with the most information about all others: a tree rooted there is less deep.
    root = int(np.argmax(information.sum(axis=1)))
    below: list[list[int]] = [[] for _ in part.columns]
    for parent, child in maximum_spanning_tree(perturbed(information, noise, task.rng), root):
        below[parent].append(child)
    _TreeWriter(builder, task, part, pairs, below).add(point, root)


class _TreeWriter:
    """Adds one tree to a circuit, from its root down. Columns are numbered within the slice."""

    def __init__(
        self,
        builder: DeferredBuilder,
        task: LearningTask,
        part: DataSlice,
        pairs: PairCounts,
        below: Sequence[Sequence[int]],
    ) -> None:
        self._builder, self._task, self._slice = builder, task, part
        self._pairs, self._below = pairs, below

    def add(self, point: AttachPoint | None, root: int) -> None:
        """Add a sum over the root's states, and the other columns, each after its parent."""
        counts = self._pairs.between(root, root).diagonal().tolist()
        stack = [(root, [self._builder.add_sum(point, counts)])]
        while stack:
            column, points = stack.pop()
            states = self._add_states(column, points)
            for child in self._below[column]:
                given = self._pairs.between(column, child)
                if self._below[child]:
                    sums = [
                        self._builder.add_sum(state, shares)
                        for state, shares in zip(states, given.tolist(), strict=True)
                    ]
                    stack.append((child, sums))
                else:
                    self._add_leaves(child, states, given, given.sum(axis=1).tolist())

    def add_leaf(self, point: AttachPoint | None) -> None:
        """Add the only column."""
        counts = self._pairs.between(0, 0).diagonal()[None, :]
        self._add_leaves(0, [point], counts, [self._slice.weight])

    def _add_states(self, column: int, points: list[list[AttachPoint]]) -> list[AttachPoint]:
        """Add a product for each state of a column, below every sum (`points[sum][state]`)."""
        builder, variable = self._builder, int(self._slice.columns[column])
        rows = self._pairs.between(column, column).diagonal().tolist()
        found = []
        for state, (first, *others) in enumerate(zip(*points, strict=True)):
            product = builder.add_product(first, rows[state])
            for point in others:
                builder.attach(point, product.parent)
            builder.add_indicator(product, variable, state)
            found.append(product)
        return found

    def _add_leaves(
        self,
        column: int,
        given: Sequence[AttachPoint | None],
        counts: Floats,
        rows: Sequence[float],
    ) -> None:
        """Add a column without children: one leaf, and its rows, for each state of its parent."""
        variable = int(self._slice.columns[column])
        own = self._task.columns[variable]
        leaf = finite_leaf(own)
        fallback = np.tile(leaf.default(own), (len(counts), 1))
        columns = LeafColumns.of([own], np.zeros(len(counts), dtype=np.int64))
        table = leaf.estimate(counts, self._task.smoothing.leaves, fallback, columns)
        origin = self._task.builder.origin
        for point, row, held in zip(given, table, rows, strict=True):
            self._builder.add_leaf(point, Leaf(variable, leaf.from_row(row), held, origin))
