"""Choosing on validation data: every try of a recipe with `search` is trained, the best is kept.

The dataset is read once. Tries that share their forest are run one after the other, and it is
grown once; those that share their links too are compiled once.
"""

from __future__ import annotations

import time
from collections.abc import Hashable

from spnc.common.observer import Observer, Stage
from spnc.data.dataset import Dataset
from spnc.data.load import load
from spnc.diagnostics import Sink
from spnc.pipeline import Trained
from spnc.runs.lock import check_lock
from spnc.search.compile_cache import TriesShelf, circuit_key, forest_key
from spnc.search.journal import Journal
from spnc.search.trials import Trials, best_text, report_no_validation_rows, values_text
from spnc.spec.recipe import Recipe
from spnc.spec.space import Try, short_names


def search(
    recipe: Recipe, sink: Sink, observer: Observer | None = None, journal: Journal | None = None
) -> Trained:
    """The best of all tries on the validation rows; of equals, the earliest."""
    space = recipe.space
    assert space is not None
    observer, journal = observer or Observer(), journal or Journal()
    began = time.monotonic()
    observer.stage(Stage.DATA)
    dataset = load(recipe.data, sink, progress=observer.progress)
    sink.stop()
    assert dataset is not None
    check_lock(recipe, dataset, sink)
    need_validation_rows(recipe, dataset, sink)
    sink.stop()
    reading = time.monotonic() - began

    begun = journal.open(
        recipe, dataset, sink, lambda outcome: space.tries[outcome.number - 1].recipe
    )
    done = {outcome.number for outcome in begun.outcomes}
    todo = _side_by_side([(n, t) for n, t in enumerate(space.tries, 1) if n not in done])
    shelf = TriesShelf(dataset, (one.recipe for _, one in todo))
    trials = Trials(dataset, shelf, journal, sink, observer)
    trials.take_up(begun)
    for number, one in todo:
        values = space.values(one)
        short = dict(zip(short_names(values), values.values(), strict=True))
        done_so_far = len(trials.outcomes)
        observer.attempt(done_so_far, len(space.tries), values_text(short), best_text(trials.best))
        trials.run(number, one.recipe, values)
    choices = {choice.name: list(choice.values) for choice in space.choices}
    return trials.end(reading, {"choices": choices})


def need_validation_rows(recipe: Recipe, dataset: Dataset, sink: Sink) -> None:
    """Without validation rows there is nothing to choose by (E135)."""
    if recipe.space is not None and "valid" not in dataset.splits:
        searched = f"searched for: {', '.join(c.name for c in recipe.space.choices)}"
        report_no_validation_rows(recipe.data.span_of("split"), [searched], sink)


def _side_by_side(tries: list[tuple[int, Try]]) -> list[tuple[int, Try]]:
    """Those with the same forest one after the other, and among them those with the same links.

    So one forest at a time is held; otherwise they stay in their order.
    """
    forests: dict[Hashable, int] = {}
    circuits: dict[Hashable, int] = {}
    places = {}
    for number, one in tries:
        forest = forests.setdefault(forest_key(one.recipe), number)
        places[number] = (forest, circuits.setdefault(circuit_key(one.recipe), number), number)
    return sorted(tries, key=lambda numbered: places[numbered[0]])
