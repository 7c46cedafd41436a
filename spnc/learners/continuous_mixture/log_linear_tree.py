"""A tree over the columns as a log-linear model: its statistics, and its likelihood from these.

In a tree each column i depends on one other, its parent. Given the parent's state b, the column's
states have the probabilities softmax(0, η_1, …, η_{S-1}): a *group* of S - 1 logits with the
normaliser Z(b). The log-likelihood of a row is then linear in η and log Z, and in statistics of
the row that do not depend on the parameters: the constant 1; whether column i is in state a, for
a ≥ 1; and whether i is in a and its parent in b, for both ≥ 1:

    log p(row) = statistics(row) · θ,     θ = A η - B log Z

So the log-likelihoods of all rows under all parameters are one product of matrices, and their
gradient is another one: g_η = Aᵀ g_θ - softmax(η) · Bᵀ g_θ.

All this is about columns of states, which are numbered by themselves. Columns of numbers are leaves
of the tree: `number_leaves`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spnc.common.arrays import Ints
from spnc.data.columns import Column
from spnc.learners.continuous_mixture.number_leaves import NO_NUMBERS, Floats32, NumberLeaves


@dataclass(frozen=True, eq=False)
class LogLinearTree:
    """The logits, groups and statistics of a tree."""

    states: Ints  # the number of states of each column
    parents: Ints  # the parent of each column; -1 for the root
    order: list[int]  # the columns, each after its parent
    numbers: NumberLeaves = field(default=NO_NUMBERS)

    @staticmethod
    def of(
        columns: Sequence[Column],
        edges: Sequence[tuple[int, int]],
        numbers: NumberLeaves = NO_NUMBERS,
    ) -> LogLinearTree:
        """Return the tree with these edges (parent, child), those nearer to the root first.

        `columns` have states; `numbers` are the others.
        """
        parents = np.full(len(columns), -1, dtype=np.int64)
        for parent, child in edges:
            parents[child] = parent
        order = [*np.flatnonzero(parents < 0).tolist(), *(child for _, child in edges)]
        states = np.array([c.states for c in columns], dtype=np.int64)
        return LogLinearTree(states, parents, order, numbers)

    @cached_property
    def group_counts(self) -> Ints:
        """The number of groups of each column: the number of its parent's states."""
        return np.where(self.parents < 0, 1, self.states[self.parents])

    @cached_property
    def first_group(self) -> Ints:
        """The first group of each column, followed by the number of groups."""
        return np.concatenate([[0], np.cumsum(self.group_counts)])

    @cached_property
    def group_sizes(self) -> Ints:
        """The number of logits of each group."""
        return np.repeat(self.states - 1, self.group_counts)

    @cached_property
    def group_starts(self) -> Ints:
        """The first logit of each group, followed by the number of logits."""
        return np.concatenate([[0], np.cumsum(self.group_sizes)])

    @property
    def groups(self) -> int:
        """The number of groups."""
        return int(self.first_group[-1])

    @property
    def logits(self) -> int:
        """The number of logits."""
        return int(self.group_starts[-1])

    @property
    def outputs(self) -> int:
        """How many numbers a decoder gives: the logits, then what is for columns of numbers."""
        return self.logits + self.numbers.outputs

    @cached_property
    def _own(self) -> Ints:
        """Where the statistics of each column start (after the constant), and where they end."""
        return 1 + np.concatenate([[0], np.cumsum(self.states - 1)])

    @cached_property
    def _pairs(self) -> Ints:
        """Where the statistics of each column and its parent start, and the number of all."""
        above = np.where(self.parents < 0, 0, self.states[self.parents] - 1)
        return int(self._own[-1]) + np.concatenate([[0], np.cumsum((self.states - 1) * above)])

    @property
    def statistics_count(self) -> int:
        """The number of statistics of a row."""
        return int(self._pairs[-1])

    def statistics(self, codes: NDArray[np.integer[Any]]) -> Floats32:
        """Return the statistics of complete rows of states, `[row, statistic]`."""
        has_parent = np.flatnonzero(self.parents >= 0)
        above = self.parents[has_parent]
        if self.binary:
            own = codes.astype(np.float32)
            ones = np.ones((len(codes), 1), dtype=np.float32)
            return np.concatenate([ones, own, own[:, has_parent] * own[:, above]], axis=1)
        found = np.zeros((len(codes), self.statistics_count), dtype=np.float32)
        found[:, 0] = 1.0
        on = codes > 0
        rows, columns = np.nonzero(on)
        found[rows, self._own[columns] + codes[rows, columns] - 1] = 1.0
        rows, at = np.nonzero(on[:, has_parent] & on[:, above])
        columns = has_parent[at]
        pair = (codes[rows, above[at]] - 1) * (self.states[columns] - 1) + codes[rows, columns] - 1
        found[rows, self._pairs[columns] + pair] = 1.0
        return found

    @cached_property
    def from_logits(self) -> sparse.csr_array:
        """The matrix A, `[statistic, logit]`."""
        return self._matrix(self._logit_entries(), self.logits)

    @cached_property
    def from_normalisers(self) -> sparse.csr_array:
        """The matrix B, `[statistic, group]`."""
        return self._matrix(self._normaliser_entries(), self.groups)

    def _matrix(self, entries: Iterator[tuple[int, int, float]], width: int) -> sparse.csr_array:
        rows, columns, numbers = zip(*entries, strict=True) if width else ((), (), ())
        shape = (self.statistics_count, width)
        return sparse.csr_array((np.array(numbers, np.float32), (rows, columns)), shape=shape)

    def _logit_entries(self) -> Iterator[tuple[int, int, float]]:
        for column in range(len(self.states)):
            size = int(self.states[column]) - 1
            none, *others = self.group_starts[
                self.first_group[column] : self.first_group[column + 1]
            ].tolist()
            for a in range(size):
                yield int(self._own[column]) + a, none + a, 1.0
                for b, start in enumerate(others):
                    pair = int(self._pairs[column]) + b * size + a
                    yield pair, start + a, 1.0
                    yield pair, none + a, -1.0

    def _normaliser_entries(self) -> Iterator[tuple[int, int, float]]:
        for column, parent in enumerate(self.parents.tolist()):
            none, *others = range(self.first_group[column], self.first_group[column + 1])
            yield 0, none, 1.0
            for b, group in enumerate(others):
                yield int(self._own[parent]) + b, group, 1.0
                yield int(self._own[parent]) + b, none, -1.0

    def normalised(self, logits: Floats32) -> tuple[Floats32, Floats32]:
        """Return the probabilities of logits `[logit, point]`, and each group's log Z."""
        starts = self.group_starts[:-1]
        if self.binary:
            top = np.maximum(logits, 0.0)
            log_z = top + np.log1p(np.exp(-np.abs(logits)))
            return np.exp(logits - log_z), log_z
        top = np.maximum(np.maximum.reduceat(logits, starts), np.float32(0.0))
        shifted = np.exp(logits - np.repeat(top, self.group_sizes, axis=0))
        total = np.exp(-top) + np.add.reduceat(shifted, starts)
        log_z = top + np.log(total)
        return shifted / np.repeat(total, self.group_sizes, axis=0), log_z

    @cached_property
    def binary(self) -> bool:
        """Whether every column has two states, so that every group is one logit."""
        return bool((self.states == 2).all())

    def spread(self, by_group: Floats32) -> Floats32:
        """Repeat a number per group for each of the group's logits."""
        return by_group if self.binary else np.repeat(by_group, self.group_sizes, axis=0)

    def tables(self, logits: Floats32) -> list[NDArray[np.float64]]:
        """Return the probabilities `[point, state of the parent, state]` of each column."""
        exact = logits.astype(np.float64)
        found = []
        for column, states in enumerate(self.states.tolist()):
            first, last = self.first_group[column], self.first_group[column + 1]
            own = exact[self.group_starts[first] : self.group_starts[last]]
            own = own.reshape(int(last - first), states - 1, -1).transpose(2, 0, 1)
            padded = np.concatenate([np.zeros((*own.shape[:2], 1)), own], axis=2)
            padded -= padded.max(axis=2, keepdims=True)
            table = np.exp(padded)
            found.append(table / table.sum(axis=2, keepdims=True))
        return found

    def logits_of(self, tables: Sequence[NDArray[np.float64]]) -> Floats32:
        """Return the logits of probabilities `[state of the parent, state]`, a table per column.

        What a decoder gives for columns of numbers follows: their leaves at first.
        """
        logs = [np.log(table) for table in tables]
        parts = [(log[:, 1:] - log[:, :1]).ravel().astype(np.float32) for log in logs]
        return np.concatenate([*parts, self.numbers.plain])
