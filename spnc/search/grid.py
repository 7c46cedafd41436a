"""Choosing on validation data: every try of a recipe with `search` is trained, the best is kept.

The dataset is read once. Tries that share their forest are run one after the other, and it is
learned once; those that share their links too are compiled once.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spnc.common.budget import Budget
from spnc.common.deadline import NEVER, OutOfTimeError
from spnc.common.observer import Observer
from spnc.common.workers import SERIAL, Workers
from spnc.diagnostics import Sink
from spnc.runs.ended_early import recipe_of_try
from spnc.runs.limit_metrics import SEARCH, LimitMetrics
from spnc.runs.outcome import Outcome
from spnc.runs.preparation import prepare
from spnc.search.compile_cache import CompileCache
from spnc.search.journal import Journal
from spnc.search.one_try import TryPlan, values_text
from spnc.search.side_by_side import run_side_by_side
from spnc.search.trials import Trials, best_text
from spnc.spec.recipe import Recipe
from spnc.spec.recipe_keys import circuit_key, forest_key
from spnc.spec.space import Space, Try, short_names
from spnc.trained import Trained
from spnc.training.time_limit import TimeLimit


def search(
    recipe: Recipe,
    sink: Sink,
    observer: Observer | None = None,
    journal: Journal | None = None,
    budget: Budget | None = None,
    workers: Workers = SERIAL,
) -> Trained:
    """Return the best of all tries on the validation rows; ties go to the earliest.

    With several `workers`, as many tries are run at a time, with the same result.
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
    plans, texts = [], {}
    for number, one in todo:
        values = space.values(one)
        plans.append(TryPlan(number, one.recipe, values))
        short = dict(zip(short_names(values), values.values(), strict=True))
        texts[number] = values_text(short)
    shown = _Shown(observer, trials, len(space.tries), texts)
    if workers.count > 1 and len(plans) > 1:
        at_a_time = f"{workers.count} at a time"
        shown.begin(at_a_time)

        def finished(outcome: Outcome) -> None:
            shown.finished(outcome)
            if len(trials.outcomes) < len(space.tries):
                shown.begin(at_a_time)

        run_side_by_side(trials, plans, workers, budget, finished)
    else:
        _run_one_by_one(trials, plans, budget, shown)
    complete = len(trials.outcomes) == len(space.tries) and all(
        outcome.ended is None for outcome in trials.outcomes
    )
    choices = {choice.name: list(choice.values) for choice in space.choices}
    limits = LimitMetrics.of(recipe.limits, budget, None if complete else SEARCH)
    return trials.end(reading, choices, limits=limits)


@dataclass(frozen=True, eq=False)
class _Shown:
    """Tells an observer about tries."""

    observer: Observer
    trials: Trials
    total: int
    texts: Mapping[int, str]  # what each try has chosen

    def begin(self, what: str) -> None:
        """Tell that a try begins."""
        done = len(self.trials.outcomes)
        self.observer.attempt(done, self.total, what, best_text(self.trials.best))

    def finished(self, outcome: Outcome) -> None:
        """Tell that a try is finished."""
        is_best = outcome is self.trials.best
        text = self.texts[outcome.number]
        self.observer.tried(outcome.number, text, outcome.valid.average, is_best)


def _run_one_by_one(
    trials: Trials, plans: Sequence[TryPlan], budget: Budget, shown: _Shown
) -> None:
    """Run the tries until the budget is used up. Raises `OutOfTimeError` if there is no model."""
    for plan in plans:
        if trials.best is not None and budget.left() <= 0.0:
            break
        shown.begin(shown.texts[plan.number])
        limit = TimeLimit.of(budget, trials.dataset)
        deadline = budget.deadline() if not trials.journal.has_checkpoint else NEVER
        try:
            outcome = trials.run(plan, limit=limit, deadline=deadline)
        except OutOfTimeError:
            if trials.best is None:
                raise
            break
        shown.finished(outcome)


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
