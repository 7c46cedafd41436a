"""Choosing on validation data: every try of a recipe with `search` is trained, the best is kept.

The dataset is read once. Tries that share their forest are run one after the other, and it is
grown once; those that share their links too are compiled once. The test rows are looked at once,
by the model that was chosen.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from spnc.data.dataset import Dataset
from spnc.data.load import load
from spnc.diagnostics import InputError, Sink
from spnc.lock import check_lock
from spnc.outcome import Outcome
from spnc.pipeline import (
    Compiled,
    Trained,
    compile_recipe,
    evaluate,
    fit_compiled,
    report_impossible_rows,
)
from spnc.program import Parameters
from spnc.search_folder import Journal
from spnc.shelf import TriesShelf, circuit_key, forest_key
from spnc.spec.recipe import Recipe
from spnc.spec.search import value_text
from spnc.spec.space import Try, short_names
from spnc.watch import Watch

_JUDGED = ("train", "valid")  # what a try is scored on


def search(
    recipe: Recipe, sink: Sink, watch: Watch | None = None, journal: Journal | None = None
) -> Trained:
    """The best of all tries on the validation rows; of equals, the earliest."""
    space = recipe.space
    assert space is not None
    watch, journal = watch or Watch(), journal or Journal()
    began = time.monotonic()
    watch.stage("reading data")
    dataset = load(recipe.data, sink, progress=watch.progress)
    sink.stop()
    assert dataset is not None
    check_lock(recipe, dataset, sink)
    need_validation_rows(recipe, dataset, sink)
    sink.stop()
    reading = time.monotonic() - began

    outcomes, trained = journal.open(recipe, dataset, sink)
    done = {outcome.number for outcome in outcomes}
    best = next((o for o in outcomes if all(not p.better_than(o) for p in outcomes)), None)
    todo = [(n, t) for n, t in enumerate(space.tries, 1) if n not in done]
    todo = _side_by_side(todo)
    shelf = TriesShelf(dataset, (one.recipe for _, one in todo))
    compiled: Compiled | None = None
    for number, one in todo:
        began = time.monotonic()
        values = space.values(one)
        short = dict(zip(short_names(values), values.values(), strict=True))
        watch.attempt(len(outcomes), len(space.tries), values_text(short), _best_text(best))
        own = Sink()
        try:
            compiled = _compiled(one.recipe, compiled, shelf, own, watch)
            state = journal.begin(number, compiled, own)
            found = fit_compiled(compiled, own, watch, resume=state, keep=journal.keep)
        except InputError as error:
            raise _in_try(error, number, values) from None
        evaluate(found, dataset, _JUDGED, watch)
        _pass_on(own, sink)
        outcome = Outcome(
            number,
            values,
            found.scores["valid"],
            found.scores["train"],
            found.metrics["model"]["edges"],
            found.metrics["optimizer"]["iterations"],
            time.monotonic() - began,
        )
        is_best = outcome.better_than(best)
        if is_best:
            best, trained = outcome, found
        outcomes.append(outcome)
        journal.finished(outcome, found if is_best else None)

    assert best is not None
    assert trained is not None
    chosen = space.tries[best.number - 1].recipe
    trained.model.backend = chosen.backend.resolved()
    rest = [name for name in dataset.splits if name not in _JUDGED]
    trained.metrics["seconds"]["data"] = reading
    evaluate(trained, dataset, rest, watch)
    report_impossible_rows(trained.scores, sink)
    ordered = sorted(outcomes, key=lambda o: o.number)
    trained.tries = tuple(replace(o, chosen=o.number == best.number) for o in ordered)
    trained.metrics["search"] = {
        "choices": {choice.name: list(choice.values) for choice in space.choices},
        "chosen": best.number,
        "seconds": round(reading + sum(o.seconds for o in outcomes), 3),
        "tries": [o.as_json() for o in trained.tries],
    }
    journal.end(trained, chosen, dataset)
    return trained


def need_validation_rows(recipe: Recipe, dataset: Dataset, sink: Sink) -> None:
    """Without validation rows there is nothing to choose by (E135)."""
    if recipe.space is not None and "valid" not in dataset.splits:
        sink.error(
            "E135",
            "the best of a search is chosen on validation rows, and the data has none",
            recipe.data.span_of("split"),
            notes=[f"searched for: {', '.join(c.name for c in recipe.space.choices)}"],
            help="cut some off with `split: [0.8, 0.1, 0.1]`, or name a file with `valid`",
        )


def values_text(values: Mapping[str, Any]) -> str:
    """What a try has chosen, in one line."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in values.items())


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


def _compiled(
    recipe: Recipe, last: Compiled | None, shelf: TriesShelf, sink: Sink, watch: Watch
) -> Compiled:
    """A try's recipe compiled; what the last try had in common with it is taken over."""
    if last is None or circuit_key(recipe) != circuit_key(last.recipe):
        return compile_recipe(recipe, sink, watch, shelf=shelf)
    shelf.skip(recipe)
    old = last.parameters
    fresh = Parameters(np.copy(old.weights), tuple(np.copy(table) for table in old.tables))
    return replace(last, recipe=recipe, parameters=fresh, seconds=dict.fromkeys(last.seconds, 0.0))


def _best_text(best: Outcome | None) -> str:
    return f"best {best.valid.average:.4f}" if best is not None else ""


def _pass_on(own: Sink, sink: Sink) -> None:
    """What a try found goes to the whole search, if no other try has said it."""
    said = {(str(d.span), d.where, d.code, d.message) for d in sink.diagnostics}
    for d in own.diagnostics:
        if (str(d.span), d.where, d.code, d.message) not in said:
            sink.diagnostics.append(d)


def _in_try(error: InputError, number: int, values: Mapping[str, Any]) -> InputError:
    """The same problems, and in which try they came up."""
    note = f"in try {number}, with {values_text(values)}"
    return InputError([replace(d, notes=(*d.notes, note)) for d in error.diagnostics])
