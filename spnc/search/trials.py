"""Tries trained one after another on one dataset; the best on the validation rows is kept.

A search knows its tries before it begins, `--auto` proposes the next one when the last is finished;
what happens to a try is the same. The test rows are scored once, by the model that was chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spnc.common.budget import Budget
from spnc.common.deadline import NEVER, Deadline
from spnc.common.observer import Observer
from spnc.data.dataset import Dataset
from spnc.diagnostics import InputError, Sink
from spnc.pipeline import Trained, evaluate, fit, report_impossible_rows
from spnc.runs.limit_metrics import LimitMetrics
from spnc.runs.metrics import SearchMetrics
from spnc.runs.outcome import Outcome
from spnc.runs.watch import expect_training
from spnc.search.compile_cache import CompileCache
from spnc.search.journal import Begun, Journal
from spnc.spec.recipe import Recipe
from spnc.spec.search_section import value_text
from spnc.training import Enough, Record, State
from spnc.training.time_limit import TimeLimit

Clock = Callable[[], float]
_SCORED = ("train", "valid")  # the splits that tries are scored on


@dataclass(eq=False)
class Trials:
    """The tries so far, and the best of them."""

    dataset: Dataset
    cache: CompileCache
    journal: Journal
    sink: Sink
    observer: Observer
    clock: Clock = time.monotonic
    report_all: bool = True  # whether to report the warnings of every try, or of the chosen one
    outcomes: list[Outcome] = field(default_factory=list)
    best: Outcome | None = None
    trained: Trained | None = None  # the best
    state: State | None = None  # where the training of the best could go on, if that is known
    _warnings: Sink = field(default_factory=Sink)  # of the best try

    def take_up(self, begun: Begun) -> None:
        """Continue from what a journal has kept."""
        self.outcomes, self.trained = list(begun.outcomes), begun.trained
        self.best = best_of(self.outcomes)

    def run(
        self,
        number: int,
        recipe: Recipe,
        values: Mapping[str, Any],
        *,
        enough: Enough | None = None,
        deadline: Deadline = NEVER,
        limit: TimeLimit | None = None,
        resume: State | None = None,
        note: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Train a try and score it.

        `resume` is where an earlier try of the same recipe was stopped; `note` is kept with the
        outcome. Raises `OutOfTimeError` if the deadline is over before training begins. With a
        `limit`, the first try is kept even if there was no time to train it.
        """
        began = self.clock()
        self.journal.trying = number
        own, pace = Sink(), _Pace(self.clock, enough)
        latest: list[State] = []

        def keep(state: State) -> None:
            latest[:] = [state]
            self.journal.keep(state)

        try:
            compiled = self.cache.compile(recipe, own, self.observer, deadline)
            expect_training(recipe.limits, compiled.parameters, self.dataset)
            state = self.journal.begin(compiled, own) or resume
            found = fit(
                compiled,
                own,
                self.observer,
                resume=state,
                keep=keep,
                enough=pace.ask,
                deadline=deadline if limit is None or self.best is not None else NEVER,
                limit=limit,
            )
        except InputError as error:
            raise _in_try(error, number, values) from None
        found = evaluate(found, self.dataset, _SCORED, self.observer)
        if self.report_all:
            _pass_on(own, self.sink)
        history, spent = found.fitted.history, found.metrics.seconds
        structure = spent["structure"] + spent["residual"]
        setup = 0.0
        if pace.first is not None:
            setup = max(0.0, pace.first - began - spent["prepare"])
        elif history[-1].iteration == 0:  # nothing was trained, the rows were only scored
            setup = structure + spent["compile"] + spent["train"]
        outcome = Outcome(
            number,
            values,
            (found.conditional or found.scores)["valid"],
            (found.conditional or found.scores)["train"],
            found.metrics.model["edges"],
            found.metrics.optimizer.iterations,
            self.clock() - began,
            setup=setup,
            structure=min(structure, setup),
            pace=pace.of_iterations(history),
            kept=found.fitted.kept_iteration,
            stopped=found.fitted.stopped,
            ended=found.ended,
            note=dict(note or {}),
        )
        is_best = outcome.better_than(self.best)
        if is_best:
            self.best, self.trained = outcome, found
            self.state = latest[0] if latest else None
            self.cache.pin(compiled)
            self._warnings = own
        self.outcomes.append(outcome)
        self.journal.finished(outcome, found if is_best else None)
        return outcome

    def end(
        self,
        reading: float,
        choices: Mapping[str, list[Any]],
        *,
        budget: Budget | None = None,
        limits: LimitMetrics | None = None,
    ) -> Trained:
        """Score the chosen model on the test rows too, and write it where there is a folder.

        `reading` is how many seconds the data took; `choices`, `limits` and the `budget` of
        `--auto` go into the metrics.
        """
        best, trained = self.sink.require(self.best), self.sink.require(self.trained)
        _pass_on(self._warnings, self.sink)
        trained.model.backend = trained.recipe.backend.resolved()
        seconds = {**trained.metrics.seconds, "data": reading}
        trained = replace(trained, metrics=replace(trained.metrics, seconds=seconds))
        rest = [name for name in self.dataset.splits if name not in _SCORED]
        trained = evaluate(trained, self.dataset, rest, self.observer)
        report_impossible_rows(trained.scores, self.sink)
        spent = reading + sum(o.seconds for o in self.outcomes)
        if budget is not None:
            spent = budget.used()  # with what was given up, killed or not finished
        ordered = sorted(self.outcomes, key=lambda o: o.number)
        tries = tuple(replace(o, chosen=o.number == best.number) for o in ordered)
        found = SearchMetrics(
            choices, best.number, round(spent, 3), tuple(o.metrics() for o in tries)
        )
        if budget is not None:
            found = replace(found, budget=budget.seconds)
        metrics = replace(trained.metrics, search=found, limits=limits)
        trained = replace(trained, tries=tries, metrics=metrics)
        self.journal.end(trained, self.dataset)
        return trained


class _Pace:
    """Asks whether training is to end, and measures how long iterations take."""

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
        """Return the seconds per iteration; 0 if there was none to measure."""
        counted = history[-1].iteration - self._skipped
        if self.first is None or counted <= 0:
            return 0.0
        return (self._last - self.first) / counted


def best_of(outcomes: list[Outcome]) -> Outcome | None:
    """Return the best on the validation rows; ties go to the earliest."""
    return next((o for o in outcomes if all(not p.better_than(o) for p in outcomes)), None)


def values_text(values: Mapping[str, Any]) -> str:
    """Return what a try has chosen, in one line."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in values.items())


def best_text(best: Outcome | None) -> str:
    """Return the best so far in a few words."""
    return f"best {best.valid.average:.4f}" if best is not None else ""


def _pass_on(own: Sink, sink: Sink) -> None:
    """Report what a try found to the whole search, unless another try has reported it."""
    said = {(str(d.span), d.where, d.code, d.message) for d in sink.diagnostics}
    for d in own.diagnostics:
        if (str(d.span), d.where, d.code, d.message) not in said:
            sink.diagnostics.append(d)


def _in_try(error: InputError, number: int, values: Mapping[str, Any]) -> InputError:
    """Return the same problems with a note in which try they came up."""
    note = f"in try {number}, with {values_text(values)}"
    return InputError([replace(d, notes=(*d.notes, note)) for d in error.diagnostics])
