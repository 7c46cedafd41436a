"""Proposals, and tries that have finished."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spnc.diagnostics import Sink, Source
from spnc.runs.ended_early import recipe_of_try
from spnc.runs.lock import recipe_text
from spnc.runs.outcome import Outcome
from spnc.spec.read import recipe_from
from spnc.spec.recipe import Recipe

# What an impossible validation row costs, in nats, when tries are compared by one number.
IMPOSSIBLE_ROW = 100.0


@dataclass(frozen=True, eq=False)
class Proposal:
    """A recipe worth trying, why, and what it is likely to cost."""

    recipe: Recipe
    what: str  # what it is, or what is changed from the best so far, in a few words
    axis: str  # the same for proposals that vary the same thing in the same direction
    gain: float  # expected improvement on the best so far, in nats per validation row
    edges: float  # of the circuit, roughly
    iterations: int  # that training is likely to take until it hardly improves
    structure: float = 0.0  # estimated seconds for the structure; 0: estimated from the edges
    sure: bool = False  # whether `structure` is all that precedes the first iteration
    goes_on: bool = False  # whether this continues the training of the best try
    family: str = ""  # whose times tell what it costs; empty: the family that proposes it

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for a journal; what was expected of it is not kept."""
        return {
            "recipe": recipe_text(self.recipe),
            "what": self.what,
            "axis": self.axis,
            "family": self.family,
            "edges": self.edges,
            "iterations": self.iterations,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any], base: Recipe) -> Proposal:
        """Return the proposal in plain values, with the data and the backend of `base`.

        Raises LookupError, TypeError or ValueError if there is none.
        """
        recipe = recipe_from(Source("recipe.yaml", str(value["recipe"])), Sink())
        if recipe is None:
            raise ValueError("the recipe of a try cannot be read")
        recipe = replace(recipe, data=base.data, backend=base.backend)
        what, axis, family = (str(value[name]) for name in ("what", "axis", "family"))
        edges, iterations = float(value["edges"]), int(value["iterations"])
        return Proposal(recipe, what, axis, 0.0, edges, iterations, family=family)


@dataclass(frozen=True, eq=False)
class FinishedTry:
    """A finished try, and what it added to the best before it (less than 0 if it was worse)."""

    proposal: Proposal
    outcome: Outcome
    gained: float
    edges_before: int  # of the best try when this one was proposed

    @property
    def recipe(self) -> Recipe:
        """The recipe that was proposed."""
        return self.proposal.recipe

    @property
    def family(self) -> str:
        """The family that proposed it."""
        return self.proposal.family

    @property
    def axis(self) -> str:
        """What it varies, in which direction."""
        return self.proposal.axis


@dataclass(frozen=True)
class ProposalReader:
    """Understands what a journal has kept of the tries of `--auto`."""

    base: Recipe

    def recipe_of(self, outcome: Outcome) -> Recipe:
        """Return the recipe that makes the model of a try, also where training was ended early."""
        recipe = Proposal.from_json(outcome.note, self.base).recipe
        if not {"family", "change"} <= outcome.values.keys():
            raise ValueError("a try does not say what it is")
        return recipe_of_try(recipe, outcome)

    def proposal_of(self, plan: Mapping[str, Any]) -> tuple[Proposal, float]:
        """Return the proposal that was planned, and the rate of the next best one."""
        return Proposal.from_json(plan, self.base), float(plan["rate"])


def best_of(tries: Iterable[FinishedTry]) -> FinishedTry | None:
    """Return the best on the validation rows; ties go to the earliest."""
    found: FinishedTry | None = None
    for each in tries:
        if found is None or each.outcome.better_than(found.outcome):
            found = each
    return found


def level(outcome: Outcome) -> float:
    """Return how good a try is as one number: its validation score, less for impossible rows."""
    score = outcome.valid
    if score.possible <= 0:
        return -1e9
    share = score.impossible / (score.possible + score.impossible)
    return score.average - IMPOSSIBLE_ROW * share
