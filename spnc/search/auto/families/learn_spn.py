"""LearnSPN with Chow-Liu trees for leaves: another kind of structure, learned from slices of rows.

It takes a while whatever its size, and on the benchmark's datasets ends behind hidden Chow-Liu
trees; but tables differ, and beside such trees it may help (see `mixed`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spnc.learners.learn_spn import LearnSpn
from spnc.leaves.smoothing import Smoothing
from spnc.registry import FAMILIES, Options
from spnc.search.auto.board import Board, ladder
from spnc.search.auto.families.hclt import forests
from spnc.search.auto.proposal import Proposal, best_of
from spnc.spec.recipe import Component
from spnc.training.optimizers.em import Em

SECONDS = 4e-7  # per row and pair of columns, roughly
ITERATIONS = 30
EDGES = 110  # per column, roughly
OPENING = 0.02  # expected gain of the first one, see `Board.hope`
SMALLEST = (10, 20, 50, 100, 200)
SMOOTHING = (0.1, 0.3, 1.0, 3.0)


@FAMILIES.register("learn-spn")
@dataclass(frozen=True, kw_only=True)
class LearnSpns(Options):
    """One LearnSPN, and variations of it as long as it is near the best."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """Yield the first one when there is something to compare it with; then variations."""
        if board.columns < 2 or len(board.tried) < 3:
            return
        own = best_of(t for t in board.tried if t.family == self.plugin_name)
        seconds = 1.0 + SECONDS * board.dataset.train.rows * board.columns**2
        edges = EDGES * board.columns
        if own is None:
            entry = Component(learner=LearnSpn(min_instances=50, leaves=board.slice_leaves))
            recipe = replace(
                board.base,
                forest=(entry,),
                smoothing=Smoothing.of(0.3),
                optimizer=Em(stop=None),
            )
            what, axis = "slices of 50 rows", f"{self.plugin_name} opening"
            gain = board.opening(axis, OPENING, forests(board))
            yield Proposal(recipe, what, axis, gain, edges, ITERATIONS, seconds)
            return
        behind = board.behind(own)
        learner = own.recipe.forest[0].learner
        assert isinstance(learner, LearnSpn)
        for step in (1, -1):
            rows = ladder(SMALLEST, learner.min_instances, step)
            if rows is not None:
                changed = replace(learner, min_instances=int(rows))
                recipe = replace(own.recipe, forest=(Component(learner=changed),))
                axis = f"{self.plugin_name} rows {step:+}"
                gain = board.hope(axis, 0.01) - behind
                what = f"slices of {int(rows)} rows"
                yield Proposal(recipe, what, axis, gain, own.outcome.edges, ITERATIONS)
            alpha = ladder(SMOOTHING, own.recipe.smoothing.leaves, step)
            if alpha is not None:
                recipe = replace(own.recipe, smoothing=Smoothing.of(alpha))
                axis = f"{self.plugin_name} smoothing {step:+}"
                gain = board.hope(axis, 0.01) - behind
                what = f"smoothing {alpha:g}"
                yield Proposal(recipe, what, axis, gain, own.outcome.edges, ITERATIONS)
