"""Choosing on validation data: every try of a recipe with `search` is trained, the best is kept.

The dataset is read once. Tries that share their forest are run one after the other, and it is
learned once; those that share their links too are compiled once.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from spnc.common.observer import Observer
from spnc.diagnostics import Sink
from spnc.pipeline import Trained
from spnc.runs.outcome import Outcome
from spnc.runs.preparation import prepare
from spnc.search.compile_cache import CompileCache, circuit_key, forest_key
from spnc.search.journal import Journal
from spnc.search.trials import Trials, best_text, values_text
from spnc.spec.recipe import Recipe
from spnc.spec.space import Space, Try, short_names


def search(
    recipe: Recipe, sink: Sink, observer: Observer | None = None, journal: Journal | None = None
) -> Trained:
    """Return the best of all tries on the validation rows; ties go to the earliest."""
    space = sink.require(recipe.space)
    observer, journal = observer or Observer(), journal or Journal()
    began = time.monotonic()
    dataset = sink.require(prepare(recipe, sink, observer))
    reading = time.monotonic() - began

    begun = journal.open(recipe, dataset, sink, _GridReader(space))
    done = {outcome.number for outcome in begun.outcomes}
    todo = _side_by_side([(n, t) for n, t in enumerate(space.tries, 1) if n not in done])
    cache = CompileCache(dataset, (one.recipe for _, one in todo), verified=True)
    trials = Trials(dataset, cache, journal, sink, observer)
    trials.take_up(begun)
    for number, one in todo:
        values = space.values(one)
        short = dict(zip(short_names(values), values.values(), strict=True))
        finished = len(trials.outcomes)
        observer.attempt(finished, len(space.tries), values_text(short), best_text(trials.best))
        trials.run(number, one.recipe, values)
    return trials.end(reading, {choice.name: list(choice.values) for choice in space.choices})


@dataclass(frozen=True)
class _GridReader:
    """Understands the journal of a search: its tries are those of the space, by number."""

    space: Space

    def recipe_of(self, outcome: Outcome) -> Recipe:
        return self.space.tries[outcome.number - 1].recipe

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
