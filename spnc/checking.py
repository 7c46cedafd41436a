"""Checking a recipe beyond its text: the data and the circuits that it names."""

from __future__ import annotations

from spnc.data.load import is_available, load
from spnc.diagnostics import Sink, counted
from spnc.runs.lock import check_lock
from spnc.search.grid import need_validation_rows
from spnc.spec.recipe import Recipe


def check_recipe(recipe: Recipe, sink: Sink) -> list[str]:
    """Report what is wrong with the data and circuit files; nothing is learned or downloaded.

    Answers lines about what was and was not looked at.
    """
    here = is_available(recipe.data)
    dataset = load(recipe.data, sink, offline=True) if here else None
    if dataset is not None:
        check_lock(recipe, dataset, sink)
        need_validation_rows(recipe, dataset, sink)
    tries = [one.recipe for one in recipe.space.tries] if recipe.space is not None else [recipe]
    # Most tries have most components, and the strategy for links, in common.
    named = [c.learner for each in tries for c in each.forest] + [each.residual for each in tries]
    for plugin in dict.fromkeys(named):
        plugin.verify(dataset, sink)
    notes = []
    if recipe.space is not None:
        names = ", ".join(choice.name for choice in recipe.space.choices)
        notes = [f"search: {counted(len(tries), 'try', 'tries')} over {names}"]
    if not here:
        return [
            f"data: {recipe.data.source} is not on this machine yet, and was not looked at",
            *notes,
        ]
    if dataset is None:
        return notes
    rows = ", ".join(f"{name} {table.rows:,}" for name, table in dataset.splits.items())
    return [f"data: {counted(len(dataset.columns), 'column')}; rows: {rows}", *notes]
