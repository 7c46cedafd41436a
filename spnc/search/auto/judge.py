"""When to leave a try: at the end of the budget, or as soon as another would yield more.

The rule is that of the marginal value theorem (Charnov 1976, on animals that look for food): a
patch is left when it yields less per second than going to the next one would. What a try yields is
the slope of its validation curve. Leaving costs nothing, since the best parameters are kept; and
the recipe of a try that was left says after how many iterations.
"""

from __future__ import annotations

from collections.abc import Sequence

from spnc.common.observer import Observer, Stage
from spnc.search.auto import Board, level
from spnc.search.auto.budget import Budget
from spnc.training import Record

FEWEST = 8  # iterations before a try is judged
WINDOW = 6  # iterations that a slope is measured over, or the last quarter
STEP_SHARE = 0.02  # what a next step may bring, of all that was gained over the first try
STEP_COST = 2.0  # and what it may cost, in multiples of what this one has cost


class OutOfTimeError(Exception):
    """The budget ended before a try could train."""


class Judge:
    """Decides, before every iteration of a try, whether that was enough."""

    def __init__(
        self,
        budget: Budget,
        guard: Guard,
        board: Board,
        rate: float,
        goes_on: bool,
        iterations: int = 100,
        edges: float = 0.0,
    ) -> None:
        """`rate` is what the next best proposal promises, in nats per second.

        Where few `iterations` are expected, since each is worth many, fewer are waited for. With
        many `edges`, writing the model takes long.
        """
        self._fewest = min(FEWEST, max(2, iterations // 3))
        self._window = min(WINDOW, max(1, iterations // 5))
        self._budget, self._guard, self._rate = budget, guard, rate
        best = board.best
        self._best = best.outcome if best is not None and not goes_on else None
        self._floor = level(board.tried[0].outcome) if board.tried else None
        self._costs, self._edges = board.costs, edges
        self._reserve = board.reserve
        self._first: tuple[float, int] | None = None  # when, and at which iteration

    def enough(self, history: tuple[Record, ...]) -> bool:
        """Whether to end training here."""
        now, iteration = self._budget.used(), history[-1].iteration
        self._guard.tell(now)
        if self._first is None:
            self._first = (now, iteration)
            own = self._costs.wrap_up(self._guard.lowering(), self._edges)
            self._reserve = max(self._reserve, own)
        began, skipped = self._first
        pace = (now - began) / (iteration - skipped) if iteration > skipped else 0.0
        if now + 1.5 * pace + self._reserve >= self._budget.seconds:
            return True
        if iteration - skipped < self._fewest:
            return False
        slope, reached = last_slope(history, pace, self._window), _best_valid(history)
        if slope < max(self._rate, self._next_rate(reached)):
            return True
        if self._best is None:
            return False
        # Curves flatten: where a straight line on from here does not catch up with the best, in
        # as many iterations as that has had, or in as many again, the curve will not.
        more = max(iteration, self._best.iterations - iteration)
        return reached + slope * pace * more < level(self._best)

    def _next_rate(self, reached: float) -> float:
        """What a step on from this very try would promise, were it left now."""
        if self._floor is None or self._best is None:
            return 0.0
        gained = max(0.0, reached - self._floor)
        return STEP_SHARE * gained / (STEP_COST * max(self._guard.setup(), 1e-3))


def last_slope(history: Sequence[Record], pace: float, window: int = WINDOW) -> float:
    """Nats per second that the best on the validation rows rose by, of late."""
    window = max(window, len(history) // 4)
    if pace <= 0.0 or len(history) <= window:
        return 0.0
    risen = _best_valid(history) - _best_valid(history[:-window])
    return max(0.0, risen) / (window * pace)


def _best_valid(history: Sequence[Record]) -> float:
    possible = [r.valid for r in history if r.valid is not None and r.valid == r.valid]
    return max(possible, default=-1e9)


class Guard(Observer):
    """Passes on what it is told; while armed, it ends what goes on beyond the budget.

    Structure learning cannot be cut to something that a recipe could repeat; so it is given up.
    """

    def __init__(self, observer: Observer, budget: Budget) -> None:
        self._observer, self._budget = observer, budget
        self._reserve: float | None = None
        self._armed_at, self._lowering_at = 0.0, 0.0
        self._preparing, self._prepared = 0.0, 0.0

    def arm(self, reserve: float | None) -> None:
        """A try begins; with None it may take as long as it will, for there is no other."""
        self._reserve, self._armed_at, self._prepared = reserve, self._budget.used(), 0.0
        self._lowering_at = self._armed_at

    def disarm(self) -> None:
        """The try is over, or trains."""
        self._reserve = None

    def setup(self) -> float:
        """Seconds since the try began, without what is done once for each machine."""
        return self._budget.used() - self._armed_at - self._prepared

    def lowering(self) -> float:
        """The same from where the structure was there."""
        return self._budget.used() - self._lowering_at - self._prepared

    def tell(self, used: float) -> None:
        """Show how much of the budget is used."""
        self._observer.spent(used, self._budget.seconds)

    def _check(self) -> None:
        if self._reserve is not None and self._budget.left() < self._reserve:
            raise OutOfTimeError

    def stage(self, stage: Stage | str) -> None:
        """A new stage begins."""
        if stage is Stage.LOWERING:
            self._lowering_at = self._budget.used()
        if stage is Stage.PREPARING:
            self._preparing = self._budget.used()
        elif self._preparing:
            self._prepared, self._preparing = self._budget.used() - self._preparing, 0.0
        self._check()
        self._observer.stage(stage)

    def progress(self, label: str, done: int, total: int | None) -> None:
        """So much of the present stage is done."""
        self._check()
        self._observer.progress(label, done, total)

    def training(self, max_iterations: int | None) -> None:
        """Training begins: from here on the judge decides."""
        self.disarm()
        self._observer.training(max_iterations)

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        """Training has come this far."""
        self._observer.iteration(number, train, valid, is_best)
