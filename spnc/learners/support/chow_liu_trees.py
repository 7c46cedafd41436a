"""Chow-Liu trees over slices of data, as parts of a circuit.

For a column i and a state u of its parent column there is one sum over the states x of i, with the
weights p(x | u). Each state is a product of the indicator leaf for "i is x" and of the columns
below i, given x. These products are shared by all u, so that an edge of the tree costs as many
edges of the circuit as there are pairs of states. A column of states without children is an
ordinary leaf for every u.

The states of a column of numbers are ranges of about equal weight. In place of the indicator there
is a leaf, fitted to the rows of the range: it gives numbers outside of the range a density as well,
and EM moves and widens it. Leaves that are restricted to their ranges were up to 3 nats per row
worse on validation rows (docs/decisions/0070-ranges-of-numbers-are-soft.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.binning import binned, ranges
from spnc.data.pairs import PairCounter, PairCounts
from spnc.data.table import Cells, packed
from spnc.graph.nodes import Leaf
from spnc.learners import LearningTask
from spnc.learners.support.deferred_builder import AttachPoint, DeferredBuilder
from spnc.learners.support.leaf_choice import finite_leaf
from spnc.learners.support.leaf_fit import DataSlice, Indices
from spnc.learners.support.trees import (
    ON_OTHER_ROWS,
    comparable_information,
    maximum_spanning_tree,
    perturbed,
)
from spnc.leaves.leaf_columns import LeafColumns

# A column of numbers has as many ranges as the square root of the rows, divided by this: an edge
# between two of them then has a weight for every six rows. Both numbers are from decision 0070.
ROOTS_PER_RANGE = 2.5
MOST_RANGES = 32


def most_ranges(rows: float) -> int:
    """Return how many ranges a column of numbers has at most in a tree over this many rows."""
    return int(np.clip(np.sqrt(rows) / ROOTS_PER_RANGE, 1, MOST_RANGES))


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
    columns = [task.columns[c] for c in part.columns.tolist()]
    if len(columns) == 1:
        if task.sums is None or pairs is None or not columns[0].is_finite:
            builder.add_leaves(point, part)
        else:
            _TreeWriter(builder, task, part, pairs, [[]]).add_leaf(point)
        return
    pairs = pairs if pairs is not None else slice_counter(task, part).pairs
    information = comparable_information(columns, pairs, task.smoothing.leaves, ON_OTHER_ROWS)
    # The column with the most information about all others: a tree rooted there is less deep.
    root = int(np.argmax(information.sum(axis=1)))
    below: list[list[int]] = [[] for _ in columns]
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
        self._below = below
        self._states = _SliceStates(task, part, pairs)

    def add(self, point: AttachPoint | None, root: int) -> None:
        """Add a sum over the root's states, and the other columns, each after its parent."""
        counts = self._states.held(root).tolist()
        stack = [(root, [self._builder.add_sum(point, counts)])]
        while stack:
            column, points = stack.pop()
            states = self._add_states(column, points)
            for child in self._below[column]:
                given = self._states.between(column, child)
                if self._below[child] or not self._states.is_finite(child):
                    sums = [
                        self._builder.add_sum(state, shares)
                        for state, shares in zip(states, given.tolist(), strict=True)
                    ]
                    stack.append((child, sums))
                else:
                    self._add_leaves(child, states, given, given.sum(axis=1).tolist())

    def add_leaf(self, point: AttachPoint | None) -> None:
        """Add the only column, which has states."""
        self._add_leaves(0, [point], self._states.held(0)[None, :], [self._slice.weight])

    def _add_states(self, column: int, points: list[list[AttachPoint]]) -> list[AttachPoint]:
        """Add a product for each state of a column, below every sum (`points[sum][state]`)."""
        builder, variable = self._builder, self._slice.columns[[column]]
        rows = self._states.held(column).tolist()
        found = []
        for state, (first, *others) in enumerate(zip(*points, strict=True)):
            product = builder.add_product(first, rows[state])
            for point in others:
                builder.attach(point, product.parent)
            if self._states.is_finite(column):
                builder.add_indicator(product, int(variable[0]), state)
            else:
                own = self._states.rows_in(column, state)
                builder.add_leaves(product, DataSlice(own, variable, rows[state]))
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


class _SliceStates:
    """The states of a slice's columns, numbers by their ranges, and how many rows have them."""

    def __init__(self, task: LearningTask, part: DataSlice, pairs: PairCounts) -> None:
        self._task, self._slice = task, part
        self._pairs = pairs  # of these, only those of columns with states are looked at
        self._cells: dict[int, tuple[Cells, int]] = {}  # of numbers: ranges, and how many

    def is_finite(self, column: int) -> bool:
        """Whether a column has states of its own, and not ranges."""
        return self._task.columns[int(self._slice.columns[column])].is_finite

    def held(self, column: int) -> Floats:
        """Return the weight of the rows in each state of a column."""
        return self.between(column, column).diagonal()

    def between(self, one: int, other: int) -> Floats:
        """Return the weight of the rows with each state of two columns, `[state, state]`.

        If the table is a sample, ranges are counted in the sample, as if it had all rows.
        """
        if self.is_finite(one) and self.is_finite(other):
            return self._pairs.between(one, other)
        (first, height), (second, width) = self._coded(one), self._coded(other)
        known = (first < height) & (second < width)  # the code of a missing cell is above all
        places = first[known].astype(np.intp) * width + second[known].astype(np.intp)
        counts = np.bincount(places, self._weights[known], minlength=height * width)
        return counts.reshape(height, width).astype(np.float64)  # without rows, whole numbers

    def rows_in(self, column: int, state: int) -> Indices:
        """Return the rows of the slice in a state of a column; all if there are none."""
        own = self._slice.rows[self._coded(column)[0] == state]
        return own if len(own) else self._slice.rows

    @cached_property
    def _weights(self) -> Floats:
        """The weights of the slice's rows; if the table is a sample, as if it had all rows."""
        own = self._task.table.weights[self._slice.rows]
        total = float(own.sum())
        return own * (self._slice.weight / total) if total > 0.0 else own

    def _coded(self, column: int) -> tuple[Cells, int]:
        """Return the state of a column in each row of the slice, and how many states there are."""
        variable = int(self._slice.columns[column])
        table, rows = self._task.table, self._slice.rows
        if self.is_finite(column):
            return table.stored(variable)[rows], self._task.columns[variable].states
        if column not in self._cells:
            values = table.at(rows, np.array(variable))
            codes = ranges(values, self._weights, most_ranges(self._slice.weight))
            count = int(np.nanmax(codes, initial=0.0)) + 1
            self._cells[column] = packed(codes, count), count
        return self._cells[column]
