"""A family: what `spnc train --auto` may try of the mixtures in `learner.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spnc.registry import FAMILIES, Options
from spnc.search.auto.board import Board
from spnc.search.auto.proposal import Proposal
from spnc.spec.recipe import Component
from spnc_counts.learner import BinomialMixture

COMPONENTS = 8
ITERATIONS = 30  # of EM, until it hardly improves
OPENING = 0.05  # hope, as a share of what the best try has gained over the first
AXIS = "binomial mixture"


@FAMILIES.register("binomial-mixture")
@dataclass(frozen=True, kw_only=True)
class BinomialMixtures(Options):
    """One mixture of binomials, once there is something to compare it with."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """Propose the mixture if some column has counts and it was not tried yet."""
        counts = any(column.states > 2 for column in board.dataset.columns)
        if not counts or not board.tried or any(tried.axis == AXIS for tried in board.tried):
            return
        entry = Component(learner=BinomialMixture(components=COMPONENTS))
        edges = COMPONENTS * (board.columns + 1)
        yield Proposal(
            replace(board.base, forest=(entry,)),
            f"{COMPONENTS} binomial components",
            AXIS,
            board.hope(AXIS, OPENING),
            edges,
            ITERATIONS,
        )
