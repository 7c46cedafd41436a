"""The best forest with the best components of another family beside its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spnc.registry import FAMILIES, Options
from spnc.search.auto.board import Board
from spnc.search.auto.proposal import Proposal, best_of

HOPE = 0.005
LEARNED = ("hclt", "learn-spn", "extra-spn")  # families whose forests have one entry


@FAMILIES.register("mixed")
@dataclass(frozen=True, kw_only=True)
class Mixed(Options):
    """Different components make different mistakes."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """Yield the best forest with the best of each other family added to it."""
        best = board.best
        if best is None or len(best.recipe.forest) != 1 or best.family not in LEARNED:
            return
        for name in LEARNED:
            other = best_of(t for t in board.tried if t.family == name)
            if name == best.family or other is None:
                continue
            forest = (*best.recipe.forest, *other.recipe.forest)
            axis = f"with {name}"
            yield Proposal(
                replace(best.recipe, forest=forest),
                axis,
                axis,
                board.hope(axis, HOPE),
                best.outcome.edges + other.outcome.edges,
                best.outcome.iterations,
                best.outcome.setup + other.outcome.setup,
            )
