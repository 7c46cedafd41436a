"""Every optimiser raises the likelihood, keeps EM's fixed points, and can be resumed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.backends import Engine
from spnc.data.columns import Column, Scale
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Builder
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.poisson import Poisson
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import Parameters
from spnc.program.validity import program_problems
from spnc.registry import OPTIMIZERS
from spnc.training import FitResult, FitTask, State
from spnc.training.batches import in_parts
from spnc.training.loop import Iterative
from spnc.training.m_step import log_prior, m_step
from spnc.training.optimizers.em import Em
from spnc.training.optimizers.sgd import Sgd
from spnc.training.optimizers.stepwise_em import StepwiseEm
from spnc.training.simplices import Simplices
from tests.circuits import random_circuit, random_rows, repeated_rows
from tests.engines import every_backend, opened
from tests.property.test_em import same_bits, shared_leaf_circuit

SEEDS = st.integers(0, 10**6)
ALL_ROWS = 10**6
WAYS: dict[str, Iterative] = {
    "em": Em(),
    "em with dropout": Em(dropout=0.3),
    "em with dropout, averaged": Em(dropout=0.3, average=0.8),
    "stepwise-em": StepwiseEm(batch_rows=15),
    "adam": Sgd(batch_rows=15),
    "adam, averaged": Sgd(batch_rows=15, average=0.7),
    "plain": Sgd(batch_rows=15, rule="plain", learning_rate=2.0, schedule="inverse-sqrt"),
}
every_way = pytest.mark.parametrize("way", list(WAYS))


def fit(
    engine: Engine, start: Parameters, rows: Table, way: Iterative, prior: Smoothing, **more: object
) -> FitResult:
    sink = Sink()
    given = {"valid": None, **more}
    found = way.fit(FitTask(engine, start, rows, smoothing=prior, sink=sink, **given))  # type: ignore[arg-type]
    sink.stop()
    assert found is not None
    return found


def steps(way: str, count: int) -> Iterative:
    """Return an optimiser that stops only after this many steps."""
    return replace(WAYS[way], max_iterations=count, stop=None, patience=None)


def objective(engine: Engine, parameters: Parameters, rows: Table, prior: Smoothing) -> float:
    score = engine.score(parameters, engine.load(rows))
    return score.total + log_prior(engine.program, parameters, prior)


def flat(parameters: Parameters) -> np.ndarray:
    return np.concatenate([parameters.weights, *(t.reshape(-1) for t in parameters.tables)])


def test_every_optimiser_is_tested_here() -> None:
    assert {way.plugin_name for way in WAYS.values()} == set(OPTIMIZERS)


# ---- known maxima ----------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_independent_columns_come_to_their_own_frequencies(way: str, alpha: float) -> None:
    """A product of leaves has one maximum, which can be written down."""
    graph = random_circuit(0, variables=4, depth=0, share=0.0)
    engine, start = opened("numpy", graph)
    columns = graph.graph["columns"]
    values = random_rows(5, columns, 60, 0.1)
    values[:40][values[:40] > 0.0] = 0.0  # mostly zeros, so that the effect of a prior is visible
    table = Table(values)
    found = fit(engine, start, table, steps(way, 150), Smoothing.of(alpha)).parameters
    for leaf, parameters in zip(engine.program.leaves, found.tables, strict=True):
        known = leaf.kind.probabilities(parameters, leaf.states)
        for variable, p in zip(leaf.variables.tolist(), known, strict=True):
            counts = [(table.values[:, variable] == k).sum() + alpha for k in range(leaf.states)]
            assert p == pytest.approx(np.array(counts) / sum(counts), abs=0.02)


@every_way
def test_independent_numbers_come_to_their_own_means_and_spreads(way: str) -> None:
    """The maximum of a product of Gaussian and Poisson leaves can be written down, too."""
    scale = Scale(1e-3, -50.0, 50.0, 0.0, 10.0)
    builder = Builder((Column("a", "real", 0, scale=scale), Column("b", "count", 0, scale=scale)))
    builder.product([builder.leaf(0, Gaussian(-3.0, 9.0)), builder.leaf(1, Poisson(1.0))])
    engine, start = opened("numpy", builder.graph)
    rng = np.random.default_rng(1)
    values = np.stack([rng.normal(12.0, 4.0, size=60), rng.poisson(6.0, size=60)], axis=1)
    values[::9] = np.nan
    found = fit(engine, start, Table(values), steps(way, 150), Smoothing.of(0.0)).parameters
    known = values[~np.isnan(values[:, 0])]
    wanted = {"gaussian": (known[:, 0].mean(), known[:, 0].std()), "poisson": known[:, 1].mean()}
    for leaf, table in zip(engine.program.leaves, found.tables, strict=True):
        assert table[0] == pytest.approx(wanted[leaf.distribution], rel=0.05)


@pytest.mark.parametrize("way", [way for way in WAYS if "dropout" not in way])
def test_two_clusters_of_numbers_are_found(way: str) -> None:
    """A mixture of two Gaussians that starts off their centres moves onto them.

    Not with dropout: without one of its parts, the circuit sees the rows of the other only.
    """
    scale = Scale(1e-3, -12.0, 12.0, 0.0, 6.0)
    builder = Builder((Column("a", "real", 0, scale=scale),))
    builder.sum([builder.leaf(0, Gaussian(m, 4.0)) for m in (-2.0, 2.0)], [0.5, 0.5])
    engine, start = opened("numba, planned", builder.graph)
    rng = np.random.default_rng(2)
    rows = Table(rng.normal(np.repeat([-6.0, 6.0], [90, 30]), 1.0)[:, None])
    prior = Smoothing.of(0.01)
    found = fit(engine, start, rows, steps(way, 60), prior).parameters
    assert objective(engine, found, rows, prior) > objective(engine, start, rows, prior) + 50.0
    (table,) = found.tables
    assert sorted(table[:, 0]) == pytest.approx([-6.0, 6.0], abs=0.5)
    assert sorted(found.weights) == pytest.approx([0.25, 0.75], abs=0.05)


@pytest.mark.parametrize("way", [way for way in WAYS if "dropout" not in way])
def test_parts_that_can_be_told_apart_get_their_shares(way: str) -> None:
    """`a` says which part a row is of: the weights are shares, `b` has its overall frequency.

    Not with dropout: without one of its parts, the circuit sees the rows of the other only.
    """
    rows = np.repeat([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [24, 6, 10], axis=0)
    engine, start = opened("numpy", shared_leaf_circuit())  # type: ignore[arg-type]
    (table,) = start.tables
    sure = np.where(table == 0.2, 0.0, np.where(table == 0.8, 1.0, table))
    start = Parameters(start.weights, (sure,))
    found = fit(engine, start, Table(rows), steps(way, 200), Smoothing.of(0.0))
    assert sorted(found.parameters.weights) == pytest.approx([0.25, 0.75], abs=0.02)
    assert sorted(found.parameters.tables[0][:, 0]) == pytest.approx([0.0, 34 / 40, 1.0], abs=0.02)
    zeros = (sure == 0.0) | (sure == 1.0)
    assert (found.parameters.tables[0][zeros] == sure[zeros]).all()  # a zero stays zero
    best = sum(n * np.log(n / 40) for n in (30, 10)) + 34 * np.log(34 / 40) + 6 * np.log(6 / 40)
    assert found.history[-1].train == pytest.approx(best / 40, abs=2e-3)


@every_way
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_random_circuit_is_improved(way: str, seed: int) -> None:
    graph = random_circuit(seed, variables=6, depth=5, share=0.5)
    engine, start = opened("numpy", graph)
    table = repeated_rows(seed, graph.graph["columns"], 80, 0.1)
    prior = Smoothing(weights=0.2, leaves=0.1)
    found = fit(engine, start, table, steps(way, 25), prior)
    before, after = found.history[0].objective, found.history[-1].objective
    best = fit(engine, start, table, steps("em", 25), prior).history[-1].objective
    assert after > before + 0.5 * (best - before)
    assert after == pytest.approx(objective(engine, found.parameters, table, prior))
    assert list(program_problems(engine.program, found.parameters)) == []


# ---- gradients -------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "numba, planned"])
@settings(max_examples=15)
@given(seed=SEEDS, alphas=st.sampled_from([(0.0, 0.0), (0.5, 0.0), (0.0, 1.5), (0.3, 0.1)]))
def test_gradients_are_those_of_finite_differences(
    backend: str, seed: int, alphas: tuple[float, float]
) -> None:
    graph = random_circuit(seed, variables=5, depth=4, share=0.5)
    engine, start = opened(backend, graph)
    prior = Smoothing(weights=alphas[0], leaves=alphas[1])
    table = repeated_rows(seed, graph.graph["columns"], 30, 0.15)
    view = Simplices.of(engine.program, prior)
    rows = float(table.weights.sum())
    logits = view.logits(start)
    p = view.probabilities(logits)
    counts = engine.expected_counts(start, engine.load(table))
    gradient = view.gradient(p, counts, rows)

    def height(changed: np.ndarray) -> float:
        parameters = view.parameters(view.probabilities(changed), start)
        return objective(engine, parameters, table, prior) / rows

    rng = np.random.default_rng(seed)
    for k in rng.choice(view.entries, size=min(6, view.entries), replace=False):
        step = np.zeros(view.entries)
        step[k] = 1e-4
        slope = (height(logits + step) - height(logits - step)) / 2e-4
        assert gradient[k] == pytest.approx(slope, abs=1e-6)


@given(seed=SEEDS)
def test_the_flat_view_loses_nothing(seed: int) -> None:
    graph = random_circuit(seed, variables=5, depth=4, extremes=True)
    engine, start = opened("numpy", graph)
    view = Simplices.of(engine.program, Smoothing.of(0.0))
    back = view.parameters(view.probabilities(view.logits(start)), start)
    np.testing.assert_allclose(flat(back), flat(start), atol=1e-15)


@pytest.mark.parametrize("schedule", ["constant", "inverse-sqrt", "cosine"])
@pytest.mark.parametrize("rule", ["adam", "plain"])
def test_steps_are_those_of_the_textbook(rule: str, schedule: str) -> None:
    """Three steps on all rows, computed with the formulas of Kingma & Ba."""
    graph = random_circuit(7, variables=5, depth=3)
    engine, start = opened("numpy", graph)
    table = repeated_rows(7, graph.graph["columns"], 60, 0.1)
    prior = Smoothing(weights=0.5, leaves=0.2)
    view = Simplices.of(engine.program, prior)
    logits, mean, squares = view.logits(start), 0.0, 0.0
    for t in range(3):
        p = view.probabilities(logits)
        counts = engine.expected_counts(view.parameters(p, start), engine.load(table))
        gradient = view.gradient(p, counts, float(table.weights.sum()))
        mean = 0.8 * mean + 0.2 * gradient
        squares = 0.9 * squares + 0.1 * gradient**2
        direction = mean / (1 - 0.8 ** (t + 1))
        if rule == "adam":
            direction = direction / (np.sqrt(squares / (1 - 0.9 ** (t + 1))) + 1e-8)
        shrunk = {"constant": 1.0, "inverse-sqrt": (t + 1) ** -0.5}
        rate = 0.3 * shrunk.get(schedule, 0.5 + 0.5 * np.cos(np.pi * t / 3))
        logits = logits + rate * direction
    way = Sgd(
        rule=rule,  # type: ignore[arg-type]
        schedule=schedule,  # type: ignore[arg-type]
        learning_rate=0.3,
        momentum=0.8,
        squares=0.9,
        batch_rows=ALL_ROWS,
        max_iterations=3,
        stop=None,
    )
    found = fit(engine, start, table, way, prior).parameters
    wanted = view.parameters(view.probabilities(logits), start)
    assert flat(found) == pytest.approx(flat(wanted), abs=1e-9)


@pytest.mark.parametrize(("rule", "seed"), [("adam", 4), ("plain", 4), ("adam", 5)])
def test_where_em_stands_still_gradients_are_zero_and_ascent_stays(rule: str, seed: int) -> None:
    """Adam amplifies tiny gradients, but returns to the maximum as its steps shrink."""
    graph = random_circuit(seed, variables=5, depth=3, share=0.4)
    engine, start = opened("numba", graph)
    table = repeated_rows(seed, graph.graph["columns"], 60, 0.1)
    prior = Smoothing(weights=1.0, leaves=0.5)
    settled = fit(engine, start, table, steps("em", 2000), prior).parameters
    counts = engine.expected_counts(settled, engine.load(table))
    again = m_step(engine.program, settled, counts, prior)
    assert flat(again) == pytest.approx(flat(settled), abs=1e-9)
    view = Simplices.of(engine.program, prior)
    p = view.probabilities(view.logits(settled))
    assert np.abs(view.gradient(p, counts, float(table.weights.sum()))).max() < 1e-9
    way = Sgd(
        rule=rule,  # type: ignore[arg-type]
        batch_rows=ALL_ROWS,
        max_iterations=100,
        stop=None,
        patience=None,
    )
    stayed = fit(engine, settled, table, way, prior).parameters
    assert flat(stayed) == pytest.approx(flat(settled), abs=1e-3)


def test_stepwise_em_stays_where_em_stands_still() -> None:
    graph = random_circuit(6, variables=5, depth=3, share=0.4)
    engine, start = opened("numba", graph)
    table = repeated_rows(6, graph.graph["columns"], 60, 0.1)
    prior = Smoothing.of(1.0)
    settled = fit(engine, start, table, steps("em", 2000), prior).parameters
    way = StepwiseEm(batch_rows=ALL_ROWS, max_iterations=20, stop=None, patience=None)
    assert flat(fit(engine, settled, table, way, prior).parameters) == pytest.approx(
        flat(settled), abs=1e-8
    )


# ---- the same bits ---------------------------------------------------------------------------


@every_way
@every_backend
def test_going_on_from_a_state_gives_the_same_bits(backend: str, way: str) -> None:
    graph = random_circuit(11, variables=6, depth=5)
    engine, start = opened(backend, graph)
    table = Table(random_rows(11, graph.graph["columns"], 50, 0.1))
    valid = Table(random_rows(12, graph.graph["columns"], 30, 0.0))
    prior, states = Smoothing.of(0.01), list[State]()
    plan = steps(way, 7)
    whole = fit(engine, start, table, plan, prior, valid=valid, seed=3, monitor=states.append)
    for state in (states[0], states[3]):
        resumed = fit(engine, start, table, plan, prior, valid=valid, seed=3, resume=state)
        same_bits(whole, resumed)


@every_way
def test_any_number_of_threads_gives_the_same_bits(way: str) -> None:
    graph = random_circuit(13, variables=8, depth=6)
    table = repeated_rows(13, graph.graph["columns"], 400, 0.1)
    found = []
    for threads in (1, 2):
        engine, start = opened("numba, planned", graph, threads=threads)
        found.append(fit(engine, start, table, steps(way, 4), Smoothing.of(0.1)))
    same_bits(*found)


@pytest.mark.parametrize("way", ["em with dropout", "stepwise-em", "adam", "plain"])
def test_the_seed_decides_what_is_random(way: str) -> None:
    graph = random_circuit(14, variables=6, depth=5)
    engine, start = opened("numpy", graph)
    table = repeated_rows(14, graph.graph["columns"], 60, 0.0)
    one, same, other = (
        fit(engine, start, table, steps(way, 3), Smoothing.of(0.1), seed=seed) for seed in (1, 1, 2)
    )
    same_bits(one, same)
    assert (flat(one.parameters) != flat(other.parameters)).any()


@pytest.mark.parametrize("way", ["em", "stepwise-em", "adam"])
def test_a_memory_of_another_optimiser_is_refused(way: str) -> None:
    graph = random_circuit(15)
    engine, start = opened("numpy", graph)
    table = Table(random_rows(15, graph.graph["columns"], 20, 0.0))
    state = State(start, start, 0, (), {"mean": np.zeros(3)})
    sink = Sink()
    given = FitTask(engine, start, table, None, Smoothing.of(0.1), sink, resume=state)
    assert WAYS[way].fit(given) is None
    assert [d.code for d in sink.diagnostics] == ["E403"]


# ---- averages --------------------------------------------------------------------------------


def test_the_mean_follows_the_optimiser_which_does_not_follow_the_mean() -> None:
    graph = random_circuit(31, variables=6, depth=5)
    engine, start = opened("numpy", graph)
    table = repeated_rows(31, graph.graph["columns"], 60, 0.1)
    prior = Smoothing.of(0.1)
    own, means = list[State](), list[State]()
    fit(engine, start, table, steps("em", 6), prior, monitor=own.append)
    averaged = replace(steps("em", 6), average=0.25)
    found = fit(engine, start, table, averaged, prior, monitor=means.append)
    mean = flat(start)
    for iteration, (state, wanted) in enumerate(zip(means, own, strict=True)):
        past = min(0.25, (1 + iteration) / (10 + iteration))
        mean = past * mean + (1 - past) * flat(wanted.parameters)
        assert (state.memory["own.weights"] == wanted.parameters.weights).all()
        assert flat(state.parameters) == pytest.approx(mean, abs=1e-14)
    assert flat(found.parameters) == pytest.approx(mean, abs=1e-14)
    assert list(program_problems(engine.program, found.parameters)) == []


# ---- mini-batches ----------------------------------------------------------------------------


@given(seed=SEEDS, batch_rows=st.integers(1, 80))
def test_mini_batches_are_the_rows_dealt_out(seed: int, batch_rows: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.unique(rng.integers(3, size=(12, 3)).astype(float), axis=0)
    weights = rng.integers(0, 9, size=len(values)).astype(float)
    weights[0] = 2.5
    parts = in_parts(Table(values, weights), batch_rows, rng)
    total = {tuple(v): 0.0 for v in values.tolist()}
    for part in parts:
        assert len(np.unique(part.values, axis=0)) == part.rows
        assert part.weights.sum() <= batch_rows + 1
        for row, weight in zip(part.values.tolist(), part.weights.tolist(), strict=True):
            total[tuple(row)] += weight
    assert list(total.values()) == pytest.approx(weights)
    sizes = [part.weights.sum() for part in parts]
    assert max(sizes) - min(sizes) <= 2
