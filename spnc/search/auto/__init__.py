"""Choosing a recipe for a table within a time budget: `spnc train --auto`. See docs/auto.md.

A *family* (one file in `families/`) looks at the board, which has the facts about the table and
every try so far, and proposes recipes. The loop takes the proposal that promises most per second,
trains it until it yields less than the next one would, and puts the outcome on the board.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from spnc.data.dataset import Dataset
    from spnc.runs.outcome import Outcome
    from spnc.search.auto.costs import Costs
    from spnc.spec.recipe import Recipe

MOST_EDGES = 3_000_000  # larger circuits want more memory than many machines have

# Hopes, as shares of what the best try so far has gained over the first one, a Chow-Liu tree.
LEAST_SCALE = 0.01  # that gain is taken to be at least this share of the log-likelihood itself
AGAIN = 0.5  # what succeeded is expected to bring half as much the next time
LAST_HOPE = 0.002  # of what was never tried, even if all that is like it is far behind
AFTER_FAILURE = 0.3  # what failed may be tried again on a model of twice the size, with less hope


@dataclass(frozen=True, eq=False)
class Proposal:
    """A recipe worth trying, why, and what it is likely to cost."""

    recipe: Recipe
    what: str  # what it is, or what is changed from the best so far, in a few words
    axis: str  # proposals that vary the same thing in the same direction have the same one
    gain: float  # nats for each validation row that it may add to the best so far
    edges: float  # of the circuit, about
    iterations: int  # that training is likely to take until it hardly improves
    structure: float = 0.0  # seconds for the structure, where more than edges tell
    sure: bool = False  # whether these are all that comes before the first iteration
    goes_on: bool = False  # whether it is the best try, trained on from where it was left
    family: str = ""  # whose times tell what it costs; that which proposes it, if empty


@dataclass(frozen=True, eq=False)
class Tried:
    """A finished try, and what it added to the best before it (less than 0 if it was worse)."""

    outcome: Outcome
    recipe: Recipe
    family: str
    axis: str
    gained: float
    edges_before: int  # of the best try when this one was proposed


@dataclass(eq=False)
class Board:
    """What families see."""

    base: Recipe  # the data, the seed and whatever the person has settled; its forest is no one's
    dataset: Dataset
    budget: float  # seconds for all
    costs: Costs
    clock: Callable[[], float] = time.monotonic
    left: float = 0.0  # seconds
    tried: list[Tried] = field(default_factory=list)
    given_up: set[str] = field(default_factory=set)  # axes that could not be tried to the end
    can_go_on: bool = False  # whether the state of the best try is at hand
    slope: float = 0.0  # nats per second that training the best try gained when it was left
    measured: dict[Hashable, float] = field(default_factory=dict)  # by families, to be looked up

    @property
    def columns(self) -> int:
        """How many columns the table has."""
        return len(self.dataset.columns)

    @property
    def rows(self) -> int:
        """Distinct training rows: what an iteration of training looks at."""
        return self.dataset.distinct["train"].rows

    @property
    def best(self) -> Tried | None:
        """The best try so far; of equals the earliest."""
        return best_of(self.tried)

    @property
    def reserve(self) -> float:
        """Seconds to keep for scoring and writing the best model so far."""
        return self.costs.wrap_up_of(self.best.outcome) if self.best is not None else 0.0

    def scale(self) -> float:
        """What the best has gained over the first try: hopes are shares of this."""
        if not self.tried:
            return 1.0
        first, best = self.tried[0], self.best
        assert best is not None
        gained = level(best.outcome) - level(first.outcome)
        return max(gained, LEAST_SCALE * abs(level(first.outcome)), 1e-3)

    def hope(self, axis: str, share: float) -> float:
        """What to expect of one more step along an axis, in nats; `share` if none was made yet."""
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

    def behind(self, tried: Tried) -> float:
        """What the best of all tries is ahead of one by."""
        best = self.best
        return max(0.0, level(best.outcome) - level(tried.outcome)) if best is not None else 0.0

    def opening(self, axis: str, share: float, kin: Iterable[Tried]) -> float:
        """What to expect of the first of a kind, in nats, by the best of its kin so far.

        Where these are far behind, little; but all gets its turn if there is time.
        """
        gain, nearest = self.hope(axis, share), best_of(kin)
        if gain <= 0.0 or nearest is None:
            return gain
        return max(gain - self.behind(nearest), LAST_HOPE * self.scale())

    def failures(self, axis: str) -> int:
        """How often steps along an axis brought nothing."""
        return sum(t.axis == axis and t.gained <= 0.0 for t in self.tried)


class Family(Protocol):
    """One kind of model, or of change to the best model, that is worth trying."""

    plugin_name: ClassVar[str]

    def propose(self, board: Board) -> Iterable[Proposal]:
        """What this family would try next, each with its hope and its cost; nothing is fine."""
        ...


def best_of(tried: Iterable[Tried]) -> Tried | None:
    """The best on the validation rows; of equals the earliest."""
    found: Tried | None = None
    for each in tried:
        if found is None or each.outcome.better_than(found.outcome):
            found = each
    return found


def level(outcome: Outcome) -> float:
    """How good a try is, in one number: its validation rows, of which impossible ones cost much."""
    score = outcome.valid
    if score.possible <= 0:
        return -1e9
    return score.average - 100.0 * score.impossible / (score.possible + score.impossible)


def components(recipe: Recipe) -> int:
    """How many components a recipe's forest has."""
    return sum(entry.count for entry in recipe.forest)


def ladder(values: Sequence[float], value: float, step: int) -> float | None:
    """The value `step` places on from the nearest rung of a ladder; None past its ends."""
    at = min(range(len(values)), key=lambda i: abs(values[i] - value)) + step
    return values[at] if 0 <= at < len(values) else None
