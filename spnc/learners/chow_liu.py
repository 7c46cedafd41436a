"""Chow-Liu trees, compiled into ordinary sums and products (Chow & Liu 1968).

The tree that joins all columns by the pairs with the most mutual information is the best of all
distributions in which every column depends on one other. It needs no latent variable. For a
column i and a state u of the column above it there is one sum over the states x of i, with the
weights p(x | u); each state is a product of the leaf that says "i is x" and of the columns below
i, given x. These products are shared by all u, so that an edge of the tree costs as many edges of
the circuit as there are pairs of states. A column with none below it is an ordinary leaf for
every u.

The leaves that say which state a column has are indicators: EM leaves them alone, while it fits
all weights as it does anywhere. On rows without missing values, a tree alone is where EM ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spnc.data.dataset import Table
from spnc.data.pairs import PairCounts, mutual_information, pair_counts
from spnc.graph.nodes import Leaf
from spnc.learners import LearningTask
from spnc.learners.support.clustering import thread_pools
from spnc.learners.support.leaf_fit import Block, leaf_class
from spnc.learners.support.sketch import Hook, Sketch
from spnc.learners.support.trees import maximum_spanning_tree, perturbed
from spnc.registry import LEARNERS, Options, option

Leaves = Literal["factorised", "chow-liu"]


@LEARNERS.register("chow-liu")
@dataclass(frozen=True, kw_only=True)
class ChowLiu(Options):
    """A Chow-Liu tree over all columns: each depends on one other, and nothing is latent."""

    noise: float = option(
        0.0,
        "mutual informations are multiplied by 1 + noise times a number between -1 and 1, so that "
        "the trees of a forest differ",
        min=0,
    )

    def learn(self, task: LearningTask) -> int:
        """Add a circuit over all columns; answer its root."""
        table = task.table
        whole = Block(
            np.arange(table.rows), np.arange(len(task.columns)), float(table.weights.sum())
        )
        sketch = Sketch(task)
        with thread_pools().limit(limits=1):
            draw_tree(sketch, task, None, whole, noise=self.noise)
        return sketch.build()


def draw_leaves(
    sketch: Sketch, task: LearningTask, hook: Hook | None, block: Block, leaves: Leaves
) -> None:
    """What a slice of data ends as: its columns as if independent, or a Chow-Liu tree of them."""
    if leaves == "chow-liu":
        draw_tree(sketch, task, hook, block)
    else:
        sketch.leaves(hook, block)


def slice_counts(task: LearningTask, block: Block) -> PairCounts:
    """The pairs of a slice's columns, counted over its rows."""
    values = task.table.values[np.ix_(block.rows, block.columns)]
    columns = [task.columns[c] for c in block.columns.tolist()]
    return pair_counts(columns, Table(values, task.table.weights[block.rows]))


def draw_tree(
    sketch: Sketch,
    task: LearningTask,
    hook: Hook | None,
    block: Block,
    *,
    pairs: PairCounts | None = None,
    noise: float = 0.0,
) -> None:
    """A Chow-Liu tree over a slice; `pairs` are its counts, where they are known."""
    if len(block.columns) == 1:
        sketch.leaves(hook, block)
        return
    pairs = pairs if pairs is not None else slice_counts(task, block)
    information = mutual_information(pairs, task.smoothing.leaves)
    # From the column that says most about all others: the tree is less deep from there.
    root = int(np.argmax(information.sum(axis=1)))
    below: list[list[int]] = [[] for _ in block.columns]
    for parent, child in maximum_spanning_tree(perturbed(information, noise, task.rng), root):
        below[parent].append(child)
    _Tree(sketch, task, block, pairs, below).draw(hook, root)


class _Tree:
    """One tree being drawn, from its root down."""

    def __init__(
        self,
        sketch: Sketch,
        task: LearningTask,
        block: Block,
        pairs: PairCounts,
        below: Sequence[Sequence[int]],
    ) -> None:
        self._sketch, self._lesson, self._block = sketch, task, block
        self._pairs, self._below = pairs, below

    def draw(self, hook: Hook | None, root: int) -> None:
        """The root is a sum over its states; columns follow, each after the one above it."""
        counts = self._pairs.between(root, root).diagonal().tolist()
        stack = [(root, [self._sketch.sum(hook, counts)])]
        while stack:
            column, hooks = stack.pop()
            states = self._states(column, hooks)
            for child in self._below[column]:
                given = self._pairs.between(column, child)
                if self._below[child]:
                    sums = [
                        self._sketch.sum(state, shares)
                        for state, shares in zip(states, given.tolist(), strict=True)
                    ]
                    stack.append((child, sums))
                else:
                    self._leaves(child, states, given)

    def _states(self, column: int, hooks: list[list[Hook]]) -> list[Hook]:
        """A product for each state of a column, below every sum over them (`[sum][state]`)."""
        sketch, variable = self._sketch, int(self._block.columns[column])
        rows = self._pairs.between(column, column).diagonal().tolist()
        found = []
        for state, (first, *others) in enumerate(zip(*hooks, strict=True)):
            product = sketch.product(first, rows[state])
            for hook in others:
                sketch.hang(hook, product.parent)
            sketch.indicator(product, variable, state)
            found.append(product)
        return found

    def _leaves(self, column: int, given: list[Hook], counts: NDArray[np.float64]) -> None:
        """A column with none below it: one leaf for each state of the column above."""
        variable = int(self._block.columns[column])
        own = self._lesson.columns[variable]
        leaf = leaf_class(own.kind)
        fallback = np.tile(leaf.uniform(own.states), (len(counts), 1))
        table = leaf.estimate(counts, self._lesson.smoothing.leaves, fallback)
        origin = self._lesson.builder.origin
        for hook, row, rows in zip(given, table, counts.sum(axis=1).tolist(), strict=True):
            self._sketch.leaf(hook, Leaf(variable, leaf.from_row(row), rows, origin))
