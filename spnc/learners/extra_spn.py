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

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spnc import smoothing
from spnc.learners import Lesson
from spnc.learners.leaf_fit import fit_leaves
from spnc.registry import LEARNERS, Conflict, Options, option

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Slice:
    """Rows and columns still to be modelled, and where the result is to hang."""

    rows: Indices
    columns: Indices
    parent: int | None
    weight: float | None
    columns_failed: bool = False
    rows_failed: bool = False


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

    def learn(self, lesson: Lesson) -> int:
        """Add a circuit over all columns; answer its root."""
        rng, builder, table = lesson.rng, lesson.builder, lesson.table
        mu = self.min_instances
        if mu is None:
            assert self.gamma is not None
            mu = int(rng.integers(1, max(1, int(table.rows / self.gamma)) + 1))

        def attach(task: _Slice, node: int) -> int:
            if task.parent is not None:
                builder.connect(task.parent, node, task.weight)
            return node

        def factorise(task: _Slice) -> int:
            weight = float(table.weights[task.rows].sum())
            leaves = fit_leaves(lesson.columns, table, task.rows, task.columns, lesson.smoothing)
            made = [
                builder.leaf(int(v), leaf, weight)
                for v, leaf in zip(task.columns, leaves, strict=True)
            ]
            return attach(task, made[0] if len(made) == 1 else builder.product(made, weight))

        whole = _Slice(np.arange(table.rows), np.arange(len(lesson.columns)), None, None)
        root: int | None = None
        stack = [whole]
        while stack:
            task = stack.pop()
            if len(task.columns) == 1 or len(task.rows) < mu:
                node = factorise(task)
            elif task.columns_failed and not task.rows_failed:
                parts = self._split_rows(task, lesson)
                if parts is None:
                    stack.append(
                        _Slice(task.rows, task.columns, task.parent, task.weight, False, True)
                    )
                    continue
                sizes = np.array([table.weights[part].sum() for part in parts])
                uniform = np.full(len(parts), 1.0 / len(parts))
                weights = smoothing.smoothed(sizes, lesson.smoothing, uniform)
                node = attach(task, builder.sum(rows=float(sizes.sum())))
                stack += [
                    _Slice(part, task.columns, node, float(w))
                    for part, w in zip(parts, weights, strict=True)
                ]
            elif rng.random() >= self.beta:
                node = attach(task, builder.product(rows=float(table.weights[task.rows].sum())))
                stack += [
                    _Slice(task.rows, part, node, None)
                    for part in _random_parts(task.columns, 2, rng)
                ]
            elif task.rows_failed and self.when_both_fail == "factorise":
                node = factorise(task)
            else:
                stack.append(_Slice(task.rows, task.columns, task.parent, task.weight, True, False))
                continue
            root = node if root is None else root
        assert root is not None
        return root

    def _split_rows(self, task: _Slice, lesson: Lesson) -> list[Indices] | None:
        """Parts of the slice's rows, or None if the split failed."""
        if len(task.rows) < 2:
            return None
        if self.rows == "random":
            if lesson.rng.random() < self.beta:
                return None
            return _random_parts(task.rows, self.clusters, lesson.rng)
        block = lesson.table.values[np.ix_(task.rows, task.columns)]
        weights = lesson.table.weights[task.rows]
        labels = kmeans_labels(block, weights, self.clusters, lesson.rng)
        parts = [task.rows[labels == label] for label in range(self.clusters)]
        parts = [part for part in parts if len(part)]
        return parts if len(parts) > 1 else None


def _random_parts(items: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
    """Each item goes to one of `count` parts at random; at least two parts are non-empty."""
    while True:
        labels = rng.integers(count, size=len(items))
        if labels.min() != labels.max():
            return [items[labels == label] for label in range(count) if (labels == label).any()]


def kmeans_labels(
    block: NDArray[np.float64],
    weights: NDArray[np.float64],
    count: int,
    rng: np.random.Generator,
) -> Indices:
    """Cluster labels by k-means, seeded; one thread, so that the bits do not depend on many."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    seed = int(rng.integers(2**31))
    if np.isnan(block).any():
        filled = np.where(np.isnan(block), 0.0, block).sum(axis=0)
        means = filled / np.maximum(1, (~np.isnan(block)).sum(axis=0))
        block = np.where(np.isnan(block), means, block)
    if (block == block[0]).all():
        return np.zeros(len(block), dtype=np.intp)
    model = KMeans(n_clusters=min(count, len(block)), n_init=3, random_state=seed)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        return np.asarray(model.fit(block, sample_weight=weights).labels_, dtype=np.intp)
