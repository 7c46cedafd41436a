"""The loop that every optimiser shares: look, judge, stop or take one more step.

Looking at the parameters scores all training rows, and the validation rows if there are any; the
best on these are remembered. An optimiser adds the step: parameters and memory in, parameters and
memory out. Everything that a step depends on is in the `State`, in the spec or in a random stream
named after the iteration, so that going on from a state gives the bits of a run that was never
broken off.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from spnc.program.program import Parameters
from spnc.program.score import Counts, Score
from spnc.registry import STOPS, Options, choice, option
from spnc.training import OUT_OF_TIME, Fit, Fitted, Memory, Record, State, StopRule
from spnc.training.averaging import Averaged
from spnc.training.m_step import log_prior


class Steps(Protocol):
    """An optimiser opened on the rows of one fit."""

    def begin(self) -> Memory:
        """The memory before the first step. Its names and shapes are those of any later one."""
        ...

    def look(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        """The score of all training rows; with expected counts, where these are wanted next."""
        ...

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        """One iteration. `counts` is what looking at these parameters gave, if that was done."""
        ...


@dataclass(frozen=True, kw_only=True)
class Iterative(Options):
    """An optimiser that takes one step after another; the options that all of them have."""

    max_iterations: int = option(1000, "how many iterations at most", min=0)
    stop: StopRule | None = choice(STOPS, "variance", "when training has settled")
    patience: int | None = option(
        20,
        "iterations without a better validation log-likelihood before stopping, the best being "
        "kept; without patience, or validation rows, the last are kept",
        min=1,
    )
    average: float = option(
        0.0,
        "how much of a fading mean of the parameters is its past; the mean is what is judged and "
        "kept; 0: no mean is taken",
        min=0,
        below=1,
    )

    def open(self, fit: Fit, train: Any) -> Steps:
        """The steps over these rows; `train` is `fit.train` as the engine loaded it."""
        raise NotImplementedError

    def cut(self, iterations: int) -> Self | None:
        """The same with fewer iterations: where training was ended, a plain recipe ends as well."""
        return replace(self, max_iterations=iterations)

    def fit(self, fit: Fit) -> Fitted | None:
        """Fit the parameters; with patience, keeps the best on the validation rows."""
        began = time.monotonic()
        engine = fit.engine
        just_once = self.max_iterations == 0  # then nothing is wanted but the scores
        train = engine.load(fit.train, once=just_once)
        watch_valid = fit.valid is not None and self.patience is not None
        valid = engine.load(fit.valid, once=just_once) if fit.valid is not None else None
        steps = self.open(fit, train)
        if self.average > 0.0:
            steps = Averaged(steps, fit, train, self.average)
        state = _where_to_begin(fit, steps)
        if state is None:
            return None
        began -= state.history[-1].seconds if state.history else 0.0
        best_rank = _best_rank(state)
        while True:
            parameters = state.parameters
            score, counts = (
                (engine.score(parameters, train), None) if just_once else steps.look(parameters)
            )
            if score.possible == 0 and watch_valid and state.history:
                # A step led astray; what was best before is not worse for it.
                kept = state.best_iteration
                return Fitted(state.best, state.history, "divergence", "best on valid", kept)
            if score.possible == 0:
                fit.sink.error(
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
                score.total + log_prior(engine.program, parameters, fit.smoothing),
                valid_score.average if valid_score else None,
                valid_score.impossible if valid_score else None,
                time.monotonic() - began,
            )
            best, best_iteration = state.best, state.best_iteration
            if valid_score is not None and (best_rank is None or valid_score.rank > best_rank):
                best_rank, best, best_iteration = valid_score.rank, parameters, iteration
            history = (*state.history, record)
            stopped = self._reason_to_stop(history, best_iteration if watch_valid else None)
            if stopped is None and fit.enough is not None and fit.enough(history):
                stopped = OUT_OF_TIME
            if stopped is None:
                updated, memory = steps.step(iteration, parameters, state.memory, counts)
                state = State(updated, best, best_iteration, history, memory)
                if fit.monitor is not None:
                    fit.monitor(state)
                continue
            if watch_valid:
                return Fitted(best, history, stopped, "best on valid", best_iteration)
            return Fitted(parameters, history, stopped, "last", iteration)

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


def _where_to_begin(fit: Fit, steps: Steps) -> State | None:
    """The start, or the state to go on from; None after reporting one that does not fit."""
    begin = State(fit.start, fit.start, 0, (), steps.begin())
    if fit.resume is None:
        return begin
    if _shape(fit.resume) != _shape(begin):
        fit.sink.error(
            "E403",
            "the checkpoint cannot be read",
            notes=["its arrays are not those of this circuit and this optimizer"],
            help="train without --resume",
        )
        return None
    return fit.resume


def _shape(state: State) -> list[tuple[str, Any, Any]]:
    """The names, shapes and types of all arrays of a state."""
    found = [(name, a.shape, a.dtype) for name, a in sorted(state.memory.items())]
    for each in (state.parameters, state.best):
        found += [("", a.shape, a.dtype) for a in (each.weights, *each.tables)]
    return found


def _best_rank(state: State) -> tuple[float, float] | None:
    """The rank of the best validation score so far, when going on from a checkpoint."""
    if not state.history or state.history[state.best_iteration].valid is None:
        return None
    record = state.history[state.best_iteration]
    assert record.valid is not None
    assert record.valid_impossible is not None
    return (-record.valid_impossible, record.valid)
