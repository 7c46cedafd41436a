"""Fitting a program's parameters; and, where the recipe says so, pruning it and fitting again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spnc import passes
from spnc.backends import Backend
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Observer, Stage
from spnc.data.dataset import Table
from spnc.diagnostics import Sink
from spnc.program.lift import lift
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.spec.recipe import Recipe
from spnc.training import Enough, FitResult, FitTask, Record, State
from spnc.training.flow_pruning import Prune


@dataclass(frozen=True, eq=False)
class Kept:
    """The program that was kept, its parameters, and what pruning did."""

    program: Program
    fitted: FitResult  # of all fits: the history of the second goes on where the first ended
    pruning: dict[str, Any] | None = None  # for `metrics.json`


@dataclass(frozen=True, eq=False)
class Fitting:
    """Everything that a fit needs besides the circuit and where to begin."""

    recipe: Recipe
    backend: Backend
    tables: Mapping[str, Table]  # the splits, distinct rows only
    sink: Sink
    observer: Observer
    keep: Callable[[State], None] | None = None  # sees every iteration
    enough: Enough | None = None  # ends a fit early; not where the circuit is pruned afterwards

    def run(self, program: Program, start: Parameters, resume: State | None) -> Kept | None:
        """Fit, prune, fit; None if a problem was reported. A state knows which fit it is of."""
        prune = self.recipe.prune
        if resume is not None and resume.earlier is not None and prune is not None:
            first: FitResult | None = resume.earlier
        else:
            first, resume = self._fit(program, start, resume), None
        if first is None or prune is None:
            return None if first is None else Kept(program, first)
        self.observer.stage(Stage.PRUNING)
        smaller, start = self._pruned(prune, program, first.parameters)
        edges = {"before": program.edges, "after": smaller.edges}
        facts: dict[str, Any] = {"flow_below": prune.flow_below, "edges": edges}
        if smaller is program:
            return Kept(program, first, {**facts, "kept": "whole", "fits": [_facts(first)]})
        second = self._fit(smaller, start, resume, first)
        if second is None:
            return None
        good = prune.accepts(_record(first), _record(second))
        facts["kept"] = "pruned" if good else "whole"
        facts["fits"] = [_facts(first), _facts(second)]
        fitted = _joined(first, second, good)
        return Kept(smaller if good else program, fitted, facts)

    def _fit(
        self,
        program: Program,
        start: Parameters,
        resume: State | None,
        earlier: FitResult | None = None,
    ) -> FitResult | None:
        def monitor(state: State) -> None:
            if self.keep is not None:
                self.keep(replace(state, earlier=earlier))
            last = state.history[-1]
            is_best = last.iteration == state.best_iteration
            self.observer.iteration(last.iteration, last.train, last.valid, is_best)

        self.observer.training(getattr(self.recipe.optimizer, "max_iterations", None))
        fit = FitTask(
            self.backend.open(program),
            start,
            self.tables["train"],
            self.tables.get("valid"),
            self.recipe.smoothing,
            self.sink,
            self.recipe.seed,
            resume,
            monitor,
            self.enough if self.recipe.prune is None else None,
        )
        return self.recipe.optimizer.fit(fit)

    @gc_paused()
    def _pruned(
        self, prune: Prune, program: Program, parameters: Parameters
    ) -> tuple[Program, Parameters]:
        """The circuit without the edges to drop; the same one if there are none."""
        engine = self.backend.open(program)
        counts = engine.expected_counts(parameters, engine.load(self.tables["train"], once=True))
        thinned = prune.thinned(program, parameters, counts)
        if thinned is parameters:
            return program, parameters
        return lower(passes.run(lift(program, thinned), passes.BEFORE_TRAINING, keep=False))


def _joined(first: FitResult, second: FitResult, pruned: bool) -> FitResult:
    """Two fits as one history, iterations and seconds going on; the parameters of one of them."""
    began, offset = first.history[-1].seconds, len(first.history)
    later = tuple(
        replace(r, iteration=offset + r.iteration, seconds=began + r.seconds)
        for r in second.history
    )
    kept = second if pruned else first
    return replace(
        kept,
        history=first.history + later,
        stopped=second.stopped,
        kept_iteration=kept.kept_iteration + (offset if pruned else 0),
    )


def _record(fitted: FitResult) -> Record:
    return fitted.history[fitted.kept_iteration]


def _facts(fitted: FitResult) -> dict[str, Any]:
    """One fit, as `metrics.json` says it."""
    kept = _record(fitted)
    return {
        "iterations": fitted.history[-1].iteration,
        "stopped": fitted.stopped,
        "kept": fitted.kept,
        "kept_iteration": fitted.kept_iteration,
        "train": kept.train,
        "valid": kept.valid,
    }
