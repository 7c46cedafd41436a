"""Tries trained one after another on one dataset; the best on the validation rows is kept.

A search knows its tries before it begins, `--auto` proposes the next one when the last is finished;
what happens to a try is the same. The test rows are scored once, by the model that was chosen.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spnc.common.budget import Budget
from spnc.common.deadline import NEVER, Deadline
from spnc.common.observer import Observer
from spnc.data.dataset import Dataset
from spnc.diagnostics import Diagnostic, Sink
from spnc.pipeline import evaluate, report_impossible_rows
from spnc.runs.limit_metrics import LimitMetrics
from spnc.runs.metrics import SearchMetrics
from spnc.runs.outcome import Outcome
from spnc.search.compile_cache import CompileCache
from spnc.search.journal import Begun, Journal
from spnc.search.one_try import SCORED, Clock, TryPlan, TryResult, run_try
from spnc.trained import Trained
from spnc.training import Enough, State
from spnc.training.time_limit import TimeLimit


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
        plan: TryPlan,
        *,
        enough: Enough | None = None,
        deadline: Deadline = NEVER,
        limit: TimeLimit | None = None,
        resume: State | None = None,
    ) -> Outcome:
        """Train a try here and score it.

        `resume` is where an earlier try of the same recipe was stopped. Raises `OutOfTimeError` if
        the deadline is over before training begins. With a `limit`, the first try is kept even if
        there was no time to train it.
        """
        self.journal.trying = plan.number
        found = run_try(
            self.dataset,
            self.cache,
            plan,
            self.journal,
            self.observer,
            clock=self.clock,
            enough=enough,
            deadline=deadline,
            limit=limit,
            resume=resume,
            must_train=self.best is None,
        )
        self.add(found, report=self.report_all)
        return found.outcome

    def add(self, found: TryResult, *, report: bool) -> None:
        """Add a try that is finished, and report its warnings or leave that to others."""
        if report:
            self.report(found.sink)
        is_best = found.outcome.better_than(self.best)
        if is_best:
            self.best, self.trained, self.state = found.outcome, found.trained, found.state
            if found.compiled is not None:
                self.cache.pin(found.compiled)
            self._warnings = found.sink
        self.outcomes.append(found.outcome)
        self.journal.finished(found.outcome, found.trained if is_best else None)

    def report(self, warnings: Sink) -> None:
        """Report the warnings of a try, but for those that another try has reported."""
        said = {_said(d) for d in self.sink.diagnostics}
        self.sink.diagnostics += [d for d in warnings.diagnostics if _said(d) not in said]

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
        self.report(self._warnings)
        trained.model.backend = trained.recipe.backend.resolved()
        seconds = {**trained.metrics.seconds, "data": reading}
        trained = replace(trained, metrics=replace(trained.metrics, seconds=seconds))
        rest = [name for name in self.dataset.splits if name not in SCORED]
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


def best_of(outcomes: list[Outcome]) -> Outcome | None:
    """Return the best on the validation rows; ties go to the earliest."""
    return next((o for o in outcomes if all(not p.better_than(o) for p in outcomes)), None)


def best_text(best: Outcome | None) -> str:
    """Return the best so far in a few words."""
    return f"best {best.valid.average:.4f}" if best is not None else ""


def _said(d: Diagnostic) -> tuple[str, str | None, str, str]:
    return str(d.span), d.where, d.code, d.message
