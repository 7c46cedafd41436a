"""A forest of ExtraSPNs with Chow-Liu trees for leaves: the paper's components, made stronger."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spnc.learners.extra_spn import ExtraSpn
from spnc.leaves.smoothing import Smoothing
from spnc.registry import FAMILIES, Options
from spnc.search.auto.board import Board
from spnc.search.auto.families.hclt import forests
from spnc.search.auto.proposal import Proposal
from spnc.spec.recipe import Component
from spnc.training.optimizers.em import Em

COUNT = 10
SECONDS = 1e-7  # per component, row and pair of columns, roughly
EDGES = 300  # per column, roughly
ITERATIONS = 30
OPENING = 0.01
AXIS = "extra-spn opening"


@FAMILIES.register("extra-spn")
@dataclass(frozen=True, kw_only=True)
class ExtraSpns(Options):
    """A forest of ten, tried once."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """Yield the forest, once there is something to compare it with."""
        if board.columns < 2 or len(board.tried) < 3:
            return
        entry = Component(count=COUNT, learner=ExtraSpn(leaves=board.slice_leaves))
        recipe = replace(
            board.base,
            forest=(entry,),
            smoothing=Smoothing.of(0.3),
            optimizer=Em(stop=None),
        )
        seconds = 1.0 + COUNT * SECONDS * board.dataset.train.rows * board.columns**2
        gain = board.opening(AXIS, OPENING, forests(board))
        edges = EDGES * board.columns
        yield Proposal(recipe, f"{COUNT} random SPNs", AXIS, gain, edges, ITERATIONS, seconds)
