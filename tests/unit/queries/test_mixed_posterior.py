"""Questions about mixed tables, against recursion with numerical integrals at the leaves."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from spnc import checks
from spnc.diagnostics import Sink
from spnc.graph.nodes import Graph
from spnc.program.lower import lower
from spnc.program.program import Program
from spnc.queries.condition import conditioned
from spnc.queries.conditional_sample import sample_given
from spnc.queries.events import Box
from spnc.queries.information import entropy, mutual_information
from spnc.queries.linear import linear_moments
from spnc.queries.most_likely import most_likely
from spnc.queries.posterior import Posterior
from spnc.queries.value_sets import ValueSet
from tests.circuits import random_circuit
from tests.unit.queries.mixed import integral

seeds = st.integers(0, 5_000)


def some_circuit(seed: int) -> Graph:
    return random_circuit(
        seed, variables=3, depth=3, share=0.4, numeric=0.7, extremes=seed % 3 == 0
    )


def some_boxes(program: Program, seed: int) -> list[Box]:
    """One box, or two that differ in their part of one column."""
    rng = np.random.default_rng(seed)
    box: dict[int, ValueSet] = {}
    for i, column in enumerate(program.columns):
        if rng.random() < 0.4:
            continue
        if column.is_finite:
            states = np.flatnonzero(rng.random(column.states) < 0.7).tolist() or [0]
            box[i] = ValueSet.codes(column, states)
            continue
        centre = 3.0 if column.kind == "count" else 0.0
        ends = np.sort(rng.normal(centre, 3.0, 4))
        if rng.random() < 0.3:
            ends[0] = -np.inf
        spans = [(ends[0], ends[1]), (ends[2], ends[3])][: int(rng.integers(1, 3))]
        box[i] = ValueSet.of(column, spans)
    if any(values.is_empty for values in box.values()):
        return some_boxes(program, seed + 10_000)
    first = next((i for i in box), None)
    if first is None or rng.random() < 0.5:
        return [box]
    rest = ValueSet.everything(program.columns[first]).without(box[first])
    return [box] if rest.is_empty else [box, {first: rest}]


@settings(max_examples=60)
@given(seeds, seeds)
def test_columns_given_an_event_have_the_moments_of_the_integrals(seed: int, asked: int) -> None:
    graph = some_circuit(seed)
    program, parameters = lower(graph)
    boxes = some_boxes(program, asked)
    total = sum(integral(graph, box) for box in boxes)
    posterior = Posterior(program, parameters, boxes)
    np.testing.assert_allclose(np.exp(posterior.log_probability), total, rtol=1e-9, atol=1e-12)
    assume(total > 1e-6)
    for i, column in enumerate(program.columns):
        mixture = posterior.column(i)
        mean = sum(integral(graph, box, i, lambda x: x) for box in boxes) / total
        square = sum(integral(graph, box, i, lambda x, m=mean: (x - m) ** 2) for box in boxes)
        np.testing.assert_allclose(mixture.mean(), mean, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(mixture.variance(), square / total, rtol=1e-6, atol=1e-8)
        median = mixture.quantile(0.5)
        below = sum(_below(graph, box, i, median) for box in boxes) / total
        if column.kind == "real":
            np.testing.assert_allclose(below, 0.5, atol=1e-7)
        else:
            before = sum(_below(graph, box, i, median - 1.0) for box in boxes) / total
            assert before < 0.5 + 1e-9
            assert below > 0.5 - 1e-9


def _below(graph: Graph, box: Box, i: int, value: float) -> float:
    column = graph.graph["columns"][i]
    within = box.get(i) or ValueSet.everything(column)
    low = -np.inf if column.kind == "real" else 0.0
    limited = within & ValueSet.of(column, [(low, value)])
    return 0.0 if limited.is_empty else integral(graph, {**box, i: limited})


@settings(max_examples=40)
@given(seeds, seeds)
def test_a_conditioned_circuit_answers_as_the_event_does(seed: int, asked: int) -> None:
    graph = some_circuit(seed)
    program, parameters = lower(graph)
    boxes = some_boxes(program, asked)
    posterior = Posterior(program, parameters, boxes)
    assume(posterior.log_probability > -14.0)
    made = conditioned(program, parameters, boxes)
    sink, before = Sink(), Sink()
    checks.check(made, sink)
    checks.check(graph, before)
    assert sink.diagnostics == [] or before.diagnostics  # some leaves are too narrow from the start
    again = Posterior(*lower(made))
    np.testing.assert_allclose(again.log_probability, 0.0, atol=1e-9)
    other = some_boxes(program, asked + 1)
    direct, through = posterior.log_probability_of(other), again.log_probability_of(other)
    np.testing.assert_allclose(np.exp(through), np.exp(direct), atol=1e-9)
    for i in range(3):
        a, b = posterior.column(i), again.column(i)
        np.testing.assert_allclose(a.mean(), b.mean(), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(a.variance(), b.variance(), rtol=1e-6, atol=1e-9)


@settings(max_examples=15)
@given(seeds, seeds)
def test_rows_drawn_given_an_event_are_distributed_as_it_says(seed: int, asked: int) -> None:
    program, parameters = lower(some_circuit(seed))
    boxes = some_boxes(program, asked)
    posterior = Posterior(program, parameters, boxes)
    assume(posterior.log_probability > -14.0)
    rows = sample_given(program, parameters, boxes, 4_000, np.random.default_rng(2))
    inside = [any(all(r[c] in v for c, v in box.items()) for box in boxes) for r in rows]
    assert all(inside)
    for i, column in enumerate(program.columns):
        mixture = posterior.column(i)
        for drawn in (rows[:, i], mixture.sample(4_000, np.random.default_rng(3))):
            if column.kind == "real":
                assert stats.kstest(drawn, mixture.cdf).pvalue > 1e-6
            else:
                spread = np.sqrt(mixture.variance() / len(drawn)) + 1e-9
                assert abs(drawn.mean() - mixture.mean()) < 6.0 * spread


@settings(max_examples=25)
@given(seeds)
def test_entropies_of_mixed_columns_are_their_integrals(seed: int) -> None:
    graph = some_circuit(seed)
    program, parameters = lower(graph)
    numeric = [i for i, c in enumerate(program.columns) if c.kind == "real"]
    states = [i for i, c in enumerate(program.columns) if c.is_finite]
    assume(numeric and states)
    x, d = numeric[0], states[0]
    column = program.columns[d]
    everything: list[Box] = [{}]
    found = mutual_information(program, parameters, everything, [x], [d])
    assert found.exact
    grid = np.linspace(-30.0, 30.0, 60_001)
    whole = Posterior(program, parameters).column(x)
    expected = -_x_log_x(whole.density(grid), grid)
    for state in range(column.states):
        box = {d: ValueSet.codes(column, [state])}
        given_state = Posterior(program, parameters, [box])
        if given_state.is_possible:
            dense = given_state.column(x).density(grid)
            expected += np.exp(given_state.log_probability) * _x_log_x(dense, grid)
    np.testing.assert_allclose(found.nats, max(expected, 0.0), atol=2e-3)
    own = entropy(program, parameters, everything, [x])
    np.testing.assert_allclose(own.nats, -_x_log_x(whole.density(grid), grid), atol=2e-3)


def _x_log_x(dense: np.ndarray, grid: np.ndarray) -> float:
    terms = dense * np.log(np.where(dense > 0.0, dense, 1.0))
    return float(np.trapezoid(terms, grid))


@settings(max_examples=30)
@given(seeds, seeds)
def test_linear_functions_have_the_moments_of_drawn_rows(seed: int, asked: int) -> None:
    graph = some_circuit(seed)
    program, parameters = lower(graph)
    boxes = some_boxes(program, asked)
    posterior = Posterior(program, parameters, boxes)
    assume(posterior.log_probability > -14.0)
    factors = {0: 1.0, 1: -2.0, 2: 0.5}
    mean, variance = linear_moments(program, parameters, boxes, factors)
    expected = sum(f * posterior.column(i).mean() for i, f in factors.items())
    np.testing.assert_allclose(mean, expected, rtol=1e-9, atol=1e-9)
    rows = sample_given(program, parameters, boxes, 4_000, np.random.default_rng(4))
    drawn = rows @ np.array(list(factors.values()))
    assert abs(drawn.mean() - mean) < 6.0 * np.sqrt(variance / 4_000) + 1e-9
    assert abs(drawn.var() - variance) < 0.5 * variance + 1e-9


@settings(max_examples=30)
@given(seeds)
def test_the_most_likely_numbers_are_not_worse_than_any_on_a_grid(seed: int) -> None:
    graph = some_circuit(seed)
    program, parameters = lower(graph)
    numeric = [i for i, c in enumerate(program.columns) if c.kind == "real"]
    assume(numeric)
    found = most_likely(program, parameters, [{}], numeric[:1])
    mixture = Posterior(program, parameters).column(numeric[0])
    grid = np.linspace(-12.0, 12.0, 20_001)
    best = float(np.log(mixture.density(grid).max()))
    assert found.log_value >= best - 1e-6
    assert found.upper_bound >= best - 1e-9
