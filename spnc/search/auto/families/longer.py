"""Training the best try further, from where it was left.

A try is left as soon as another promises more. It loses nothing: training goes on from its last
state, to the same bits as if it had never been left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from spnc.registry import FAMILIES, Options
from spnc.search.auto.board import Board
from spnc.search.auto.proposal import Proposal
from spnc.training import OUT_OF_TIME

AXIS = "longer"
FEWEST = 5  # more iterations that are worth proposing


@FAMILIES.register("longer")
@dataclass(frozen=True, kw_only=True)
class Longer(Options):
    """The best try, trained further."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """Yield the best try with twice its iterations, or as many as there is time for.

        A validation curve that flattens as 1/t gains its present slope times the time so far times
        log 2 in that.
        """
        best = board.best
        if best is None or best.outcome.stopped != OUT_OF_TIME or board.slope <= 0.0:
            return
        since = board.tried[board.tried.index(best) + 1 :]
        if any(t.axis == AXIS for t in since):
            return  # training further was tried, and brought nothing
        pace, setup = max(best.outcome.pace, 1e-6), best.outcome.setup
        time = board.left - 2.0 * (setup + board.costs.wrap_up_of(best.outcome))
        before = 0 if board.can_go_on else best.outcome.iterations
        again = min(max(10, best.outcome.iterations), int(time / pace) - before)
        if again < FEWEST:
            return
        gain = board.slope * pace * again * math.log(2.0)
        iterations = again + before
        edges = best.outcome.edges
        yield Proposal(
            best.recipe,
            "trained on",
            AXIS,
            gain,
            edges,
            iterations,
            goes_on=True,
            family=best.family,
        )
