"""ExtraSPN: an extremely randomised sum-product network (Algorithm 3 of the paper).

The recursion of LearnSPN with its tests replaced by chance. On a slice of rows and columns:

1. one column: a leaf;
2. strictly fewer than mu rows: a product of one leaf per column;
3. otherwise split the columns at random in two (a product), which fails with probability beta;
4. when that failed, split the rows (a sum weighted by their shares): at random, which fails with
   probability beta too, or by clustering, which fails when all rows fall into one cluster.

The paper does not say what follows when both fail. `when_both_fail` settles it: columns and rows
are tried in turn until one succeeds (`retry`), or the slice is factorised as in 2 once columns,
rows and columns again have failed in a row (`factorise`). The default was chosen on the
validation rows of NLTCS, where ten components of either kind end at about -5.97 and -6.00.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from spnc.learners import LearningTask
from spnc.learners.chow_liu import Leaves, draw_leaves
from spnc.learners.support.clustering import kmeans, parts_by_label
from spnc.learners.support.leaf_fit import Block, Indices
from spnc.learners.support.sketch import Hook, Sketch
from spnc.registry import LEARNERS, Conflict, Options, option


class _Split(NamedTuple):
    """The parts that a slice was split into: of its rows (a sum) or of its columns (a product)."""

    is_rows: bool
    parts: list[Block]


@LEARNERS.register("extra-spn")
@dataclass(frozen=True, kw_only=True)
class ExtraSpn(Options):
    """An extremely randomised SPN: LearnSPN's recursion with random splits (Algorithm 3)."""

    beta: float = option(0.6, "probability that a random split fails", min=0, below=1)
    gamma: float | None = option(
        5.0, "draws `min_instances` per component from 1 … rows/gamma, when that is none", min=1
    )
    min_instances: int | None = option(None, "slices of fewer rows are factorised", min=1)
    rows: Literal["random", "kmeans"] = option("random", "how rows are split")
    clusters: int = option(2, "into how many parts rows are split", min=2)
    when_both_fail: Literal["retry", "factorise"] = option(
        "retry", "what follows when neither columns nor rows could be split"
    )

    leaves: Leaves = option("factorised", "what a slice that is not split becomes")

    def __post_init__(self) -> None:
        """With `min_instances` there is nothing to draw: the default of `gamma` gives way."""
        if self.min_instances is not None and "gamma" not in self.spans:
            object.__setattr__(self, "gamma", None)

    def conflicts(self) -> Iterator[Conflict]:
        """Just one of the two says what the smallest slice is."""
        if self.min_instances is None and self.gamma is None:
            yield Conflict(
                "gamma",
                "neither `gamma` nor `min_instances` is given",
                "give the smallest slice to split, or `gamma` to draw it",
            )
        if self.min_instances is not None and self.gamma is not None:
            yield Conflict(
                "gamma",
                "`gamma` and `min_instances` exclude each other",
                "`gamma` draws `min_instances` at random; keep one of them",
            )

    def learn(self, task: LearningTask) -> int:
        """Add a circuit over all columns; answer its root."""
        table = task.table
        mu = self.min_instances
        if mu is None:
            assert self.gamma is not None
            mu = int(task.rng.integers(1, max(1, int(table.rows / self.gamma)) + 1))

        sketch = Sketch(task)
        everything = np.arange(len(task.columns))
        whole = Block(np.arange(table.rows), everything, float(table.weights.sum()))
        stack: list[tuple[Block, Hook | None]] = [(whole, None)]
        while stack:
            block, hook = stack.pop()
            split = None
            if len(block.columns) > 1 and len(block.rows) >= mu:
                split = self._split(block, task)
            if split is None:
                draw_leaves(sketch, task, hook, block, self.leaves)
            elif split.is_rows:
                hooks = sketch.sum(hook, [part.weight for part in split.parts])
                stack += zip(split.parts, hooks, strict=True)
            else:
                below = sketch.product(hook, block.weight)
                stack += [(part, below) for part in split.parts]
        return sketch.build()

    def _split(self, block: Block, task: LearningTask) -> _Split | None:
        """Columns and rows are tried in turn; None if the slice is to be factorised."""
        rng, weights = task.rng, task.table.weights
        rows_failed = False
        while True:
            if rng.random() >= self.beta:
                columns = _random_parts(block.columns, 2, rng)
                return _Split(False, [Block(block.rows, c, block.weight) for c in columns])
            if rows_failed and self.when_both_fail == "factorise":
                return None
            parts = self._split_rows(block, task)
            if parts is not None:
                return _Split(
                    True, [Block(p, block.columns, float(weights[p].sum())) for p in parts]
                )
            rows_failed = True

    def _split_rows(self, block: Block, task: LearningTask) -> list[Indices] | None:
        """Parts of the slice's rows, or None if the split failed."""
        if len(block.rows) < 2:
            return None
        if self.rows == "random":
            if task.rng.random() < self.beta:
                return None
            return _random_parts(block.rows, self.clusters, task.rng)
        values = np.ascontiguousarray(task.table.values[np.ix_(block.rows, block.columns)])
        weights = task.table.weights[block.rows]
        parts = parts_by_label(block.rows, kmeans(values, weights, self.clusters, task.rng))
        return parts if len(parts) > 1 else None


def _random_parts(items: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
    """Each item goes to one of `count` parts at random; at least two parts are non-empty."""
    while True:
        parts = parts_by_label(items, rng.integers(count, size=len(items)))
        if len(parts) > 1:
            return parts
