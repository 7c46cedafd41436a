"""Values of single nodes, and flows through them, against the plainest way to compute them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spnc.backends import Engine
from spnc.backends.numba import NumbaBackend
from spnc.backends.numpy import NumpyBackend, NumpyEngine
from spnc.common.column_sets import members
from spnc.data.table import Table
from spnc.graph.nodes import Builder, Graph, find_root
from spnc.leaves.bernoulli import Bernoulli
from spnc.program.lift import lift
from spnc.program.lower import lower, lower_with_numbers
from spnc.program.program import Program
from spnc.residuals import Residual
from spnc.residuals.best_gain import BestGain
from spnc.residuals.informed import Informed
from tests.circuits import (
    count_induced_trees,
    induced_trees,
    leaf_probability,
    probability,
    random_circuit,
    random_columns,
    random_rows,
)
from tests.engines import WAYS, every_backend, marked, open_engine
from tests.forests import linking, small_forest

SEEDS = st.integers(0, 10**6)


@every_backend
@settings(max_examples=25)
@given(seed=SEEDS, missing=st.sampled_from([0.0, 0.2]))
def test_ratios_of_nodes_over_the_same_columns_compare_as_probabilities_do(
    backend: str, seed: int, missing: float
) -> None:
    graph = random_circuit(seed, variables=5, depth=5, share=0.5, extremes=True)
    rows = random_rows(seed, graph.graph["columns"], 37, missing)
    program, parameters, number = lower_with_numbers(graph)
    names = list(graph)
    nodes = np.array([number[n] for n in names])
    found = open_engine(backend, program).node_values(parameters, Table(rows), nodes)
    scope = program.scopes()
    reference = np.ones(rows.shape)  # what the ratios are to, column by column
    for v, column in enumerate(program.columns):
        counts = np.array([(rows[:, v] == s).sum() + 1.0 for s in range(column.states)])
        known = ~np.isnan(rows[:, v])
        reference[known, v] = (counts / counts.sum())[rows[known, v].astype(int)]
    for i, n in enumerate(names):
        graph.graph["root"] = n
        expected = np.array([probability(graph, row) for row in rows])
        base = reference[:, members(scope[number[n]])].prod(axis=1)
        np.testing.assert_allclose(found[i] * base, expected, rtol=1e-9)


def nodes_of_tree(graph: Graph, chosen: dict[int, int]) -> list[int]:
    """The nodes of an induced tree: one child of each sum, all children of each product."""
    found, waiting = [], [find_root(graph)]
    while waiting:
        n = waiting.pop()
        found.append(n)
        waiting += [chosen[n]] if n in chosen else graph.successors(n)
    return found


@every_backend
@settings(max_examples=25)
@given(seed=SEEDS, missing=st.sampled_from([0.0, 0.3]))
def test_flows_are_posterior_shares_of_induced_trees(
    backend: str, seed: int, missing: float
) -> None:
    """A node's flow is the probability, given the row, of a tree that it is part of."""
    made = random_circuit(seed, variables=4, depth=3, share=0.6)
    assume(count_induced_trees(made) <= 1000)
    program, parameters = lower(made)
    graph = lift(program, parameters)  # its nodes are called by their numbers in the program
    rows = random_rows(seed, graph.graph["columns"], 6, missing)
    weights = np.random.default_rng(seed).random(6) + 0.5
    nodes = np.arange(program.nodes)
    engine = open_engine(backend, program)
    values, flows = engine.node_values_and_flows(parameters, Table(rows, weights), nodes)

    expected = np.zeros((program.nodes, len(rows)))
    trees = list(induced_trees(graph, find_root(graph)))
    for r, row in enumerate(rows):
        shares = [
            weight * np.prod([leaf_probability(graph.nodes[n]["node"], row) for n in leaves])
            for weight, _, leaves in trees
        ]
        for (_, edges, _), share in zip(trees, shares, strict=True):
            expected[nodes_of_tree(graph, dict(edges)), r] += weights[r] * share / sum(shares)
    np.testing.assert_allclose(flows, expected, rtol=1e-9, atol=1e-12)
    alone = engine.node_values(parameters, Table(rows, weights), nodes)
    assert alone.tobytes() == values.tobytes()


@settings(max_examples=40)
@given(seed=SEEDS)
def test_flows_through_nodes_add_up_to_the_expected_counts(seed: int) -> None:
    graph = random_circuit(seed, variables=6, depth=5, share=0.5, extremes=True)
    rng = np.random.default_rng(seed)
    table = Table(random_rows(seed, graph.graph["columns"], 50, 0.1), rng.random(50))
    program, parameters = lower(graph)
    sums = [n for s in program.segments if s.is_sum for n in range(s.first, s.last)]
    if not sums:
        return
    engine = NumbaBackend(threads=1).open(program)
    values, flows = engine.node_values_and_flows(parameters, table, np.array(sums))
    counts = NumpyBackend().open(program).expected_counts(parameters, table)
    expected = np.add.reduceat(counts.weights, program.weight_starts[:-1])
    np.testing.assert_allclose(flows.sum(axis=1), expected, rtol=1e-9, atol=1e-12)
    assert (flows[values == 0.0] == 0.0).all()


