"""Checking a recipe beyond its text: the data and the circuits that it names."""

from __future__ import annotations

import numpy as np

from spnc.data.dataset import Dataset
from spnc.data.load import is_available, load
from spnc.diagnostics import Sink, counted
from spnc.graph.nodes import Builder
from spnc.learners import Lesson
from spnc.learners.circuit import Circuit
from spnc.spec.recipe import Recipe


def check_recipe(recipe: Recipe, sink: Sink) -> list[str]:
    """Report what is wrong with the data and circuit files; nothing is learned or downloaded.

    Answers lines about what was and was not looked at.
    """
    if not is_available(recipe.data):
        return [f"data: {recipe.data.source} is not on this machine yet, and was not looked at"]
    dataset = load(recipe.data, sink, offline=True)
    if dataset is None:
        return []
    for component in recipe.forest:
        if isinstance(component.learner, Circuit):
            component.learner.learn(_dry_lesson(dataset, sink))
    rows = ", ".join(f"{name} {table.rows:,}" for name, table in dataset.splits.items())
    return [f"data: {counted(len(dataset.columns), 'column')}; rows: {rows}"]


def _dry_lesson(dataset: Dataset, sink: Sink) -> Lesson:
    builder = Builder(dataset.columns)
    return Lesson(dataset.columns, dataset.train, 0.0, np.random.default_rng(0), builder, sink)
