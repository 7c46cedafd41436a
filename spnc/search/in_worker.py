"""What the tries of a search and those of `--auto` need when workers run them."""

from __future__ import annotations

import threading
from dataclasses import replace

from spnc.common.observer import Relay, Stage
from spnc.common.workers import Check
from spnc.data.dataset import Dataset
from spnc.search.compile_cache import CompileCache
from spnc.search.one_try import TryPlan, TryResult
from spnc.spec.recipe import Recipe
from spnc.spec.recipe_keys import forest_key


class _Memory(threading.local):
    """What a worker remembers from one try to the next."""

    search: str = ""
    forest: Recipe | None = None
    cache: CompileCache | None = None


_MEMORY = _Memory()


def cache_for(
    search: str, recipe: Recipe, dataset: Dataset, *, sharing: int = 1, verified: bool = False
) -> CompileCache:
    """Return the cache for a try: that of the last one, if it has the same forest.

    `search` is the same text for all tries over one dataset, of which `sharing` have the forest of
    this one; `verified` says that the plug-ins of all were verified before.
    """
    forest, own = forest_key(recipe), _MEMORY
    if own.cache is None or (own.search, own.forest) != (search, forest):
        own.cache = CompileCache(dataset, [recipe] * sharing, verified=verified)
        own.search, own.forest = search, forest
    return own.cache


def without_rows(recipe: Recipe) -> Recipe:
    """Return a recipe without rows that were given in Python: they are in the dataset."""
    return replace(recipe, data=replace(recipe.data, table=None, shards=None))


def sent(plan: TryPlan) -> TryPlan:
    """Return a plan as it is sent to a worker."""
    return replace(plan, recipe=without_rows(plan.recipe))


def received(found: TryResult, plan: TryPlan) -> TryResult:
    """Return what came back from a worker, with what was left out of the plan."""
    recipe = replace(found.trained.recipe, data=plan.recipe.data)
    return replace(found, trained=replace(found.trained, recipe=recipe))


class Checking(Relay):
    """Looks at the memory of a worker whenever there is progress."""

    def __init__(self, check: Check) -> None:
        super().__init__()
        self._check = check

    def stage(self, stage: Stage | str) -> None:
        """Look at the memory."""
        self._check()
        super().stage(stage)

    def progress(self, label: str, done: int, total: int | None) -> None:
        """Look at the memory."""
        self._check()
        super().progress(label, done, total)

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        """Look at the memory."""
        self._check()
        super().iteration(number, train, valid, is_best)
