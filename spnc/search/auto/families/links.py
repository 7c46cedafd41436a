"""Residual links between the components of the best forest: the paper's idea, on strong components.

Links are judged by validation rows or drawn breadth first; either way the linked forest is trained
again from the beginning, and has to be better than the forest without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spnc.registry import FAMILIES, Options
from spnc.residuals import Residual
from spnc.residuals.best_gain import BestGain
from spnc.residuals.greedy_bfs import GreedyBfs
from spnc.residuals.informed import Informed
from spnc.search.auto.board import Board, components
from spnc.search.auto.proposal import Proposal

MORE_EDGES = 2.0  # a linked forest has at most this many times the edges
MOST_EDGES = 400_000
HOPE = 0.008


@FAMILIES.register("links")
@dataclass(frozen=True, kw_only=True)
class Links(Options):
    """Each strategy, tried once on a forest; again when that has doubled its size."""

    def propose(self, board: Board) -> Iterator[Proposal]:
        """Yield the best forest with links, if it has none."""
        best = board.best
        if best is None or best.recipe.residual.draws or components(best.recipe) < 2:
            return
        edges = MORE_EDGES * best.outcome.edges
        if edges > MOST_EDGES:
            return
        most = max(1_000, int(edges))
        strategies: list[tuple[Residual, float]] = [
            (GreedyBfs(ratio=0.05, partners="first", max_edges=most), 2.0),
            (BestGain(max_edges=most), 10.0),
            (Informed(max_edges=most, weights="fitted", warm_up=10), 20.0),
        ]
        for strategy, slower in strategies:
            axis = f"links {strategy.plugin_name}"
            seconds = slower * (0.5 + best.outcome.setup) + 10 * best.outcome.pace
            yield Proposal(
                replace(best.recipe, residual=strategy),
                axis,
                axis,
                board.hope(axis, HOPE),
                edges,
                best.outcome.iterations,
                seconds,
            )
