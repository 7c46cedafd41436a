"""The training loop that all optimisers share: score, compare with the best, stop or take a step.

In every iteration the parameters are scored on all training rows, and on the validation rows if
there are any; the best on the validation rows are remembered. An optimiser adds the step:
parameters and memory in, parameters and memory out. Everything that a step depends on is in the
`State`, in the spec or in a random stream named after the iteration, so that a resumed run gives
the same bits as an uninterrupted one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Self

from spnc.program.validity import parameter_problems
from spnc.registry import STOPS, Options, choice, option
from spnc.training import OUT_OF_TIME, FitResult, FitTask, Memory, Record, State, StopRule
from spnc.training.averaging import Averaged
from spnc.training.m_step import log_prior
from spnc.training.optimizer_steps import OptimizerSteps


@dataclass(frozen=True, kw_only=True)
class Iterative(Options):
    """Base of optimisers that take one step after another; holds the options they share."""

    max_iterations: int = option(1000, "how many iterations at most", min=0)
    stop: StopRule | None = choice(STOPS, "variance", "the rule that says when training converged")
    patience: int | None = option(
        20,
        "stop after this many iterations without a better validation log-likelihood, and keep the "
        "best parameters; without patience or validation rows, the last parameters are kept",
        min=1,
    )
    average: float = option(
        0.0,
        "decay of an exponential moving average of the parameters; the average is validated and "
        "saved; 0: no average",
        min=0,
        below=1,
    )

    def open(self, task: FitTask, train: Any) -> OptimizerSteps:
        """Return the steps over these rows; `train` is `task.train` as the engine loaded it."""
        raise NotImplementedError

    def cut(self, iterations: int) -> Self | None:
        """Return the same optimiser with fewer iterations, which take the same steps."""
        return replace(self, max_iterations=iterations)

    def fit(self, task: FitTask) -> FitResult | None:
        """Fit the parameters; with patience, keep the best on the validation rows."""
        began = time.monotonic()
        engine = task.engine
        just_once = self.max_iterations == 0  # no steps: only the scores are needed
        train = engine.load(task.train, once=just_once)
        keeps_best = task.valid is not None and self.patience is not None
        valid = engine.load(task.valid, once=just_once) if task.valid is not None else None
        steps = self.open(task, train)
        if self.average > 0.0:
            steps = Averaged(steps, task, train, self.average)
        state = first_state(task, steps.initial_memory())
        if state is None:
            return None
        began -= state.history[-1].seconds if state.history else 0.0
        best_rank = _best_rank(state)
        while True:
            parameters = state.parameters
            score, counts = (
                (engine.score(parameters, train), None) if just_once else steps.score(parameters)
            )
            if score.possible == 0 and keeps_best and state.history:
                return _before_divergence(state)
            if score.possible == 0:
                task.sink.error(
                    "E402",
                    "every training row has probability zero, so there is nothing to learn from",
                    help="set `smoothing` above 0, or mend the leaves whose p is 0 or 1",
                )
                return None
            valid_score = engine.score(parameters, valid) if valid is not None else None
            iteration = len(state.history)
            record = Record(
                iteration,
                score.average,
                score.impossible,
                score.total + log_prior(engine.program, parameters, task.smoothing),
                valid_score.average if valid_score else None,
                valid_score.impossible if valid_score else None,
                time.monotonic() - began,
            )
            best, best_iteration = state.best, state.best_iteration
            if valid_score is not None and (best_rank is None or valid_score.rank > best_rank):
                best_rank, best, best_iteration = valid_score.rank, parameters, iteration
            history = (*state.history, record)
            stopped = self._reason_to_stop(history, best_iteration if keeps_best else None)
            if stopped is None and task.enough is not None and task.enough(history):
                stopped = OUT_OF_TIME
            if stopped is None:
                try:
                    updated, memory = steps.step(iteration, parameters, state.memory, counts)
                except FloatingPointError:
                    if keeps_best:
                        return _before_divergence(State(parameters, best, best_iteration, history))
                    _report_lost(task)
                    return None
                state = State(updated, best, best_iteration, history, memory)
                if task.monitor is not None:
                    task.monitor(state)
                continue
            if keeps_best:
                return FitResult(best, history, stopped, "best on valid", best_iteration)
            return FitResult(parameters, history, stopped, "last", iteration)

    def _reason_to_stop(
        self, history: tuple[Record, ...], best_iteration: int | None
    ) -> str | None:
        iteration = history[-1].iteration
        waited = iteration - best_iteration if best_iteration is not None else 0
        if self.patience is not None and waited >= self.patience:
            return "patience"
        if self.stop is not None and self.stop.should_stop([r.train for r in history]):
            return self.stop.plugin_name
        return "max_iterations" if iteration >= self.max_iterations else None


def _before_divergence(state: State) -> FitResult:
    """Return the best parameters from before the last step, which led nowhere."""
    kept = state.best_iteration
    return FitResult(state.best, state.history, "divergence", "best on valid", kept)


def _report_lost(task: FitTask) -> None:
    """Report a step that left the range of numbers without parameters to go back to (E402)."""
    help = "set a smaller `learning_rate`; with validation rows, the best parameters are kept"
    task.sink.error("E402", "training has left the range of numbers", help=help)


def first_state(task: FitTask, memory: Memory) -> State | None:
    """Return the start, or the state to resume; None after reporting a state that does not fit."""
    begin = State(task.start, task.start, 0, (), memory)
    if task.resume is None:
        return begin
    problems = ["its arrays are not those of this circuit and this optimizer"]
    if _shape(task.resume) == _shape(begin):
        kept = (task.resume.parameters, task.resume.best)
        problems = [p for each in kept for p in parameter_problems(task.engine.program, each)]
    if problems:
        message, help = "the checkpoint cannot be used", "train without --resume"
        task.sink.error("E403", message, notes=problems, help=help)
        return None
    return task.resume


def _shape(state: State) -> list[tuple[str, Any, Any]]:
    """Return the names, shapes and types of all arrays of a state."""
    found = [(name, a.shape, a.dtype) for name, a in sorted(state.memory.items())]
    for each in (state.parameters, state.best):
        found += [("", a.shape, a.dtype) for a in (each.weights, *each.tables)]
    return found


def _best_rank(state: State) -> tuple[float, float] | None:
    """Return the rank of the best validation score of a resumed state, if it has one."""
    if not state.history or state.history[state.best_iteration].valid is None:
        return None
    record = state.history[state.best_iteration]
    assert record.valid is not None
    assert record.valid_impossible is not None
    return (-record.valid_impossible, record.valid)
