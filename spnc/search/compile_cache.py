"""Compile the tries of a search: forests and circuits that several tries share are made once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from spnc.common.deadline import NEVER, Deadline
from spnc.common.observer import Observer
from spnc.common.savepoints import NOTHING_KEPT, Savepoints
from spnc.common.workers import SERIAL, Workers
from spnc.compilation import Compiled, compiled_before, learn_forest, link_and_lower
from spnc.data.dataset import Dataset
from spnc.data.folds import folds_of
from spnc.data.options import DataOptions
from spnc.diagnostics import Sink
from spnc.graph.forest import Forest
from spnc.learners.support.warps import warped_for
from spnc.program.program import Parameters
from spnc.runs.kept_circuit import of_circuit, of_forest
from spnc.runs.preparation import verify_plugins
from spnc.spec.recipe import Recipe
from spnc.spec.recipe_keys import circuit_key, forest_key


class CompileCache:
    """Compiles recipes over one dataset.

    A forest is kept as long as one of the `recipes` that were announced still needs it; so tries
    with the same forest should follow one another. A circuit is kept from one try to the next, and
    longer if it is pinned.
    """

    def __init__(
        self,
        dataset: Dataset,
        recipes: Iterable[Recipe] = (),
        *,
        verified: bool = False,
        savepoints: Savepoints = NOTHING_KEPT,
        workers: Workers = SERIAL,
    ) -> None:
        """`verified` says that the plug-ins of all recipes were verified before.

        `savepoints` keep what is learned for a try until the try after it; `workers` learn
        components.
        """
        self.dataset, self._is_verified = dataset, verified
        self._savepoints, self._workers = savepoints, workers
        self._recipes = tuple(recipes)
        self._wanted = Counter(forest_key(recipe) for recipe in self._recipes)
        self._forests: dict[Recipe, Forest] = {}
        self._last: Compiled | None = None
        self._pinned: Compiled | None = None
        self._folds: list[CompileCache] = []

    def folds(self, options: DataOptions) -> list[CompileCache]:
        """Return a cache for the same recipes over each fold of the rows."""
        if not self._folds:
            self._folds = [
                CompileCache(rows, self._recipes, verified=True, workers=self._workers)
                for rows in folds_of(self.dataset, options)
            ]
        return self._folds

    def pin(self, compiled: Compiled) -> None:
        """Keep this circuit, in place of the one that was pinned before."""
        self._pinned = compiled

    def compile(
        self, recipe: Recipe, sink: Sink, observer: Observer, deadline: Deadline = NEVER
    ) -> Compiled:
        """Return the recipe compiled; its parameters may be changed."""
        key = circuit_key(recipe)
        kept = [c for c in (self._pinned, self._last) if c is not None]
        same = next((c for c in kept if circuit_key(c.recipe) == key), None)
        if same is not None:
            self._release(recipe)
            start = same.parameters
            fresh = Parameters(np.copy(start.weights), tuple(np.copy(t) for t in start.tables))
            seconds = dict.fromkeys(same.seconds, 0.0)
            compiled = replace(same, recipe=recipe, parameters=fresh, seconds=seconds)
        else:
            if not self._is_verified:
                verify_plugins(recipe, self.dataset, sink)
                sink.stop()
            compiled = self._compiled(recipe, sink, observer, deadline)
        self._last = compiled
        return compiled

    def _compiled(
        self, recipe: Recipe, sink: Sink, observer: Observer, deadline: Deadline
    ) -> Compiled:
        """Compile a recipe, unless a run that was killed has done so."""
        savepoints, seconds = self._savepoints, {"data": 0.0}
        dataset = warped_for(recipe, self.dataset)
        kept = compiled_before(recipe, dataset, sink, savepoints)
        if kept is not None:
            self._release(recipe)
            return kept
        if self._last is not None:
            of_circuit(savepoints, self._last.recipe).drop("")
        forest = self._forest(recipe, sink, observer, seconds, deadline)
        compiled = link_and_lower(
            recipe,
            dataset,
            forest,
            sink,
            observer,
            seconds,
            deadline=deadline,
            savepoints=savepoints,
        )
        if self._wanted[forest_key(recipe)] <= 0:
            of_forest(savepoints, recipe).drop("")
        return compiled

    def _forest(
        self,
        recipe: Recipe,
        sink: Sink,
        observer: Observer,
        seconds: dict[str, float],
        deadline: Deadline,
    ) -> Forest:
        """Return the forest before links: a copy, unless no other try needs it."""
        key = forest_key(recipe)
        found = self._forests.get(key)
        if found is None:
            found = learn_forest(
                recipe,
                warped_for(recipe, self.dataset),
                sink,
                observer,
                seconds,
                deadline,
                self._savepoints,
                self._workers,
            )
        else:
            seconds["structure"] = 0.0
        if self._release(recipe):
            self._forests[key] = found
            return found.copy()
        return found

    def _release(self, recipe: Recipe) -> bool:
        """Count one try less for a forest. Return whether others need it; otherwise drop it."""
        key = forest_key(recipe)
        self._wanted[key] -= 1
        if self._wanted[key] > 0:
            return True
        self._forests.pop(key, None)
        return False
