"""Chow-Liu trees, compiled into ordinary sums and products (Chow & Liu 1968).

The tree that joins all columns by the pairs with the most mutual information maximises the
likelihood among all distributions in which every column depends on one other. Over columns of
states it needs no latent variable. `support/chow_liu_trees.py` says how it becomes a circuit.

The leaves that say which state a column has are indicators: EM does not change them, and fits all
weights as in any circuit. A single tree on rows without missing values is already a fixed point
of EM. Not so where columns hold numbers: these depend on one another by ranges, and EM says
where each begins and ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from spnc.learners import LearningTask
from spnc.learners.support.chow_liu_trees import add_chow_liu_tree
from spnc.learners.support.deferred_builder import DeferredBuilder
from spnc.learners.support.leaf_choice import LeafOptions
from spnc.learners.support.leaf_fit import DataSlice
from spnc.registry import LEARNERS, Options, option
from spnc.registry.reads import Source


@LEARNERS.register("chow-liu")
@dataclass(frozen=True, kw_only=True)
class ChowLiu(Options):
    """A Chow-Liu tree: each column depends on the state, or the range, of one other column."""

    reads: ClassVar[tuple[Source, ...]] = ("pairs",)

    noise: float = option(
        0.0,
        "the mutual information of each pair of columns is multiplied by 1 + noise · u, with u "
        "uniform in [-1, 1], so that the trees of a forest differ",
        min=0,
    )
    leaves: LeafOptions = option(LeafOptions(), "the distributions of leaves over numbers")

    def learn(self, task: LearningTask) -> int:
        """Add a circuit over all columns. Return its root."""
        whole = DataSlice(np.arange(task.table.rows), np.arange(len(task.columns)), task.total)
        builder = DeferredBuilder(task, self.leaves)
        with threadpool_limits(limits=1):
            # Counted here: a slice of all rows would be a copy of the table.
            add_chow_liu_tree(builder, task, None, whole, pairs=task.pairs(), noise=self.noise)
        return builder.build()
