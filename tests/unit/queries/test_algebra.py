"""Products, quotients and divergences of circuits, and linear functions: against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spnc import checks
from spnc.common.arrays import Floats
from spnc.data.columns import Column, Scale
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.indicator import Indicator
from spnc.leaves.poisson import Poisson
from spnc.program.lift import lift
from spnc.program.lower import lower
from spnc.program.program import Parameters, Program
from spnc.queries import divergence as divergences
from spnc.queries.determinism import is_deterministic
from spnc.queries.divergence import divergence
from spnc.queries.linear import linear_moments
from spnc.queries.product import IncompatibleError, inverse, multiplied, support
from spnc.registry import BACKENDS
from tests.circuits import all_states, probability, random_circuit
from tests.unit.queries.discrete import boxes_and_rows, enumerated

seeds = st.integers(0, 10_000)


def with_other_parameters(program: Program, parameters: Parameters, seed: int) -> Parameters:
    """Random parameters for the same structure; what is impossible stays so."""
    rng = np.random.default_rng(seed)
    weights = parameters.weights * rng.uniform(0.2, 1.0, len(parameters.weights))
    for segment in program.segments:
        if segment.is_sum:
            own = weights[segment.slots]
            totals = np.add.reduceat(own, segment.starts[:-1])
            own /= np.repeat(totals, np.diff(segment.starts))
    tables = []
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        if leaf.distribution == "indicator":
            tables.append(table)
        elif leaf.distribution == "bernoulli":
            moved = np.clip(table + rng.uniform(-0.3, 0.3, table.shape), 0.05, 0.95)
            tables.append(np.where((table > 0.0) & (table < 1.0), moved, table))
        else:
            own = table * rng.uniform(0.2, 1.0, table.shape)
            tables.append(own / own.sum(axis=1, keepdims=True))
    return Parameters(weights, tuple(tables))


def chances_of(graph: Graph) -> Floats:
    return np.array([probability(graph, row) for row in all_states(graph.graph["columns"])])


@settings(max_examples=40)
@given(seeds, seeds)
def test_the_product_of_circuits_is_the_normalised_product_of_probabilities(
    seed: int, other: int
) -> None:
    known = enumerated(seed)
    second = lift(known.program, with_other_parameters(known.program, known.parameters, other))
    expected = known.chances * chances_of(second)
    first = lift(known.program, known.parameters)
    made, log_total = multiplied(first, second)
    np.testing.assert_allclose(np.exp(log_total), expected.sum(), rtol=1e-9)
    np.testing.assert_allclose(chances_of(made), expected / expected.sum(), atol=1e-12)
    sink = Sink()
    checks.check(made, sink)
    assert sink.diagnostics == []


def tree(seed: int, columns: int = 5) -> tuple[Program, Parameters]:
    """A deterministic circuit: a chain in which every column decides about the next."""
    rng = np.random.default_rng(seed)
    builder = Builder([Column(f"x{i}", "binary") for i in range(columns)])
    below: list[int] = []
    for column in reversed(range(columns)):
        values = [builder.leaf(column, Indicator(float(state))) for state in (0, 1)]
        pairs = [
            builder.product([v, *below[k : k + 1]]) if below else v for k, v in enumerate(values)
        ]
        count = 2 if column else 1
        shares = rng.uniform(0.1, 0.9, count).tolist()
        below = [builder.sum(pairs, [share, 1.0 - share]) for share in shares]
    builder.graph.graph["root"] = below[0]
    return lower(builder.graph)


@settings(max_examples=25)
@given(seeds, seeds)
def test_the_quotient_by_a_deterministic_circuit_divides_probabilities(
    seed: int, other: int
) -> None:
    program, parameters = tree(seed)
    changed = with_other_parameters(program, parameters, other)
    assert is_deterministic(program, [parameters, changed])
    p, q = lift(program, parameters), lift(program, changed)
    expected = chances_of(p) / chances_of(q)
    made, log_total = multiplied(p, q, inverse)
    np.testing.assert_allclose(np.exp(log_total), expected.sum(), rtol=1e-9)
    np.testing.assert_allclose(chances_of(made), expected / expected.sum(), atol=1e-12)
    same, log_mass = multiplied(p, q, support)
    np.testing.assert_allclose(log_mass, 0.0, atol=1e-9)
    np.testing.assert_allclose(chances_of(same), chances_of(p), atol=1e-12)


def test_a_mixture_of_overlapping_children_is_not_deterministic() -> None:
    program, parameters = lower(random_circuit(1, variables=4))
    assert not is_deterministic(program, [parameters])


def test_circuits_that_divide_their_columns_differently_have_a_product() -> None:
    columns = [Column(name) for name in "abc"]

    def mixed(*parts: tuple[int, ...]) -> Graph:
        builder = Builder(columns)
        factors = []
        for part in parts:
            each = [
                builder.product([builder.leaf(c, Bernoulli(p)) for c in part])
                if len(part) > 1
                else builder.leaf(part[0], Bernoulli(p))
                for p in (0.2, 0.7)
            ]
            factors.append(builder.sum(each, [0.4, 0.6]))
        builder.graph.graph["root"] = builder.product(factors)
        return builder.graph

    chain, other = mixed((0, 1), (2,)), mixed((0,), (1, 2))
    expected = chances_of(chain) * chances_of(other)
    made, log_total = multiplied(chain, other)
    np.testing.assert_allclose(np.exp(log_total), expected.sum())
    np.testing.assert_allclose(chances_of(made), expected / expected.sum())


def test_gaussian_leaves_are_multiplied_and_others_are_refused() -> None:
    column = Column("x", "real", 0, scale=Scale(1e-6))

    def one(*leaves: Gaussian) -> Graph:
        builder = Builder([column])
        made = [builder.leaf(0, leaf) for leaf in leaves]
        builder.graph.graph["root"] = builder.sum(made, [1.0 / len(made)] * len(made))
        return builder.graph

    two, single = one(Gaussian(0.0, 1.0), Gaussian(2.0, 0.5)), one(Gaussian(1.0, 2.0))
    made, log_total = multiplied(two, single)
    grid = np.linspace(-12.0, 12.0, 200_001)

    def density(graph: Graph) -> Floats:
        program, parameters = lower(graph)
        engine = BACKENDS["numpy"]().open(program)
        return np.exp(engine.log_likelihood(parameters, Table(grid[:, None])))

    direct = density(two) * density(single)
    np.testing.assert_allclose(np.exp(log_total), np.trapezoid(direct, grid), rtol=1e-9)
    np.testing.assert_allclose(density(made) * np.exp(log_total), direct, atol=1e-12)

    counts = Column("n", "count", 0)
    builder = Builder([counts])
    builder.graph.graph["root"] = builder.leaf(0, Poisson(2.0))
    with pytest.raises(IncompatibleError, match=r"`n`.*poisson and poisson"):
        multiplied(builder.graph, builder.graph)


@settings(max_examples=40)
@given(seeds, seeds)
def test_divergences_are_those_of_enumeration_and_below_the_structural_bound(
    seed: int, other: int
) -> None:
    known = enumerated(seed)
    changed = with_other_parameters(known.program, known.parameters, other)
    q = chances_of(lift(known.program, changed))
    some = known.chances > 0.0
    cross = -(known.chances[some] * np.log(q[some])).sum()
    apart = cross + (known.chances[some] * np.log(known.chances[some])).sum()
    engine = BACKENDS["numpy"]().open(known.program)
    found = divergence((engine, known.parameters), (engine, changed))
    assert found.exact
    np.testing.assert_allclose(found.cross_entropy, cross, atol=1e-9)
    np.testing.assert_allclose(found.divergence, apart, atol=1e-9)
    bound = divergences.structural_divergence(known.program, known.parameters, changed)
    assert bound >= apart - 1e-9


@settings(max_examples=10)
@given(seeds)
def test_divergences_of_deterministic_circuits_are_exact_without_enumeration(seed: int) -> None:
    program, parameters = tree(seed)
    changed = with_other_parameters(program, parameters, seed + 1)
    engine = BACKENDS["numpy"]().open(program)
    expected = divergence((engine, parameters), (engine, changed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergences, "ENUMERATED", 0)
        found = divergence((engine, parameters), (engine, changed))
    assert found.exact
    np.testing.assert_allclose(found.divergence, expected.divergence, atol=1e-9)
    np.testing.assert_allclose(found.cross_entropy, expected.cross_entropy, atol=1e-9)


def test_an_estimated_divergence_has_an_error_that_covers_the_truth() -> None:
    known = enumerated(1)
    changed = with_other_parameters(known.program, known.parameters, 8)
    engine = BACKENDS["numpy"]().open(known.program)
    truth = divergence((engine, known.parameters), (engine, changed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergences, "ENUMERATED", 0)
        found = divergence((engine, known.parameters), (engine, changed))
    assert not found.exact
    assert abs(found.divergence - truth.divergence) < 2.0 * found.error
    assert found.upper_bound >= truth.divergence


@given(seeds, seeds)
def test_linear_functions_have_the_moments_of_enumeration(seed: int, asked: int) -> None:
    known = enumerated(seed)
    boxes, inside = boxes_and_rows(known, asked)
    total = known.chances[inside].sum()
    assume(total > 0.0)
    factors = {i: float(i - 1.5) for i in range(4)}
    mean, variance = linear_moments(known.program, known.parameters, boxes, factors, 3.0)
    values = known.rows[inside] @ np.array(list(factors.values())) + 3.0
    weights = known.chances[inside] / total
    np.testing.assert_allclose(mean, weights @ values, atol=1e-10)
    np.testing.assert_allclose(variance, weights @ (values - weights @ values) ** 2, atol=1e-10)


def test_categorical_leaves_of_both_circuits_may_be_of_different_kinds() -> None:
    builder = Builder([Column("a", "categorical", 3)])
    builder.graph.graph["root"] = builder.leaf(0, Categorical((0.2, 0.3, 0.5)))
    other = Builder([Column("a", "categorical", 3)])
    other.graph.graph["root"] = other.leaf(0, Indicator(2.0))
    made, log_total = multiplied(builder.graph, other.graph)
    np.testing.assert_allclose(np.exp(log_total), 0.5)
    np.testing.assert_allclose(chances_of(made), [0.0, 0.0, 1.0])
