"""Every backend computes what the definition says: checked against enumeration, not another code.

The tests run over the registry: a new backend is tested by being there.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spnc.data.dataset import Table
from spnc.graph.nodes import find_root
from spnc.program.lift import lift
from spnc.program.lower import lower
from spnc.program.score import Score
from tests.circuits import (
    all_states,
    count_induced_trees,
    induced_trees,
    leaf_probability,
    probability,
    random_circuit,
    random_rows,
)
from tests.engines import every_backend, log_likelihood, open_engine, opened

SEEDS = st.integers(0, 10**6)


@every_backend
@given(seed=SEEDS, variables=st.integers(1, 7), extremes=st.booleans())
def test_probabilities_of_all_states_sum_to_one(
    backend: str, seed: int, variables: int, extremes: bool
) -> None:
    graph = random_circuit(seed, variables=variables, extremes=extremes)
    found = log_likelihood(backend, graph, all_states(graph.graph["columns"]))
    assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-10)


@every_backend
@pytest.mark.parametrize("seed", range(4))
def test_a_circuit_over_twelve_variables_sums_to_one(backend: str, seed: int) -> None:
    graph = random_circuit(seed, variables=12, depth=6, binary_only=True)
    found = log_likelihood(backend, graph, all_states(graph.graph["columns"]))
    assert len(found) == 4096
    assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-10)


@every_backend
@given(seed=SEEDS, extremes=st.booleans(), missing=st.sampled_from([0.0, 0.3]))
def test_log_likelihoods_equal_a_plain_recursion(
    backend: str, seed: int, extremes: bool, missing: float
) -> None:
    graph = random_circuit(seed, variables=6, depth=5, extremes=extremes)
    rows = random_rows(seed, graph.graph["columns"], 20, missing)
    expected = np.array([probability(graph, row) for row in rows])
    assert np.exp(log_likelihood(backend, graph, rows)) == pytest.approx(expected, rel=1e-9)


@every_backend
@given(seed=SEEDS)
def test_the_value_is_the_mixture_of_all_induced_trees(backend: str, seed: int) -> None:
    graph = random_circuit(seed, variables=4, depth=3)
    assume(count_induced_trees(graph) <= 2000)
    rows = random_rows(seed, graph.graph["columns"], 5, 0.2)
    trees = list(induced_trees(graph, find_root(graph)))
    assert sum(weight for weight, _, _ in trees) == pytest.approx(1.0)
    node = graph.nodes
    for row, found in zip(rows, log_likelihood(backend, graph, rows), strict=True):
        mixture = sum(
            weight * np.prod([leaf_probability(node[n]["node"], row) for n in leaves])
            for weight, _, leaves in trees
        )
        assert np.exp(found) == pytest.approx(mixture, rel=1e-9)


@every_backend
@given(seed=SEEDS, data=st.data())
def test_a_marginal_equals_summing_out(backend: str, seed: int, data: st.DataObject) -> None:
    graph = random_circuit(seed, variables=5)
    columns = graph.graph["columns"]
    hidden = data.draw(st.sets(st.integers(0, 4), min_size=1))
    states = all_states(columns)
    joint = np.exp(log_likelihood(backend, graph, states))
    query = states[data.draw(st.integers(0, len(states) - 1))].copy()
    shown = [i for i in range(5) if i not in hidden]
    agrees = (states[:, shown] == query[shown]).all(axis=1)
    query[list(hidden)] = np.nan
    marginal = np.exp(log_likelihood(backend, graph, query[None, :]))[0]
    assert marginal == pytest.approx(joint[agrees].sum(), rel=1e-9)


@every_backend
@given(seed=SEEDS, missing=st.sampled_from([0.0, 0.3]))
def test_expected_counts_are_posterior_counts_of_induced_trees(
    backend: str, seed: int, missing: float
) -> None:
    """Exact on shared nodes: each edge and leaf is counted in every tree that uses it."""
    made = random_circuit(seed, variables=4, depth=3, share=0.6)
    assume(count_induced_trees(made) <= 1000)
    program, parameters = lower(made)
    graph = lift(program, parameters)  # its nodes are called by their numbers in the program
    columns = graph.graph["columns"]
    rows = random_rows(seed, columns, 6, missing)
    weights = np.random.default_rng(seed).random(6) + 0.5
    engine = open_engine(backend, program)
    counts = engine.expected_counts(parameters, engine.load(Table(rows, weights)))

    node = graph.nodes
    edge_counts: dict[tuple[object, object], float] = {}
    leaf_counts: dict[object, np.ndarray] = {}
    trees = list(induced_trees(graph, find_root(graph)))
    for row, row_weight in zip(rows, weights, strict=True):
        shares = [
            w * np.prod([leaf_probability(node[n]["node"], row) for n in leaves])
            for w, _, leaves in trees
        ]
        for (_, edges, leaves), share in zip(trees, shares, strict=True):
            posterior = row_weight * share / sum(shares)
            for edge in edges:
                edge_counts[edge] = edge_counts.get(edge, 0.0) + posterior
            for leaf in leaves:
                variable = node[leaf]["node"].variable
                if not np.isnan(row[variable]):
                    states = np.zeros(columns[variable].states)
                    states[int(row[variable])] = posterior
                    leaf_counts[leaf] = leaf_counts.get(leaf, 0.0) + states

    for segment in program.segments:
        parents = np.repeat(np.arange(segment.first, segment.last), np.diff(segment.starts))
        for slot, edge in enumerate(zip(parents, segment.children, strict=True)):
            if segment.is_sum:
                found = counts.weights[segment.first_slot + slot]
                assert found == pytest.approx(edge_counts.get(edge, 0.0), rel=1e-9, abs=1e-12)
    for leaf_table, found_table in zip(program.leaves, counts.tables, strict=True):
        for offset, found_counts in enumerate(found_table):
            wanted = leaf_counts.get(leaf_table.first + offset, np.zeros(leaf_table.states))
            assert found_counts == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert counts.score.total == pytest.approx(
        float((np.log([probability(graph, r) for r in rows]) * weights).sum())
    )


@every_backend
@pytest.mark.parametrize("seed", range(4))
def test_a_table_without_rows_has_no_counts(backend: str, seed: int) -> None:
    engine, parameters = opened(backend, random_circuit(seed))
    batch = engine.load(Table(np.empty((0, 5))))
    assert engine.log_likelihood(parameters, batch).shape == (0,)
    assert engine.score(parameters, batch) == Score()
    counts = engine.expected_counts(parameters, batch)
    assert counts.score == Score()
    assert counts.weights.shape == parameters.weights.shape
    for found, leaf in zip(counts.tables, engine.program.leaves, strict=True):
        assert found.shape == (len(leaf), leaf.states)
    assert not any(found.any() for found in (counts.weights, *counts.tables))


@every_backend
@given(seed=SEEDS)
def test_a_repeated_row_counts_like_a_weight(backend: str, seed: int) -> None:
    graph = random_circuit(seed)
    rows = random_rows(seed, graph.graph["columns"], 10, 0.1)
    repeated = Table(np.repeat(rows, 3, axis=0))
    engine, parameters = opened(backend, graph)
    one = engine.expected_counts(parameters, engine.load(repeated))
    two = engine.expected_counts(parameters, engine.load(repeated.distinct()))
    assert two.weights == pytest.approx(one.weights, rel=1e-9, abs=1e-12)
    assert two.score.total == pytest.approx(one.score.total)


@every_backend
def test_impossible_rows_are_counted_and_carry_no_flow(backend: str) -> None:
    from spnc.api import read_thing
    from spnc.diagnostics import Sink

    leaf = {"kind": "leaf", "variable": "x", "distribution": "bernoulli"}
    data = {
        "graph": {"variables": ["x"]},
        "nodes": [
            {"id": "s", "kind": "sum"},
            {"id": "a", **leaf, "p": 1.0},
            {"id": "b", **leaf, "p": 1.0},
        ],
        "edges": [
            {"source": "s", "target": "a", "weight": 0.25},
            {"source": "s", "target": "b", "weight": 0.75},
        ],
    }
    graph = read_thing(data, Sink())
    engine, parameters = opened(backend, graph)
    batch = engine.load(Table(np.array([[1.0], [0.0], [1.0]])))
    counts = engine.expected_counts(parameters, batch)
    assert counts.score.impossible == 1
    assert counts.score.possible == 2
    assert counts.score.average == pytest.approx(0.0, abs=1e-12)
    assert counts.weights.sum() == pytest.approx(2.0)
    assert engine.log_likelihood(parameters, batch)[1] == -np.inf


@every_backend
@settings(max_examples=15)
@given(seed=SEEDS)
def test_wide_rows_do_not_underflow(backend: str, seed: int) -> None:
    """1,500 columns: the probability itself is far below the smallest double."""
    rng = np.random.default_rng(seed)
    from spnc.graph.nodes import Builder
    from spnc.leaves.bernoulli import Bernoulli
    from tests.circuits import random_columns

    columns = random_columns(rng, 1500, binary_only=True)
    builder = Builder(columns)
    p = rng.random((2, 1500))
    parts = [
        builder.product([builder.leaf(v, Bernoulli(float(p[k, v]))) for v in range(1500)])
        for k in range(2)
    ]
    builder.sum(parts, [0.3, 0.7])
    rows = random_rows(seed, tuple(columns), 3, 0.1)
    terms = np.where(rows[None] == 1, np.log(p[:, None]), np.log1p(-p[:, None]))
    terms = np.where(np.isnan(rows)[None], 0.0, terms).sum(axis=2)
    expected = np.logaddexp(np.log(0.3) + terms[0], np.log(0.7) + terms[1])
    found = log_likelihood(backend, builder.graph, rows)
    assert found == pytest.approx(expected, rel=1e-9)
    assert (found < -500).all()


@given(seed=SEEDS)
def test_the_reference_gives_the_same_values_whatever_the_chunk(seed: int) -> None:
    graph = random_circuit(seed)
    rows = random_rows(seed, graph.graph["columns"], 50, 0.1)
    small, parameters = opened("numpy", graph, chunk_mb=1e-6)
    large, _ = opened("numpy", graph)
    assert small.chunk_rows == 1  # type: ignore[attr-defined]
    one = small.log_likelihood(parameters, Table(rows))
    assert (one == large.log_likelihood(parameters, Table(rows))).all()
    a = small.expected_counts(parameters, Table(rows))
    b = large.expected_counts(parameters, Table(rows))
    assert a.weights == pytest.approx(b.weights, rel=1e-12, abs=1e-12)


def test_the_reference_needs_no_more_memory_for_more_rows() -> None:
    import tracemalloc

    graph = random_circuit(4, variables=12, depth=7, binary_only=True)
    engine, parameters = opened("numpy", graph, chunk_mb=1.0)
    peaks = []
    for rows in (5_000, 50_000):
        table = Table(random_rows(1, graph.graph["columns"], rows, 0.0))
        tracemalloc.start()
        engine.expected_counts(parameters, table)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    per_row = 45_000 * 8 * 4  # log-likelihoods and their weighted sum: a few numbers a row
    assert peaks[1] < peaks[0] + per_row