@pytest.mark.parametrize("other", [marked(way) for way in WAYS if way != "numpy"])
@settings(max_examples=25)
@given(seed=SEEDS)
def test_backends_agree_on_larger_circuits(other: str, seed: int) -> None:
    graph = random_circuit(seed, variables=9, depth=6, share=0.4, extremes=True)
    rng = np.random.default_rng(seed)
    table = Table(random_rows(seed, graph.graph["columns"], 200, 0.1), rng.random(200))
    program, parameters = lower(graph)
    nodes = rng.permutation(program.nodes)
    expected, found = (
        open_engine(way, program).node_values_and_flows(parameters, table, nodes)
        for way in ("numpy", other)
    )
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("threads", [2, 5])
def test_the_number_of_threads_does_not_change_a_bit(threads: int) -> None:
    graph = random_circuit(3, variables=6, depth=6, share=0.5)
    table = Table(random_rows(3, graph.graph["columns"], 333, 0.1))
    program, parameters = lower(graph)
    nodes = np.arange(program.nodes)

    def computed(engine: Engine) -> list[bytes]:
        return [a.tobytes() for a in engine.node_values_and_flows(parameters, table, nodes)]

    one, more = (NumbaBackend(threads=t).open(program) for t in (1, threads))
    assert computed(one) == computed(more)


def test_the_definition_takes_rows_in_chunks() -> None:
    graph = random_circuit(3, variables=6, depth=6, share=0.5)
    table = Table(random_rows(3, graph.graph["columns"], 50, 0.1))
    program, parameters = lower(graph)
    nodes = np.arange(program.nodes)
    small = NumpyBackend(chunk_mb=1e-6).open(program)
    assert small.chunk_rows == 1
    one = small.node_values_and_flows(parameters, table, nodes)
    other = NumpyBackend().open(program).node_values_and_flows(parameters, table, nodes)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@every_backend
def test_a_table_without_rows_has_no_values(backend: str) -> None:
    program, parameters = lower(random_circuit(1))
    nodes = np.arange(program.nodes)
    table = Table(np.empty((0, len(program.columns))))
    for found in open_engine(backend, program).node_values_and_flows(parameters, table, nodes):
        assert found.shape == (program.nodes, 0)


@every_backend
def test_wide_scopes_do_not_underflow(backend: str) -> None:
    """1,500 columns: the probability of a row is far below the smallest double, no ratio is."""
    rng = np.random.default_rng(0)
    builder = Builder(random_columns(rng, 1500, binary_only=True))
    chances = rng.uniform(0.45, 0.55, (2, 1500))
    parts = [
        builder.product([builder.leaf(v, Bernoulli(float(p))) for v, p in enumerate(own)])
        for own in chances
    ]
    builder.sum(parts, [0.3, 0.7])
    program, parameters, number = lower_with_numbers(builder.graph)
    table = Table(random_rows(0, builder.graph.graph["columns"], 400, 0.0))
    nodes = np.array([number[n] for n in parts])
    found = open_engine(backend, program).node_values(parameters, table, nodes)
    ones = table.values == 1.0
    logs = [np.where(ones, np.log(p), np.log1p(-p)).sum(axis=1) for p in chances]
    assert (np.array(logs) < -900).all()
    assert ((found > 0.0) & (found < np.inf)).all()
    np.testing.assert_allclose(np.log(found[0] / found[1]), logs[0] - logs[1], rtol=1e-9)


@dataclass(frozen=True, kw_only=True)
class CountingBackend(NumpyBackend):
    """The NumPy backend, and how often it was opened."""

    opened: list[Program] = field(default_factory=list)

    def open(self, program: Program) -> NumpyEngine:
        self.opened.append(program)
        return super().open(program)


@pytest.mark.parametrize("strategy", [Informed(ratio=0.3), BestGain(ratio=0.3, warm_up=0)])
def test_links_are_judged_on_the_backend_of_the_task(strategy: Residual) -> None:
    linked = []
    for backend in (CountingBackend(), NumbaBackend(threads=1), NumbaBackend(threads=2)):
        forest, dataset = small_forest(1)
        linked.append(strategy.link(replace(linking(forest, dataset), backend=backend)))
        assert not isinstance(backend, CountingBackend) or backend.opened
    sizes = {(len(f.builder.graph), f.builder.graph.number_of_edges()) for f in linked}
    assert len(sizes) == 1
