"""The M-step, from expected counts to parameters, and the log prior that optimisers maximise."""

from __future__ import annotations

from spnc.leaves import smoothing
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts


def m_step(program: Program, old: Parameters, counts: Counts, prior: Smoothing) -> Parameters:
    """Return the parameters that maximise the expected log-likelihood plus the log prior."""
    starts = program.weight_starts
    weights = smoothing.smoothed_segments(counts.weights, starts, prior.weights, old.weights)
    tables = tuple(
        leaf.kind.estimate(statistics, prior.leaves, table, leaf.columns)
        for leaf, statistics, table in zip(program.leaves, counts.tables, old.tables, strict=True)
    )
    return Parameters(weights, tables)


def log_prior(program: Program, parameters: Parameters, prior: Smoothing) -> float:
    """Return the log prior density of all parameters, up to a constant."""
    tables = zip(program.leaves, parameters.tables, strict=True)
    return smoothing.log_prior(parameters.weights, prior.weights) + sum(
        leaf.kind.log_prior(table, prior.leaves, leaf.columns) for leaf, table in tables
    )
