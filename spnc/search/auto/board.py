"""The board: what families see when they are asked for proposals."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from spnc.data.dataset import Dataset
from spnc.learners.support.leaf_choice import DEFAULT, LeafOptions, SliceOptions
from spnc.search.auto.costs import Costs
from spnc.search.auto.proposal import FinishedTry, Proposal, best_of, level
from spnc.spec.recipe import Recipe

MOST_EDGES = 3_000_000  # larger circuits want more memory than many machines have

# Expected gains, as shares of what the best try has gained over the first one, a Chow-Liu tree.
LEAST_SCALE = 0.01  # that gain is taken to be at least this share of the log-likelihood itself
AGAIN = 0.5  # what succeeded is expected to bring half as much the next time
LAST_HOPE = 0.002  # of what was never tried, even if everything like it is far behind
AFTER_FAILURE = 0.3  # what failed is worth this much of another try once the model has doubled


@dataclass(eq=False)
class Board:
    """What families see."""

    base: Recipe  # data, seed and what the person has fixed; a placeholder forest, never trained
    dataset: Dataset
    budget: float  # seconds for all
    costs: Costs
    clock: Callable[[], float] = time.monotonic
    left: float = 0.0  # seconds
    tried: list[FinishedTry] = field(default_factory=list)
    given_up: set[str] = field(default_factory=set)  # axes that could not be tried to the end
    can_go_on: bool = False  # whether the training of the best try can be continued
    slope: float = 0.0  # nats per second that training the best try gained when it was left
    measured: dict[Hashable, float] = field(default_factory=dict)  # seconds, cached by families

    @property
    def columns(self) -> int:
        """How many columns the table has."""
        return len(self.dataset.columns)

    @property
    def has_numbers(self) -> bool:
        """Whether some column holds numbers or dates, and not states."""
        return not all(column.is_finite for column in self.dataset.columns)

    @property
    def leaves(self) -> LeafOptions:
        """The distributions of leaves: warps describe real columns of any shape."""
        return LeafOptions(real="warped-gaussian") if self.has_numbers else DEFAULT

    @property
    def slice_leaves(self) -> SliceOptions:
        """The model of slices, Chow-Liu trees, and the distributions of leaves."""
        return SliceOptions(model="chow-liu", real=self.leaves.real)

    @property
    def rows(self) -> int:
        """Distinct training rows: what an iteration of training looks at."""
        return self.dataset.distinct["train"].rows

    @property
    def best(self) -> FinishedTry | None:
        """The best try so far; ties go to the earliest."""
        return best_of(self.tried)

    @property
    def reserve(self) -> float:
        """Seconds reserved for scoring and writing the best model so far."""
        return self.costs.wrap_up_of(self.best.outcome) if self.best is not None else 0.0

    def scale(self) -> float:
        """Return what the best has gained over the first try: expectations are shares of this."""
        if not self.tried:
            return 1.0
        first = self.tried[0]
        best = self.best or first
        gained = level(best.outcome) - level(first.outcome)
        return max(gained, LEAST_SCALE * abs(level(first.outcome)), 1e-3)

    def hope(self, axis: str, share: float) -> float:
        """Return the expected gain of one more step along an axis, in nats.

        Before the first step it is `share` of the scale.
        """
        steps = [t for t in self.tried if t.axis == axis]
        if axis in self.given_up:
            return 0.0
        if not steps:
            return share * self.scale()
        if steps[-1].gained > 0.0:
            return AGAIN * steps[-1].gained
        best = self.best
        grown = best is not None and best.outcome.edges >= 1.9 * steps[-1].edges_before
        return AFTER_FAILURE * share * self.scale() if grown else 0.0

    def behind(self, tried: FinishedTry) -> float:
        """Return how far a try is behind the best of all."""
        best = self.best
        return max(0.0, level(best.outcome) - level(tried.outcome)) if best is not None else 0.0

    def opening(self, axis: str, share: float, kin: Iterable[FinishedTry]) -> float:
        """Return the expected gain of the first try of a kind, in nats, by the best of its `kin`.

        It is small where these are far behind, but never zero: everything gets its turn if there
        is time.
        """
        gain, nearest = self.hope(axis, share), best_of(kin)
        if gain <= 0.0 or nearest is None:
            return gain
        return max(gain - self.behind(nearest), LAST_HOPE * self.scale())

    def failures(self, axis: str) -> int:
        """Return how many steps along an axis brought nothing."""
        return sum(t.axis == axis and t.gained <= 0.0 for t in self.tried)


class Family(Protocol):
    """One kind of model, or of change to the best model, that is worth trying."""

    plugin_name: ClassVar[str]

    def propose(self, board: Board) -> Iterable[Proposal]:
        """Yield what this family would try next, with expected gain and cost; possibly nothing."""
        ...


def components(recipe: Recipe) -> int:
    """Return how many components a recipe's forest has."""
    return sum(entry.count for entry in recipe.forest)


def ladder(values: Sequence[float], value: float, step: int) -> float | None:
    """Return the value `step` places from the nearest one in a sorted list; None past its ends."""
    at = min(range(len(values)), key=lambda i: abs(values[i] - value)) + step
    return values[at] if 0 <= at < len(values) else None
