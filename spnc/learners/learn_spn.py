"""LearnSPN: structure from tests and clusters (Algorithm 1 of the paper; Gens & Domingos 2013).

On a slice of rows and columns:

1. one column: a leaf;
2. strictly fewer rows than `min_instances`: factorised, a product of one leaf per column;
3. otherwise columns that test as independent of all others' groups are separated: a product over
   the connected components of the graph of dependent pairs (columns of one value go first);
4. where all columns hang together, the rows are clustered: a sum weighted by their shares;
5. where the rows are one cluster, too: factorised.

A row of weight two is two rows, so that the learner works on distinct rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from spnc.learners import LearningTask
from spnc.learners.chow_liu import Leaves, draw_tree, slice_counts
from spnc.learners.support.clustering import HardEm, kmeans, parts_by_label, thread_pools
from spnc.learners.support.independence import g_test, groups
from spnc.learners.support.leaf_fit import Block, Indices
from spnc.learners.support.sketch import Hook, Sketch
from spnc.registry import LEARNERS, Conflict, Options, option


@LEARNERS.register("learn-spn")
@dataclass(frozen=True, kw_only=True)
class LearnSpn(Options):
    """LearnSPN: columns split by an independence test, rows by clustering (Algorithm 1)."""

    min_instances: int = option(10, "slices of fewer rows are factorised", min=2)
    independence: float = option(
        5.0,
        "two columns are dependent when their G statistic reaches twice the degrees of freedom "
        "times this (`g_factor` elsewhere); 1.92 is a significance of 5% for binary columns",
        min=0,
    )
    rows: Literal["em", "kmeans"] = option(
        "em", "how rows are clustered: online hard EM over naive Bayes models, or k-means"
    )
    clusters: int = option(2, "into how many parts rows are split; with `em`, at most", min=2)
    penalty: float | None = option(
        0.2, "with `rows: em`, what a new cluster costs, in nats for each of a row's cells", min=0
    )
    restarts: int | None = option(
        4, "with `rows: em`, how often it starts anew; the best is kept", min=1
    )
    leaves: Leaves = option(
        "factorised",
        "what a slice that is not split becomes; a Chow-Liu tree joins no columns that test as "
        "independent",
    )

    def __post_init__(self) -> None:
        """With k-means, the defaults of what is for hard EM give way."""
        for name in ("penalty", "restarts"):
            if self.rows != "em" and name not in self.spans:
                object.__setattr__(self, name, None)

    def conflicts(self) -> Iterator[Conflict]:
        """Hard EM needs its options, and k-means has no use for them."""
        for name in ("penalty", "restarts"):
            given = getattr(self, name) is not None
            if given and self.rows != "em":
                yield Conflict(
                    name, f"`{name}` is for `rows: em` only", f"drop `{name}`, or choose `em`"
                )
            if not given and self.rows == "em":
                yield Conflict(
                    name, f"`rows: em` needs a `{name}`", f"drop `{name}` for its default"
                )

    def learn(self, task: LearningTask) -> int:
        """Add a circuit over all columns; answer its root."""
        table = task.table.distinct()
        some = table.weights > 0.0
        if some.any() and not some.all():
            table = type(table)(table.values[some], table.weights[some])
        task = replace(task, table=table)
        sketch = Sketch(task)
        everything = np.arange(len(task.columns))
        whole = Block(np.arange(table.rows), everything, float(table.weights.sum()))
        stack: list[tuple[Block, Hook | None]] = [(whole, None)]
        with thread_pools().limit(limits=1):
            while stack:
                stack += self._grow(sketch, task, *stack.pop())
        return sketch.build()

    def _grow(
        self, sketch: Sketch, task: LearningTask, block: Block, hook: Hook | None
    ) -> list[tuple[Block, Hook | None]]:
        """Draw what a slice becomes; answer the slices that are still to be drawn below it."""
        small = block.weight < self.min_instances or len(block.rows) < 2
        if len(block.columns) == 1 or (small and self.leaves == "factorised"):
            sketch.leaves(hook, block)
            return []
        pairs = slice_counts(task, block)
        parts = groups(g_test(pairs, self.independence))
        if len(parts) > 1:
            below = sketch.product(hook, block.weight)
            return [(Block(block.rows, block.columns[p], block.weight), below) for p in parts]
        clusters = [] if small else self._cluster(task, block)
        if len(clusters) > 1:
            weights = [float(task.table.weights[rows].sum()) for rows in clusters]
            hooks = sketch.sum(hook, weights)
            return [
                (Block(rows, block.columns, weight), below)
                for rows, weight, below in zip(clusters, weights, hooks, strict=True)
            ]
        if self.leaves == "chow-liu":
            draw_tree(sketch, task, hook, block, pairs=pairs)
        else:
            sketch.leaves(hook, block)
        return []

    def _cluster(self, task: LearningTask, block: Block) -> list[Indices]:
        """The slice's rows in clusters, one or several."""
        values = np.ascontiguousarray(task.table.values[np.ix_(block.rows, block.columns)])
        weights = task.table.weights[block.rows]
        if self.rows == "em":
            assert self.penalty is not None
            assert self.restarts is not None
            columns = [task.columns[c] for c in block.columns.tolist()]
            method = HardEm(penalty=self.penalty, most=self.clusters, restarts=self.restarts)
            labels = method.labels(columns, values, weights, task.rng)
        else:
            labels = kmeans(values, weights, self.clusters, task.rng)
        return parts_by_label(block.rows, labels)
