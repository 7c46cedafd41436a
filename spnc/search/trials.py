"""Tries trained one after another on one dataset, of which the best on the validation rows is kept.

A search has its tries before it begins, `--auto` thinks of the next one when the last is finished;
what happens to a try is the same. The test rows are looked at once, by the model that was chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spnc.common.observer import Observer
from spnc.data.dataset import Dataset
from spnc.diagnostics import InputError, Sink, Span
from spnc.pipeline import (
    Compiled,
    Trained,
    compile_recipe,
    evaluate,
    fit_compiled,
    report_impossible_rows,
)
from spnc.program.program import Parameters
from spnc.runs.outcome import Outcome
from spnc.search.compile_cache import TriesShelf, circuit_key
from spnc.search.journal import Begun, Journal
from spnc.spec.recipe import Recipe
from spnc.spec.search_section import value_text
from spnc.training import Enough, Record, State

Clock = Callable[[], float]
_JUDGED = ("train", "valid")  # what a try is scored on


@dataclass(eq=False)
class Trials:
    """The tries so far, and the best of them."""

    dataset: Dataset
    shelf: TriesShelf
    journal: Journal
    sink: Sink
    observer: Observer
    clock: Clock = time.monotonic
    tell_all: bool = True  # warnings of all tries, or just those of the chosen one
    outcomes: list[Outcome] = field(default_factory=list)
    best: Outcome | None = None
    trained: Trained | None = None  # the best
    state: State | None = None  # where the training of the best could go on, if that is known
    _compiled: dict[str, Compiled] = field(default_factory=dict)  # of the best, and of the last
    _own: Sink = field(default_factory=Sink)  # what the best try had to say

    def take_up(self, begun: Begun) -> None:
        """Go on from what a journal has kept."""
        self.outcomes, self.trained = list(begun.outcomes), begun.trained
        self.best = best_of(self.outcomes)

    def run(
        self,
        number: int,
        recipe: Recipe,
        values: Mapping[str, Any],
        *,
        enough: Enough | None = None,
        resume: State | None = None,
        note: str = "",
    ) -> Outcome:
        """Train a try and judge it. `resume` is where an earlier one with its recipe has stopped.

        `note` is kept in the outcome.
        """
        began = self.clock()
        self.journal.trying = number
        own, pace = Sink(), _Pace(self.clock, enough)
        latest: list[State] = []

        def keep(state: State) -> None:
            latest[:] = [state]
            self.journal.keep(state)

        try:
            compiled = self._compile(recipe, own)
            state = self.journal.begin(compiled, own) or resume
            found = fit_compiled(
                compiled, own, self.observer, resume=state, keep=keep, enough=pace.ask
            )
        except InputError as error:
            raise _in_try(error, number, values) from None
        evaluate(found, self.dataset, _JUDGED, self.observer)
        if self.tell_all:
            _pass_on(own, self.sink)
        history, spent = found.fitted.history, found.metrics["seconds"]
        structure = spent["structure"] + spent["residual"]
        setup = 0.0
        if pace.first is not None:
            setup = max(0.0, pace.first - began - spent["prepare"])
        elif history[-1].iteration == 0:  # training was nothing but a look at the rows
            setup = structure + spent["compile"] + spent["train"]
        outcome = Outcome(
            number,
            values,
            found.scores["valid"],
            found.scores["train"],
            found.metrics["model"]["edges"],
            found.metrics["optimizer"]["iterations"],
            self.clock() - began,
            setup=setup,
            structure=min(structure, setup),
            pace=pace.of_iterations(history),
            kept=found.fitted.kept_iteration,
            stopped=found.fitted.stopped,
            note=note,
        )
        is_best = outcome.better_than(self.best)
        if is_best:
            self.best, self.trained = outcome, found
            self.state = latest[0] if latest else None
            self._compiled["best"] = compiled
            self._own = own
        self.outcomes.append(outcome)
        self.journal.finished(outcome, found if is_best else None)
        return outcome

    def end(self, reading: float, about: Mapping[str, Any]) -> Trained:
        """The chosen model, also scored on the test rows, and written where there is a folder.

        `reading` is how long the data took; `about` is told in the metrics, beside the tries.
        """
        best, trained = self.best, self.trained
        assert best is not None
        assert trained is not None
        _pass_on(self._own, self.sink)
        trained.model.backend = trained.recipe.backend.resolved()
        rest = [name for name in self.dataset.splits if name not in _JUDGED]
        trained.metrics["seconds"]["data"] = reading
        evaluate(trained, self.dataset, rest, self.observer)
        report_impossible_rows(trained.scores, self.sink)
        spent = self.journal.spent
        by_tries = reading + sum(o.seconds for o in self.outcomes)
        ordered = sorted(self.outcomes, key=lambda o: o.number)
        trained.tries = tuple(replace(o, chosen=o.number == best.number) for o in ordered)
        trained.metrics["search"] = {
            **about,
            "chosen": best.number,
            "seconds": round(spent() if spent is not None else by_tries, 3),
            "tries": [o.as_json() for o in trained.tries],
        }
        self.journal.end(trained, self.dataset)
        return trained

    def _compile(self, recipe: Recipe, sink: Sink) -> Compiled:
        """The recipe compiled; what another try had in common with it is taken over."""
        key = circuit_key(recipe)
        old = next((c for c in self._compiled.values() if circuit_key(c.recipe) == key), None)
        if old is None:
            compiled = compile_recipe(recipe, sink, self.observer, shelf=self.shelf)
        else:
            self.shelf.skip(recipe)
            start = old.parameters
            fresh = Parameters(np.copy(start.weights), tuple(np.copy(t) for t in start.tables))
            seconds = dict.fromkeys(old.seconds, 0.0)
            compiled = replace(old, recipe=recipe, parameters=fresh, seconds=seconds)
        self._compiled["last"] = compiled
        return compiled


class _Pace:
    """Asks whether there is enough, and notes when iterations began."""

    def __init__(self, clock: Clock, enough: Enough | None) -> None:
        self._clock, self._enough = clock, enough
        self.first: float | None = None
        self._last, self._skipped = 0.0, 0

    def ask(self, history: tuple[Record, ...]) -> bool:
        self._last = self._clock()
        if self.first is None:
            self.first, self._skipped = self._last, history[-1].iteration
        return self._enough is not None and self._enough(history)

    def of_iterations(self, history: tuple[Record, ...]) -> float:
        """Seconds for an iteration; 0 if there was none to measure."""
        counted = history[-1].iteration - self._skipped
        if self.first is None or counted <= 0:
            return 0.0
        return (self._last - self.first) / counted


def best_of(outcomes: list[Outcome]) -> Outcome | None:
    """The best by the validation rows; of equals, the earliest."""
    return next((o for o in outcomes if all(not p.better_than(o) for p in outcomes)), None)


def report_no_validation_rows(
    span: Span | None, notes: list[str], sink: Sink, *, has_splits: bool = False
) -> None:
    """Without validation rows there is nothing to choose by (E135).

    What comes with splits of its own is not cut.
    """
    help_text = "cut some off with `split: [0.8, 0.1, 0.1]`, or name a file with `valid`"
    if has_splits:
        help_text = "the data comes with its own splits: put one named `valid` beside them"
    sink.error(
        "E135",
        "the best try is chosen on validation rows, and the data has none",
        span,
        notes=notes,
        help=help_text,
    )


def values_text(values: Mapping[str, Any]) -> str:
    """What a try has chosen, in one line."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in values.items())


def best_text(best: Outcome | None) -> str:
    """The best so far, in a few words."""
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
