"""Expectation-maximisation over the whole circuit, exact on shared nodes.

One pass gives the flow through every edge and leaf (`Engine.expected_counts`); normalised, and
with the prior's pseudo-counts, these are the new weights and leaf parameters. The training
log-likelihood plus the log prior never falls.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from spnc import smoothing
from spnc.program import Parameters, Program
from spnc.registry import OPTIMIZERS, STOPS, Options, choice, option
from spnc.score import Counts
from spnc.training import Fit, Fitted, Record, State, StopRule


def m_step(program: Program, old: Parameters, counts: Counts, alpha: float) -> Parameters:
    """The parameters that maximise the expected log-likelihood plus the log prior."""
    weights = smoothing.smoothed_segments(counts.weights, program.weight_starts, alpha, old.weights)
    tables = tuple(
        leaf.kind.estimate(statistics, alpha, table)
        for leaf, statistics, table in zip(program.leaves, counts.tables, old.tables, strict=True)
    )
    return Parameters(weights, tables)


def log_prior(program: Program, parameters: Parameters, alpha: float) -> float:
    """The log prior density of all parameters, up to a constant."""
    tables = zip(program.leaves, parameters.tables, strict=True)
    return smoothing.log_prior(parameters.weights, alpha) + sum(
        leaf.kind.log_prior(table, alpha) for leaf, table in tables
    )


@OPTIMIZERS.register("em")
@dataclass(frozen=True, kw_only=True)
class Em(Options):
    """Expectation-maximisation on all rows, weights and leaves together."""

    max_iterations: int = option(1000, "how many updates at most", min=0)
    stop: StopRule | None = choice(STOPS, "variance", "when training has settled")
    patience: int | None = option(
        20,
        "iterations without a better validation log-likelihood before stopping, the best being "
        "kept; without patience, or validation rows, the last are kept",
        min=1,
    )

    def fit(self, fit: Fit) -> Fitted | None:
        """Fit the parameters; with patience, keeps the best on the validation rows."""
        began = time.monotonic()
        engine, program = fit.engine, fit.engine.program
        train = engine.load(fit.train)
        watch_valid = fit.valid is not None and self.patience is not None
        valid = engine.load(fit.valid) if fit.valid is not None else None
        state = fit.resume or State(fit.start, fit.start, 0, ())
        began -= state.history[-1].seconds if state.history else 0.0
        best_rank = _best_rank(state)
        while True:
            parameters = state.parameters
            counts = engine.expected_counts(parameters, train)
            if counts.score.possible == 0:
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
                counts.score.average,
                counts.score.impossible,
                counts.score.total + log_prior(program, parameters, fit.smoothing),
                valid_score.average if valid_score else None,
                valid_score.impossible if valid_score else None,
                time.monotonic() - began,
            )
            best, best_iteration = state.best, state.best_iteration
            if valid_score is not None and (best_rank is None or valid_score.rank > best_rank):
                best_rank, best, best_iteration = valid_score.rank, parameters, iteration
            history = (*state.history, record)
            stopped = self._reason_to_stop(history, best_iteration if watch_valid else None)
            if stopped is None:
                updated = m_step(program, parameters, counts, fit.smoothing)
                state = State(updated, best, best_iteration, history)
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


def _best_rank(state: State) -> tuple[float, float] | None:
    """The rank of the best validation score so far, when going on from a checkpoint."""
    if not state.history or state.history[state.best_iteration].valid is None:
        return None
    record = state.history[state.best_iteration]
    assert record.valid is not None
    assert record.valid_impossible is not None
    return (-record.valid_impossible, record.valid)
