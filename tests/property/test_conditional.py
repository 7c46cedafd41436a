"""The conditional objective: exact gradients on random circuits, and what a fit promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.hiding import hide_columns
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import Parameters
from spnc.program.validity import program_problems
from spnc.training import FitResult, FitTask, State
from spnc.training.anchor import Anchor
from spnc.training.conditional_rows import ConditionalRows, with_target
from spnc.training.coordinates import Coordinates
from spnc.training.objectives.conditional import Conditional
from tests.circuits import random_circuit, random_rows
from tests.engines import opened
from tests.property.test_em import same_bits

SEEDS = st.integers(0, 10**6)
_STEP = 1e-5


def case(
    seed: int, share: float, backend: str = "numpy"
) -> tuple[Engine, Parameters, Table, list[int]]:
    """Return a small circuit, rows with missing cells and weights, and one or two targets."""
    graph = random_circuit(seed, variables=5, depth=4, share=share, numeric=0.4)
    engine, parameters = opened(backend, graph)
    rng = np.random.default_rng(seed)
    values = random_rows(seed, engine.program.columns, 30, 0.15)
    targets = rng.choice(5, size=int(rng.integers(1, 3)), replace=False).tolist()
    return engine, parameters, Table(values, rng.uniform(0.5, 3.0, size=30)), targets


def summed(engine: Engine, parameters: Parameters, rows: Table, targets: list[int]) -> float:
    """Return the conditional log-likelihood in the plainest way."""
    whole = engine.log_likelihood(parameters, engine.load(rows))
    evidence = engine.log_likelihood(parameters, engine.load(hide_columns(rows, targets)))
    return float((rows.weights * (whole - evidence)).sum())


def slopes(function: Any, at: Floats) -> Floats:
    """Return the derivatives of a function by differences; zero where a coordinate is -inf."""
    found = np.zeros(len(at))
    for k in np.flatnonzero(np.isfinite(at)):
        step = np.zeros(len(at))
        step[k] = _STEP
        found[k] = (function(at + step) - function(at - step)) / (2 * _STEP)
    return found


@pytest.mark.parametrize("backend", ["numpy", "numba, planned", "numba"])
@pytest.mark.parametrize("share", [0.0, 0.6], ids=["tree", "shared nodes"])
@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_the_gradient_is_exact(backend: str, share: float, seed: int) -> None:
    engine, start, rows, targets = case(seed, share, backend)
    plain, *_ = case(seed, share)
    view = Coordinates.of(engine.program, start)
    at = view.flat(start)
    rows = with_target(rows, targets)
    counts = ConditionalRows.of(engine, rows, targets).counts(start)
    assert counts is not None
    found = view.gradient(at, start, counts)
    wanted = slopes(lambda x: summed(plain, view.parameters(x, start), rows, targets), at)
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-4)


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_the_prior_pulls_back_to_the_generative_solution(seed: int) -> None:
    engine, start, rows, _ = case(seed, 0.4)
    view = Coordinates.of(engine.program, start)
    counts = engine.expected_counts(start, engine.load(rows))
    anchor = Anchor.of(view, start, counts, 0.7)
    at = view.flat(start)
    assert anchor.value(at) == pytest.approx(0.0, abs=1e-12)
    assert anchor.gradient(at) == pytest.approx(0.0, abs=1e-12)
    away = at + np.random.default_rng(seed).normal(0.0, 0.3, len(at))
    assert anchor.value(away) >= 0.0
    wanted = slopes(anchor.value, away)
    assert -anchor.gradient(away) == pytest.approx(wanted, rel=1e-4, abs=1e-5)


def test_rows_without_target_count_nothing() -> None:
    engine, start, rows, _ = case(7, 0.4)
    values = rows.values.copy()
    values[10:, 2] = np.nan
    values[:10, 2] = 0.0
    table = Table(values, rows.weights)
    kept = with_target(table, [2])
    assert kept.rows == 10
    options = Conditional(target=(engine.program.columns[2].name,))
    score = options.score(engine, start, table)
    assert score is not None
    assert score.possible == pytest.approx(rows.weights[:10].sum())
    assert score.total == pytest.approx(summed(engine, start, kept, [2]))
    # A row without target is worth the same with and without it: its counts cancel exactly.
    counts = ConditionalRows.of(engine, table.take(np.arange(10, 30)), [2]).counts(start)
    assert counts is not None
    assert counts.weights == pytest.approx(0.0, abs=1e-12)


def fit(seed: int, **more: Any) -> tuple[FitResult, FitTask]:
    engine, start, train, targets = case(seed, 0.4)
    valid = Table(random_rows(seed + 1, engine.program.columns, 30, 0.15))
    names = tuple(engine.program.columns[t].name for t in targets)
    options = Conditional(target=names, max_iterations=12, batch_rows=12, hide=0.2)
    sink = Sink()
    task = FitTask(engine, start, train, valid, Smoothing.of(0.1), sink, seed, **more)
    found = options.refine(task)
    sink.stop()
    assert found is not None
    return found, task


@given(seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_what_is_kept_is_valid_and_the_best_on_the_validation_rows(seed: int) -> None:
    found, task = fit(seed)
    assert not list(program_problems(task.engine.program, found.parameters))
    scores = [record.valid_conditional for record in found.history]
    assert all(score is not None for score in scores)
    kept = scores[found.kept_iteration]
    assert kept == max(scores)  # type: ignore[type-var]
    assert kept >= scores[0]  # type: ignore[operator]


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_a_fit_without_validation_rows_raises_the_objective(seed: int) -> None:
    engine, start, train, targets = case(seed, 0.4)
    names = tuple(engine.program.columns[t].name for t in targets)
    options = Conditional(target=names, prior=0.0, max_iterations=30, batch_rows=10**6)
    task = FitTask(engine, start, train, None, Smoothing.of(0.1), Sink(), seed)
    found = options.refine(task)
    assert found is not None
    assert found.kept == "last"
    assert found.history[-1].objective >= found.history[0].objective - 1e-9
    assert found.history[0].valid_conditional is None


def test_a_strong_prior_keeps_the_generative_solution() -> None:
    def moved(prior: float) -> float:
        engine, start, train, targets = case(3, 0.4)
        names = tuple(engine.program.columns[t].name for t in targets)
        options = Conditional(target=names, prior=prior, max_iterations=60, batch_rows=10**6)
        task = FitTask(engine, start, train, None, Smoothing.of(0.1), Sink(), 0)
        found = options.refine(task)
        assert found is not None
        return float(np.abs(found.parameters.weights - start.weights).max())

    assert moved(0.0) > 5.0 * moved(10.0) > 0.0


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_a_resumed_fit_ends_with_the_same_bits(seed: int) -> None:
    states: list[State] = []
    whole, _ = fit(seed, monitor=states.append)
    resumed, _ = fit(seed, resume=states[len(states) // 2])
    same_bits(whole, resumed)
    assert resumed.kept_iteration == whole.kept_iteration
