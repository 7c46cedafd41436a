"""A Chow-Liu tree: the first answer, in a moment, and what all others are measured by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from spnc.auto import Board, Proposal
from spnc.learners.chow_liu import ChowLiu
from spnc.registry import FAMILIES, Options
from spnc.spec.recipe import Component
from spnc.training.optimizers.em import Em

FEW = 3  # iterations of EM, where values are missing


@FAMILIES.register("chow-liu")
@dataclass(frozen=True, kw_only=True)
class ChowLiuTree(Options):
    """One tree, or two that differ where links between components are asked for."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """The tree, once. Without missing values it is where EM ends, so that none is needed."""
        if board.tried:
            return
        missing = bool(np.isnan(board.dataset.train.values).any())
        two = board.base.residual.draws
        entry = Component(count=2, learner=ChowLiu(noise=0.3)) if two else single()
        iterations = FEW if missing or two else 0
        recipe = replace(
            board.base, forest=(entry,), optimizer=Em(max_iterations=iterations, stop=None)
        )
        states = [column.states for column in board.dataset.columns]
        edges = entry.count * sum(s * s for s in states)
        yield Proposal(recipe, "a tree", "chow-liu", 1.0, edges, iterations)


def single() -> Component:
    """One tree, without chance."""
    return Component(learner=ChowLiu())
