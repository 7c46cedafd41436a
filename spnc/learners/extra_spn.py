"""ExtraSPN: an extremely randomised sum-product network (Algorithm 3 of the paper).

The recursion of LearnSPN with random splits instead of tests. On a slice of rows and columns:

1. One column: a leaf.
2. Strictly fewer than mu rows: a product of one leaf per column.
3. Otherwise split the columns at random in two (a product), which fails with probability beta.
4. If that failed, split the rows (a sum weighted by their shares): at random, which also fails
   with probability beta, or by clustering, which fails when all rows fall into one cluster.

The paper does not say what happens when both fail. The option `when_both_fail` decides: columns
and rows are tried in turn until one succeeds (`retry`), or the slice is factorised as in 2 once
columns, rows and columns again have failed (`factorise`). The default was chosen on the validation
rows of NLTCS, where ten components of either kind reach about -5.97 and -6.00.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from spnc.learners import LearningTask
from spnc.learners.support.clustering import encoded, kmeans, parts_by_label
from spnc.learners.support.deferred_builder import AttachPoint, DeferredBuilder
from spnc.learners.support.leaf_choice import SliceOptions
from spnc.learners.support.leaf_fit import DataSlice, Indices
from spnc.learners.support.slice_models import add_slice_model
from spnc.registry import LEARNERS, Conflict, Options, option


class _Split(NamedTuple):
    """The parts that a slice was split into, by rows (a sum) or by columns (a product)."""

    is_rows: bool
    parts: list[DataSlice]


@LEARNERS.register("extra-spn")
@dataclass(frozen=True, kw_only=True)
class ExtraSpn(Options):
    """An extremely randomised SPN: LearnSPN's recursion with random splits (Algorithm 3)."""

    beta: float = option(0.6, "probability that a random split fails", min=0, below=1)
    gamma: float | None = option(
        5.0,
        "if `min_instances` is none, it is drawn for each component from 1 … rows/gamma",
        min=1,
    )
    min_instances: int | None = option(None, "slices of fewer rows are factorised", min=1)
    rows: Literal["random", "kmeans"] = option("random", "how rows are split")
    clusters: int = option(2, "the number of parts that rows are split into", min=2)
    when_both_fail: Literal["retry", "factorise"] = option(
        "retry", "what happens when neither columns nor rows could be split"
    )
    leaves: SliceOptions = option(
        SliceOptions(),
        "the model of a slice that is not split (factorised or chow-liu), and the distributions of "
        "leaves over numbers",
    )

    def __post_init__(self) -> None:
        """Drop the default of `gamma` if `min_instances` is given: nothing has to be drawn."""
        if self.min_instances is not None and "gamma" not in self.spans:
            object.__setattr__(self, "gamma", None)

    def conflicts(self) -> Iterator[Conflict]:
        """Report if not exactly one of `gamma` and `min_instances` is given."""
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
        """Add a circuit over all columns. Return its root."""
        table = task.table
        mu = self.min_instances
        if mu is None:
            assert self.gamma is not None
            mu = int(task.rng.integers(1, max(1, int(table.rows / self.gamma)) + 1))

        builder = DeferredBuilder(task, self.leaves)
        everything = np.arange(len(task.columns))
        whole = DataSlice(np.arange(table.rows), everything, float(table.weights.sum()))
        # One thread: trees from fractional weights would otherwise depend on the number of threads.
        with threadpool_limits(limits=1) if self.leaves.model == "chow-liu" else nullcontext():
            self._grow(builder, task, whole, mu)
        return builder.build()

    def _grow(
        self, builder: DeferredBuilder, task: LearningTask, whole: DataSlice, mu: int
    ) -> None:
        """Split a slice, and its parts, until they are too small or cannot be split."""
        stack: list[tuple[DataSlice, AttachPoint | None]] = [(whole, None)]
        while stack:
            part, point = stack.pop()
            split = None
            if len(part.columns) > 1 and len(part.rows) >= mu:
                split = self._split(part, task)
            if split is None:
                add_slice_model(builder, task, point, part, self.leaves)
            elif split.is_rows:
                points = builder.add_sum(point, [part.weight for part in split.parts])
                stack += zip(split.parts, points, strict=True)
            else:
                below = builder.add_product(point, part.weight)
                stack += [(part, below) for part in split.parts]

    def _split(self, part: DataSlice, task: LearningTask) -> _Split | None:
        """Try to split columns and rows in turn. Return None if the slice is to be factorised."""
        rng, weights = task.rng, task.table.weights
        rows_failed = False
        while True:
            if rng.random() >= self.beta:
                columns = _random_parts(part.columns, 2, rng)
                return _Split(False, [DataSlice(part.rows, c, part.weight) for c in columns])
            if rows_failed and self.when_both_fail == "factorise":
                return None
            parts = self._split_rows(part, task)
            if parts is not None:
                return _Split(
                    True, [DataSlice(p, part.columns, float(weights[p].sum())) for p in parts]
                )
            rows_failed = True

    def _split_rows(self, part: DataSlice, task: LearningTask) -> list[Indices] | None:
        """Return parts of the slice's rows, or None if the split failed."""
        if len(part.rows) < 2:
            return None
        if self.rows == "random":
            if task.rng.random() < self.beta:
                return None
            return _random_parts(part.rows, self.clusters, task.rng)
        values = np.ascontiguousarray(task.table.at(part.rows[:, None], part.columns))
        weights = task.table.weights[part.rows]
        columns = [task.columns[c] for c in part.columns.tolist()]
        labels = kmeans(encoded(columns, values), weights, self.clusters, task.rng)
        parts = parts_by_label(part.rows, labels)
        return parts if len(parts) > 1 else None


def _random_parts(items: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
    """Put each item into one of `count` parts at random, so that at least two are not empty."""
    while True:
        parts = parts_by_label(items, rng.integers(count, size=len(items)))
        if len(parts) > 1:
            return parts
