"""Choosing on validation data: every try of a recipe with `search` is trained, the best is kept.

The dataset is read once. Tries that share their forest are run one after the other, and it is
learned once; those that share their links too are compiled once.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from spnc.common.budget import Budget
from spnc.common.deadline import NEVER, OutOfTimeError
from spnc.common.observer import Observer
from spnc.diagnostics import Sink
from spnc.pipeline import Trained
from spnc.runs.ended_early import recipe_of_try
from spnc.runs.limit_metrics import SEARCH, LimitMetrics
from spnc.runs.outcome import Outcome
from spnc.runs.preparation import prepare
from spnc.search.compile_cache import CompileCache
from spnc.search.journal import Journal
from spnc.search.trials import Trials, best_text, values_text
from spnc.spec.recipe import Recipe
from spnc.spec.recipe_keys import circuit_key, forest_key
from spnc.spec.space import Space, Try, short_names
from spnc.training.time_limit import TimeLimit


def search(
    recipe: Recipe,
    sink: Sink,
    observer: Observer | None = None,
    journal: Journal | None = None,
    budget: Budget | None = None,
) -> Trained:
    """Return the best of all tries on the validation rows; ties go to the earliest.

    When the budget is used up, the best so far is returned. Raises `OutOfTimeError` if there is
    none yet.
    """
    space = sink.require(recipe.space)
    observer, journal, budget = observer or Observer(), journal or Journal(), budget or Budget()
    began = time.monotonic()
    dataset = sink.require(prepare(recipe, sink, observer, read=journal.read_data))
    reading = time.monotonic() - began

    begun = journal.open(recipe, dataset, sink, _GridReader(space))
    done = {outcome.number for outcome in begun.outcomes}
    todo = _side_by_side([(n, t) for n, t in enumerate(space.tries, 1) if n not in done])
    recipes = (one.recipe for _, one in todo)
    cache = CompileCache(dataset, recipes, verified=True, savepoints=journal.savepoints)
    trials = Trials(dataset, cache, journal, sink, observer)
    trials.take_up(begun)
    for number, one in todo:
        values = space.values(one)
        short = dict(zip(short_names(values), values.values(), strict=True))
        finished = len(trials.outcomes)
        if trials.best is not None and budget.left() <= 0.0:
            break
        observer.attempt(finished, len(space.tries), values_text(short), best_text(trials.best))
        limit = TimeLimit.of(budget, dataset)
        deadline = budget.deadline() if not journal.has_checkpoint else NEVER
        try:
            outcome = trials.run(number, one.recipe, values, limit=limit, deadline=deadline)
        except OutOfTimeError:
            if trials.best is None:
                raise
            break
        is_best = outcome is trials.best
        observer.tried(number, values_text(short), outcome.valid.average, is_best)
    complete = len(trials.outcomes) == len(space.tries) and trials.outcomes[-1].ended is None
    choices = {choice.name: list(choice.values) for choice in space.choices}
    limits = LimitMetrics.of(recipe.limits, budget, None if complete else SEARCH)
    return trials.end(reading, choices, limits=limits)


@dataclass(frozen=True)
class _GridReader:
    """Understands the journal of a search: its tries are those of the space, by number."""

    space: Space

    def recipe_of(self, outcome: Outcome) -> Recipe:
        return recipe_of_try(self.space.tries[outcome.number - 1].recipe, outcome)

    def proposal_of(self, plan: Mapping[str, Any]) -> None:
        raise ValueError(f"a search has no plans, but this one has {plan}")


def _side_by_side(tries: list[tuple[int, Try]]) -> list[tuple[int, Try]]:
    """Return tries with the same forest next to one another, and those with the same links too.

    So one forest at a time is held; otherwise they stay in their order.
    """
    forests: dict[Hashable, int] = {}
    circuits: dict[Hashable, int] = {}
    places = {}
    for number, one in tries:
        forest = forests.setdefault(forest_key(one.recipe), number)
        places[number] = (forest, circuits.setdefault(circuit_key(one.recipe), number), number)
    return sorted(tries, key=lambda numbered: places[numbered[0]])
