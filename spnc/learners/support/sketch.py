"""A component drawn first and fitted afterwards.

A learner that splits rows and columns needs no leaf and no weight while it does so. It draws
sums, products and blocks of leaves, each over some rows; when all is drawn, the weights of
all sums and the parameters of all leaves are worked out together, and the nodes are added to the
forest at once. For thousands of small slices this saves nearly all of the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.graph.nodes import Leaf, Node, Product, Sum
from spnc.learners import LearningTask
from spnc.learners.support.leaf_fit import Block, fit_leaves
from spnc.leaves import smoothing
from spnc.leaves.indicator import Indicator


class Hook(NamedTuple):
    """Where a node is to hang: below this parent and, if that is a sum, with this weight."""

    parent: int
    slot: int | None = None  # the weight's place in the list of all


class Sketch:
    """A circuit in the making. Nodes are numbered as they are drawn, and hung below others."""

    def __init__(self, task: LearningTask) -> None:
        self._lesson = task
        self._origin = task.builder.origin
        self._nodes: list[Node | None] = []  # None: a leaf, still to be fitted
        self._edges: list[tuple[int, int, int | None]] = []
        self._shares: list[float] = []  # rows behind each child of each sum
        self._starts = [0]  # where each sum's shares begin, and the end of the last
        self._blocks: list[Block] = []
        self._indicators: dict[tuple[int, int], int] = {}
        self._root = 0

    def product(self, hook: Hook | None, rows: float) -> Hook:
        """A product; the hook is for all its children."""
        return Hook(self._draw(hook, Product(rows, self._origin)))

    def sum(self, hook: Hook | None, shares: list[float]) -> list[Hook]:
        """A sum whose children stand for so many rows each; a hook for every child."""
        number = self._draw(hook, Sum(sum(shares), self._origin))
        slot = len(self._shares)
        self._shares += shares
        self._starts.append(len(self._shares))
        return [Hook(number, s) for s in range(slot, len(self._shares))]

    def leaves(self, hook: Hook | None, block: Block) -> None:
        """A leaf for each of the block's columns, below a product if they are several."""
        first = len(self._nodes)
        count = len(block.columns)
        self._blocks.append(block)
        self._nodes += [None] * count
        if count == 1:
            self.hang(hook, first)
            return
        number = self._draw(hook, Product(block.weight, self._origin))
        self._edges += [(number, leaf, None) for leaf in range(first, first + count)]

    def leaf(self, hook: Hook | None, leaf: Leaf) -> None:
        """A leaf that is fitted already."""
        self._draw(hook, leaf)

    def indicator(self, hook: Hook, variable: int, state: int) -> None:
        """The leaf that says which state a column has: one for the whole sketch."""
        number = self._indicators.get((variable, state))
        if number is not None:
            self.hang(hook, number)
            return
        table = self._lesson.table
        rows = float(table.weights[table.values[:, variable] == state].sum())
        leaf = Leaf(variable, Indicator(float(state)), rows, self._origin)
        self._indicators[variable, state] = self._draw(hook, leaf)

    def _draw(self, hook: Hook | None, node: Node) -> int:
        number = len(self._nodes)
        self._nodes.append(node)
        self.hang(hook, number)
        return number

    def hang(self, hook: Hook | None, number: int) -> None:
        """A node that was drawn (the parent of its hooks) hangs here too; None: at the top."""
        if hook is None:
            self._root = number
        else:
            self._edges.append((hook.parent, number, hook.slot))

    def build(self) -> int:
        """Fit all that was drawn and add it to the forest; answer its root."""
        task, starts = self._lesson, np.array(self._starts)
        counts = np.array(self._shares)
        uniform = np.repeat(1.0 / np.diff(starts), np.diff(starts))
        prior = task.smoothing
        weights = smoothing.smoothed_segments(counts, starts, prior.weights, uniform).tolist()
        fitted = (
            fit_leaves(task.columns, task.table, self._blocks, prior.leaves)
            if self._blocks
            else iter(())
        )
        leaves = (
            Leaf(variable, distribution, block.weight, self._origin)
            for block, found in zip(self._blocks, fitted, strict=True)
            for variable, distribution in zip(block.columns.tolist(), found, strict=True)
        )
        first = task.builder.extend(
            (next(leaves) if node is None else node for node in self._nodes),
            ((n, c, None if slot is None else weights[slot]) for n, c, slot in self._edges),
        )
        return first + self._root
