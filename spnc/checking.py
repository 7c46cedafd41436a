"""Checking a recipe beyond its text: the data and the circuits that it names."""

from __future__ import annotations

from spnc.data.load import is_available, load
from spnc.diagnostics import Sink, counted
from spnc.lock import check_lock
from spnc.spec.recipe import Recipe


def check_recipe(recipe: Recipe, sink: Sink) -> list[str]:
    """Report what is wrong with the data and circuit files; nothing is learned or downloaded.

    Answers lines about what was and was not looked at.
    """
    here = is_available(recipe.data)
    dataset = load(recipe.data, sink, offline=True) if here else None
    if dataset is not None:
        check_lock(recipe, dataset, sink)
    for component in recipe.forest:
        component.learner.verify(dataset, sink)
    recipe.residual.verify(dataset, sink)
    if not here:
        return [f"data: {recipe.data.source} is not on this machine yet, and was not looked at"]
    if dataset is None:
        return []
    rows = ", ".join(f"{name} {table.rows:,}" for name, table in dataset.splits.items())
    return [f"data: {counted(len(dataset.columns), 'column')}; rows: {rows}"]
