"""What parts of a run depend on: recipes without what has no effect on them."""

from __future__ import annotations

from dataclasses import replace

from spnc.registry import fields_of
from spnc.spec.recipe import Recipe

_TRAINED = ("optimizer", "objective", "prune")


def forest_key(recipe: Recipe) -> Recipe:
    """Return what the forest before links depends on."""
    return replace(circuit_key(recipe), residual=fields_of(Recipe)["residual"].default)


def circuit_key(recipe: Recipe) -> Recipe:
    """Return what the circuit before training depends on: all but how it is trained and pruned."""
    fields = fields_of(Recipe)
    trained = ("optimizer", "prune") if recipe.refines_components else _TRAINED
    return replace(recipe, **{name: fields[name].default for name in trained})
