"""The recipe of a training that was ended early: it makes the same model, without a time limit.

See docs/decisions/0027-ended-early-is-a-plain-recipe.md.
"""

from __future__ import annotations

from dataclasses import replace

from spnc.runs.outcome import Outcome
from spnc.spec.recipe import Recipe
from spnc.training.objectives.joint import Joint
from spnc.training.time_limit import OBJECTIVE, TRAINING, Ended, shortened


def ended_early(recipe: Recipe, ended: Ended) -> Recipe | None:
    """Return the recipe that makes the model that was kept; None if there is none.

    Pruning that was not finished is left out, and the whole circuit kept. The fit to an objective
    that was not begun has no iterations.
    """
    objective = recipe.objective
    if ended.fit == OBJECTIVE:
        shorter = objective.cut(ended.iterations)
        return None if shorter is None else replace(recipe, objective=shorter)
    if objective.refines and not recipe.refines_components:
        objective = objective.cut(0) or Joint()
    optimizer = recipe.optimizer
    if ended.fit == TRAINING:
        found = shortened(optimizer, ended.iterations)
        if found is None:
            return None
        optimizer = found
    return replace(recipe, optimizer=optimizer, objective=objective, prune=None)


def recipe_of_try(recipe: Recipe, outcome: Outcome) -> Recipe:
    """Return the recipe that makes the model of a try of this recipe, ended early or not.

    Raises ValueError if the try cannot have been ended as its outcome says.
    """
    found = recipe if outcome.ended is None else ended_early(recipe, outcome.ended)
    if found is None:
        raise ValueError("a try was ended early that could not be")
    return found
