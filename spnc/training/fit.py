"""Fit a program's parameters; where the recipe says so, prune and fit again, or to an objective."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from spnc import passes
from spnc.backends import Backend
from spnc.backends.parted import PartedEngine, open_engine
from spnc.common.gc_pause import gc_paused
from spnc.common.observer import Observer, Stage
from spnc.data.parted import Rows
from spnc.diagnostics import Sink
from spnc.leaves.smoothing import Smoothing
from spnc.program.lift import lift
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.training import (
    OUT_OF_TIME,
    Enough,
    FitResult,
    FitTask,
    Objective,
    Optimizer,
    Record,
    State,
)
from spnc.training.flow_pruning import Prune
from spnc.training.time_limit import OBJECTIVE, PRUNING, TRAINING, Ended, TimeLimit, shortened


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
    """The program that was kept, its parameters, and what pruning and the objective did."""

    program: Program
    fitted: FitResult  # of all fits: the history of each continues that of the one before
    pruning: PruneOutcome | None = None
    refined: FitResult | None = None  # the fit to an objective other than the joint likelihood
    ended: Ended | None = None  # the fit that was ended early, if any
    before: FitResult | None = None  # that to the objective: the fit before it, if not pruned

    @property
    def kept(self) -> Kept:
        """The iterations that were kept, each counted from the beginning of its fit."""
        first = self.before or self.fitted
        if self.pruning is not None:
            first = self.pruning.fits[0]
        refined = self.refined.kept_iteration if self.refined is not None else None
        return Kept(first.kept_iteration, refined)


class Kept(NamedTuple):
    """Which iterations were kept, of the fit of the whole program and of that to the objective."""

    first: int
    objective: int | None = None


@dataclass(frozen=True, eq=False)
class ProgramFitter:
    """Everything that a fit needs besides the circuit and its first parameters.

    There are up to three fits: of the whole program, of the pruned one, and to the objective.
    `State.earlier` has those that came before a state, so that a run can be resumed in any.
    """

    optimizer: Optimizer
    objective: Objective
    prune: Prune | None
    smoothing: Smoothing
    seed: int
    backend: Backend
    tables: Mapping[str, Rows]  # the splits, distinct rows only
    sink: Sink
    observer: Observer
    keep: Callable[[State], None] | None = None  # called after every iteration
    enough: Enough | None = None  # ends a fit early; not used where other fits follow
    limit: TimeLimit | None = None  # ends any fit early
    planning: list[float] = field(default_factory=list)  # seconds of each fit, if its backend plans

    def fit(
        self, program: Program, start: Parameters, resume: State | None
    ) -> FittedProgram | None:
        """Fit, prune and fit again, fit to the objective. Return None if a problem was reported.

        `resume` is the state to continue from; it knows which of the fits it belongs to.
        """
        done = list(resume.earlier) if resume is not None else []
        found = self._generative(program, start, resume, done)
        if found is None or not self.objective.refines:
            return found
        objective: Objective | None = self.objective
        if found.ended is not None:
            objective = self.objective.cut(0)
        if objective is None:
            return found
        fits = found.pruning.fits if found.pruning is not None else (found.fitted,)
        state = resume if len(done) == len(fits) else None
        refined = self._refined(objective, found, state, fits)
        if refined is None:
            return None
        fitted = _joined(found.fitted, refined, accepted=True)
        ended = found.ended or _ended(OBJECTIVE, refined)
        before = found.fitted
        return replace(found, fitted=fitted, refined=refined, ended=ended, before=before)

    def _generative(
        self, program: Program, start: Parameters, resume: State | None, done: list[FitResult]
    ) -> FittedProgram | None:
        """Fit, prune and fit again, as far as it is not `done`."""
        if done:
            first: FitResult | None = done[0]
        else:
            first = self._fit(program, start, resume)
        if first is None:
            return None
        ended = _ended(TRAINING, first)
        if self.prune is None or ended is not None:
            return FittedProgram(program, first, ended=ended)
        self.observer.stage(Stage.PRUNING)
        smaller, start = self._pruned(self.prune, program, first.parameters)
        if smaller is program:
            flow = self.prune.flow_below
            outcome = PruneOutcome(flow, program.edges, program.edges, False, (first,))
            return FittedProgram(program, first, outcome)
        if len(done) > 1:
            second: FitResult | None = done[1]
        else:
            second = self._fit(smaller, start, resume if done else None, (first,))
        if second is None:
            return None
        if (ended := _ended(PRUNING, second)) is not None:
            return FittedProgram(program, first, ended=ended)
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
        earlier: tuple[FitResult, ...] = (),
    ) -> FitResult | None:
        def show(last: Record, is_best: bool) -> None:
            self.observer.iteration(last.iteration, last.train, last.valid, is_best)

        self.observer.training(getattr(self.optimizer, "max_iterations", None))
        task = self._task(program, start, resume, earlier, show)
        asked = []
        if self.enough is not None and self.prune is None and not self.objective.refines:
            asked.append(self.enough)
        if self.limit is not None and shortened(self.optimizer, 0) is not None:
            asked.append(self.limit.enough)
        if asked:
            task = replace(task, enough=lambda history: sum(ask(history) for ask in asked) > 0)
        found = self.optimizer.fit(task)
        self._note_planning(task.engine)
        return found

    def _refined(
        self,
        objective: Objective,
        found: FittedProgram,
        resume: State | None,
        earlier: tuple[FitResult, ...],
    ) -> FitResult | None:
        def show(last: Record, is_best: bool) -> None:
            train = last.train if last.train_conditional is None else last.train_conditional
            self.observer.iteration(last.iteration, train, last.valid_conditional, is_best)

        self.observer.stage(Stage.REFINING)
        self.observer.training(getattr(objective, "max_iterations", None))
        start = found.fitted.parameters
        task = self._task(found.program, start, resume, earlier, show)
        if self.limit is not None and objective.cut(0) is not None:
            task = replace(task, enough=self.limit.enough)
        refined = objective.refine(task)
        self._note_planning(task.engine)
        return refined

    def _note_planning(self, engine: PartedEngine) -> None:
        """Note how long the engine of a fit has planned; not every backend does."""
        self.planning.append(engine.planning)

    def _task(
        self,
        program: Program,
        start: Parameters,
        resume: State | None,
        earlier: tuple[FitResult, ...],
        show: Callable[[Record, bool], None],
    ) -> FitTask:
        def monitor(state: State) -> None:
            if self.keep is not None:
                self.keep(replace(state, earlier=earlier))
            last = state.history[-1]
            show(last, last.iteration == state.best_iteration)

        return FitTask(
            open_engine(self.backend, program),
            start,
            self.tables["train"],
            self.tables.get("valid"),
            self.smoothing,
            self.sink,
            self.seed,
            resume,
            monitor,
        )

    @gc_paused()
    def _pruned(
        self, prune: Prune, program: Program, parameters: Parameters
    ) -> tuple[Program, Parameters]:
        """Return the program without the edges to drop; the same one if there are none."""
        engine = open_engine(self.backend, program)
        counts = engine.expected_counts(parameters, engine.load(self.tables["train"], once=True))
        thinned = prune.thinned(program, parameters, counts)
        if thinned is parameters:
            return program, parameters
        return lower(passes.run(lift(program, thinned), passes.BEFORE_TRAINING, keep=False))


def _ended(fit: str, fitted: FitResult) -> Ended | None:
    """Return that a fit was ended early; None if it was not."""
    return Ended(fit, fitted.history[-1].iteration) if fitted.stopped == OUT_OF_TIME else None


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
