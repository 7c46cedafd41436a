"""When to leave a try: at the end of the budget, or as soon as another would yield more.

The rule is that of the marginal value theorem (Charnov 1976, on animals that look for food): leave
a patch when it yields less per second than going to the next one would. The yield of a try is the
slope of its validation curve. Leaving costs nothing, since the best parameters are kept, and the
recipe of a try that was left says after how many iterations.
"""

from __future__ import annotations

from collections.abc import Sequence

from spnc.common.budget import Budget
from spnc.search.auto.board import Board
from spnc.search.auto.proposal import Proposal, level
from spnc.search.auto.stage_clock import StageClock
from spnc.training import Record

# Rules of thumb; no measurement of them is recorded.
FEWEST = 8  # iterations before a try may be left; of a short try, a third of those expected
FEWEST_PART = 3
WINDOW = 6  # iterations that a slope is measured over, at least; of a short try, a fifth
WINDOW_PART = 5
HISTORY_PART = 4  # after many iterations, a slope is measured over the last quarter
SLOW_ITERATION = 1.5  # how long the next iteration may take, in multiples of the average
STEP_SHARE = 0.02  # gain of a next step, as a share of all that was gained over the first try
STEP_COST = 2.0  # and its cost, in multiples of what this try has cost


class LeavingRule:
    """Decides before every iteration of a try whether to end its training."""

    def __init__(
        self,
        budget: Budget,
        stages: StageClock,
        board: Board,
        rate: float,
        goes_on: bool,
        iterations: int = 100,
        edges: float = 0.0,
    ) -> None:
        """`rate` is what the next best proposal promises, in nats per second.

        Where few `iterations` are expected, because each does the work of many, the rule waits for
        fewer of them. With many `edges`, more time is reserved for writing the model.
        """
        self._fewest = min(FEWEST, max(2, iterations // FEWEST_PART))
        self._window = min(WINDOW, max(1, iterations // WINDOW_PART))
        self._budget, self._stages, self._rate = budget, stages, rate
        best = board.best
        self._best = best.outcome if best is not None and not goes_on else None
        self._floor = level(board.tried[0].outcome) if board.tried else None
        self._costs, self._edges = board.costs, edges
        self._reserve = board.reserve
        self._first: tuple[float, int] | None = None  # when, and at which iteration

    @classmethod
    def of(
        cls, proposal: Proposal, rate: float, budget: Budget, stages: StageClock, board: Board
    ) -> LeavingRule:
        """Return the rule for trying a proposal."""
        return cls(
            budget, stages, board, rate, proposal.goes_on, proposal.iterations, proposal.edges
        )

    def enough(self, history: tuple[Record, ...]) -> bool:
        """Return whether to end training here."""
        now, iteration = self._budget.used(), history[-1].iteration
        self._stages.spent(now, self._budget.seconds)
        if self._first is None:
            self._first = (now, iteration)
            own = self._costs.wrap_up(self._stages.lowering(), self._edges)
            self._reserve = max(self._reserve, own)
        began, skipped = self._first
        pace = (now - began) / (iteration - skipped) if iteration > skipped else 0.0
        if now + SLOW_ITERATION * pace + self._reserve >= self._budget.seconds:
            return True
        if iteration - skipped < self._fewest:
            return False
        slope, reached = last_slope(history, pace, self._window), _best_valid(history)
        if slope < max(self._rate, self._next_rate(reached)):
            return True
        if self._best is None:
            return False
        # Curves flatten: if a straight line from here does not catch up with the best try in as
        # many iterations as that had, or in as many as were made here, the curve will not either.
        more = max(iteration, self._best.iterations - iteration)
        return reached + slope * pace * more < level(self._best)

    def _next_rate(self, reached: float) -> float:
        """Return what a step from this very try would promise per second, were it left now."""
        if self._floor is None or self._best is None:
            return 0.0
        gained = max(0.0, reached - self._floor)
        return STEP_SHARE * gained / (STEP_COST * max(self._stages.setup(), 1e-3))


def last_slope(history: Sequence[Record], pace: float, window: int = WINDOW) -> float:
    """Return by how many nats per second the best validation score rose lately."""
    window = max(window, len(history) // HISTORY_PART)
    if pace <= 0.0 or len(history) <= window:
        return 0.0
    risen = _best_valid(history) - _best_valid(history[:-window])
    return max(0.0, risen) / (window * pace)


def _best_valid(history: Sequence[Record]) -> float:
    possible = [r.valid for r in history if r.valid is not None and r.valid == r.valid]
    return max(possible, default=-1e9)
