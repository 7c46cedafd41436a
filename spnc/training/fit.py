"""Fit a program's parameters; where the recipe says so, prune the program and fit it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from spnc import passes
from spnc.backends import Backend
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Observer, Stage
from spnc.data.dataset import Table
from spnc.diagnostics import Sink
from spnc.leaves.smoothing import Smoothing
from spnc.program.lift import lift
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.training import Enough, FitResult, FitTask, Optimizer, Record, State
from spnc.training.flow_pruning import Prune


@dataclass(frozen=True)
class PruneOutcome:
    """What pruning did, and the fits before and after it (one fit if there was nothing to drop)."""

    flow_below: float
    edges_before: int
    edges_after: int
    pruned: bool  # whether the smaller program was kept
    fits: tuple[FitResult, ...]


@dataclass(frozen=True, eq=False)
class FittedProgram:
    """The program that was kept, its parameters, and what pruning did."""

    program: Program
    fitted: FitResult  # of all fits: the history of the second continues that of the first
    pruning: PruneOutcome | None = None


@dataclass(frozen=True, eq=False)
class ProgramFitter:
    """Everything that a fit needs besides the circuit and its first parameters."""

    optimizer: Optimizer
    prune: Prune | None
    smoothing: Smoothing
    seed: int
    backend: Backend
    tables: Mapping[str, Table]  # the splits, distinct rows only
    sink: Sink
    observer: Observer
    keep: Callable[[State], None] | None = None  # called after every iteration
    enough: Enough | None = None  # ends a fit early; not used where the program is pruned

    def fit(
        self, program: Program, start: Parameters, resume: State | None
    ) -> FittedProgram | None:
        """Fit, prune and fit again. Return None if a problem was reported.

        `resume` is the state to continue from; it knows whether it is of the first or second fit.
        """
        if resume is not None and resume.earlier is not None and self.prune is not None:
            first: FitResult | None = resume.earlier
        else:
            first, resume = self._fit(program, start, resume), None
        if first is None:
            return None
        if self.prune is None:
            return FittedProgram(program, first)
        self.observer.stage(Stage.PRUNING)
        smaller, start = self._pruned(self.prune, program, first.parameters)
        if smaller is program:
            flow = self.prune.flow_below
            outcome = PruneOutcome(flow, program.edges, program.edges, False, (first,))
            return FittedProgram(program, first, outcome)
        second = self._fit(smaller, start, resume, first)
        if second is None:
            return None
        accepted = self.prune.accepts(_kept_record(first), _kept_record(second))
        edges = (program.edges, smaller.edges)
        outcome = PruneOutcome(self.prune.flow_below, *edges, accepted, (first, second))
        fitted = _joined(first, second, accepted)
        return FittedProgram(smaller if accepted else program, fitted, outcome)

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

        self.observer.training(getattr(self.optimizer, "max_iterations", None))
        task = FitTask(
            self.backend.open(program),
            start,
            self.tables["train"],
            self.tables.get("valid"),
            self.smoothing,
            self.sink,
            self.seed,
            resume,
            monitor,
            self.enough if self.prune is None else None,
        )
        return self.optimizer.fit(task)

    @gc_paused()
    def _pruned(
        self, prune: Prune, program: Program, parameters: Parameters
    ) -> tuple[Program, Parameters]:
        """Return the program without the edges to drop; the same one if there are none."""
        engine = self.backend.open(program)
        counts = engine.expected_counts(parameters, engine.load(self.tables["train"], once=True))
        thinned = prune.thinned(program, parameters, counts)
        if thinned is parameters:
            return program, parameters
        return lower(passes.run(lift(program, thinned), passes.BEFORE_TRAINING, keep=False))


def _joined(first: FitResult, second: FitResult, accepted: bool) -> FitResult:
    """Return two fits as one: iterations and seconds go on; the parameters are those accepted."""
    began, offset = first.history[-1].seconds, len(first.history)
    later = tuple(
        replace(r, iteration=offset + r.iteration, seconds=began + r.seconds)
        for r in second.history
    )
    kept = second if accepted else first
    return replace(
        kept,
        history=first.history + later,
        stopped=second.stopped,
        kept_iteration=kept.kept_iteration + (offset if accepted else 0),
    )


def _kept_record(fitted: FitResult) -> Record:
    return fitted.history[fitted.kept_iteration]
