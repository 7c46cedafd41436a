"""One try: compiled, trained and scored, by whoever runs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from spnc.common.deadline import NEVER, Deadline
from spnc.common.observer import Observer
from spnc.compilation import Compiled
from spnc.data.dataset import Dataset
from spnc.diagnostics import InputError, Sink
from spnc.pipeline import evaluate, fit, fit_after_folds, hold_out_folds
from spnc.runs.outcome import Outcome
from spnc.runs.watch import expect_training
from spnc.search.compile_cache import CompileCache
from spnc.search.journal import Journal
from spnc.spec.recipe import Recipe
from spnc.spec.search_section import value_text
from spnc.trained import Trained
from spnc.training import Enough, Record, State
from spnc.training.time_limit import TimeLimit

Clock = Callable[[], float]
SCORED = ("train", "valid")  # the splits that tries are scored on


@dataclass(frozen=True, eq=False)
class TryPlan:
    """A try to run."""

    number: int
    recipe: Recipe
    values: Mapping[str, Any]  # what it has chosen
    note: Mapping[str, Any] = field(default_factory=dict)  # kept with the outcome


@dataclass(frozen=True, eq=False)
class TryResult:
    """A try that was trained and scored."""

    outcome: Outcome
    trained: Trained
    sink: Sink  # its warnings
    state: State | None  # where its training could go on, if that is known
    compiled: Compiled | None  # its circuit before training, unless another process ran it


def run_try(
    dataset: Dataset,
    cache: CompileCache,
    plan: TryPlan,
    journal: Journal,
    observer: Observer,
    *,
    clock: Clock = time.monotonic,
    enough: Enough | None = None,
    deadline: Deadline = NEVER,
    limit: TimeLimit | None = None,
    resume: State | None = None,
    must_train: bool = True,
) -> TryResult:
    """Train a try and score it.

    `resume` is where an earlier try of the same recipe was stopped. Raises `OutOfTimeError` if the
    deadline is over before training begins. With a `limit` and `must_train`, a try that is compiled
    is kept even if there is no time to train it.
    """
    recipe, own, pace = plan.recipe, Sink(), _Pace(clock, enough)
    began = clock()
    latest: list[State] = []

    def keep(state: State) -> None:
        latest[:] = [state]
        journal.keep(state)

    try:
        held = None
        if recipe.data.folds is not None:
            folds = [partial(each.compile, recipe) for each in cache.folds(recipe.data)]
            held = hold_out_folds(recipe, folds, observer, deadline)
        settled = held.shorter if held is not None else recipe
        compiled = cache.compile(settled, own, observer, deadline)
        expect_training(recipe.limits, compiled.parameters, dataset)
        state = journal.begin(compiled, own) or resume
        if held is None:
            found = fit(
                compiled,
                own,
                observer,
                resume=state,
                keep=keep,
                enough=pace.ask,
                deadline=NEVER if limit is not None and must_train else deadline,
                limit=limit,
            )
            found = evaluate(found, dataset, SCORED, observer)
        else:
            found = fit_after_folds(recipe, compiled, held, own, observer, resume=state, keep=keep)
    except InputError as error:
        raise _in_try(error, plan) from None
    history, spent = found.fitted.history, found.metrics.seconds
    structure = spent["structure"] + spent["residual"]
    setup = 0.0
    if pace.first is not None:
        setup = max(0.0, pace.first - began - spent["prepare"])
    elif history[-1].iteration == 0:  # nothing was trained, the rows were only scored
        setup = structure + spent["compile"] + spent["plan"] + spent["train"]
    outcome = Outcome(
        plan.number,
        plan.values,
        (found.conditional or found.scores)["valid"],
        (found.conditional or found.scores)["train"],
        found.metrics.model["edges"],
        found.metrics.optimizer.iterations,
        clock() - began,
        setup=setup,
        structure=min(structure, setup),
        pace=pace.of_iterations(history),
        kept=found.fitted.kept_iteration,
        stopped=found.fitted.stopped,
        ended=found.ended,
        note=plan.note,
    )
    return TryResult(outcome, found, own, latest[0] if latest else None, compiled)


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


def values_text(values: Mapping[str, Any]) -> str:
    """Return what a try has chosen, in one line."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in values.items())


def _in_try(error: InputError, plan: TryPlan) -> InputError:
    """Return the same problems with a note in which try they came up."""
    note = f"in try {plan.number}, with {values_text(plan.values)}"
    return InputError([replace(d, notes=(*d.notes, note)) for d in error.diagnostics])
