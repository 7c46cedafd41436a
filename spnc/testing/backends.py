"""What spnc relies on in a backend: every value, compared with enumeration in plain Python."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from spnc.backends import Backend
from spnc.common.arrays import Floats
from spnc.data.table import Table
from spnc.graph.nodes import Graph, find_root
from spnc.program.lift import lift
from spnc.program.lower import lower, lower_with_numbers
from spnc.testing.backend_rows import (
    OpenEngine,
    a_row_without_known_cells_is_certain,
    a_single_leaf_is_a_circuit,
    a_table_without_rows_has_no_counts,
    impossible_rows_are_counted_and_carry_no_flow,
    log_likelihood,
    opened,
    rows_do_not_depend_on_how_many_there_are,
    wide_rows_do_not_underflow,
)
from spnc.testing.circuits import (
    all_states,
    count_induced_trees,
    induced_trees,
    leaf_probability,
    probability,
    random_circuit,
    random_rows,
)
from spnc.testing.promises import FEW, Promise, expect, expect_close, hold

_NODE_SEEDS = 10  # of circuits whose every node is computed in plain Python
_WIDE_SEEDS = 10  # of circuits with 4,000 leaves
_MIXED = 0.5  # share of numeric columns in half of the circuits
_MOST_TREES = 1_000  # induced trees that a circuit may have to be enumerated


def check_backend(backend: Backend, *, seeds: int | None = None) -> None:
    """Check a backend; raise AssertionError if a promise is broken.

    `seeds` limits how many random circuits each promise is checked on.
    """
    trouble = backend.why_not()
    expect(trouble is None, f"the backend cannot run here: {trouble.message if trouble else ''}")
    hold(BACKEND_PROMISES, backend.open, f"backend `{backend.plugin_name}`", seeds)


def _enumerable(seed: int, **options: Any) -> Graph:
    """A random circuit with few enough induced trees."""
    while True:
        graph = random_circuit(seed, variables=4, depth=3, **options)
        if count_induced_trees(graph) <= _MOST_TREES:
            return graph
        seed += 1_000_003


def probabilities_of_all_states_sum_to_one(open_engine: OpenEngine, seed: int) -> None:
    """A circuit is a distribution."""
    rng = np.random.default_rng(seed)
    variables, extremes = int(rng.integers(1, 8)), bool(rng.integers(2))
    graph = random_circuit(seed, variables=variables, extremes=extremes)
    found = log_likelihood(open_engine, graph, all_states(graph.graph["columns"]))
    expect_close(np.exp(found).sum(), 1.0, "the sum over all rows", rel=0.0, abs=1e-10)


def a_circuit_over_twelve_variables_sums_to_one(open_engine: OpenEngine, seed: int) -> None:
    """A circuit of some size is a distribution too."""
    graph = random_circuit(seed, variables=12, depth=6, binary_only=True)
    found = log_likelihood(open_engine, graph, all_states(graph.graph["columns"]))
    expect(len(found) == 4096, f"{len(found)} values for 4096 rows")
    expect_close(np.exp(found).sum(), 1.0, "the sum over all rows", rel=0.0, abs=1e-10)


def log_likelihoods_equal_a_plain_recursion(open_engine: OpenEngine, seed: int) -> None:
    """Sums, products and leaves mean what they say, with and without missing cells."""
    rng = np.random.default_rng(seed)
    extremes, missing = bool(rng.integers(2)), float(rng.choice([0.0, 0.3]))
    numeric = float(rng.choice([0.0, 0.5, 1.0]))
    graph = random_circuit(seed, variables=6, depth=5, extremes=extremes, numeric=numeric)
    rows = random_rows(seed, graph.graph["columns"], 20, missing)
    wanted = np.array([probability(graph, row) for row in rows])
    found = np.exp(log_likelihood(open_engine, graph, rows))
    expect_close(found, wanted, "the probabilities", rel=1e-9)


def the_value_is_the_mixture_of_all_induced_trees(open_engine: OpenEngine, seed: int) -> None:
    """A circuit is a mixture with a component for every way of choosing children of sums."""
    graph = _enumerable(seed, numeric=_MIXED * (seed % 2))
    rows = random_rows(seed, graph.graph["columns"], 5, 0.2)
    trees = list(induced_trees(graph, find_root(graph)))
    expect_close(sum(weight for weight, _, _ in trees), 1.0, "the weights of all trees")
    node = graph.nodes
    wanted = [
        sum(
            weight * float(np.prod([leaf_probability(node[n]["node"], row) for n in leaves]))
            for weight, _, leaves in trees
        )
        for row in rows
    ]
    found = np.exp(log_likelihood(open_engine, graph, rows))
    expect_close(found, wanted, "the probabilities", rel=1e-9)


def a_marginal_equals_summing_out(open_engine: OpenEngine, seed: int) -> None:
    """A row with missing cells has the probability of all rows that it stands for."""
    rng = np.random.default_rng(seed)
    graph = random_circuit(seed, variables=5)
    columns = graph.graph["columns"]
    hidden = rng.permutation(5)[: rng.integers(1, 6)].tolist()
    states = all_states(columns)
    joint = np.exp(log_likelihood(open_engine, graph, states))
    query = states[rng.integers(len(states))].copy()
    shown = [i for i in range(5) if i not in hidden]
    agrees = (states[:, shown] == query[shown]).all(axis=1)
    query[hidden] = np.nan
    found = np.exp(log_likelihood(open_engine, graph, query[None, :]))[0]
    expect_close(found, joint[agrees].sum(), "the marginal", rel=1e-9)


def expected_counts_are_posterior_counts_of_induced_trees(
    open_engine: OpenEngine, seed: int
) -> None:
    """Exact on shared nodes: each edge and leaf is counted in every tree that uses it."""
    rng = np.random.default_rng(seed)
    program, parameters = lower(_enumerable(seed, share=0.6, numeric=_MIXED * (seed % 2)))
    graph = lift(program, parameters)  # its nodes are called by their numbers in the program
    columns = graph.graph["columns"]
    rows = random_rows(seed, columns, 6, float(rng.choice([0.0, 0.3])))
    weights = rng.random(6) + 0.5
    engine = open_engine(program)
    counts = engine.expected_counts(parameters, engine.load(Table(rows, weights)))

    edge_counts, leaf_flows = _posterior_counts(graph, rows, weights)
    for segment in program.segments:
        if segment.is_sum:
            parents = np.repeat(np.arange(segment.first, segment.last), np.diff(segment.starts))
            edges = zip(parents.tolist(), segment.children.tolist(), strict=True)
            wanted = np.array([edge_counts.get(edge, 0.0) for edge in edges])
            found = counts.weights[segment.first_slot : segment.first_slot + len(wanted)]
            expect_close(found, wanted, "the counts of weights", rel=1e-9)
    tables = zip(program.leaves, parameters.tables, counts.tables, strict=True)
    for leaf, current, found_table in tables:
        flows = np.array([leaf_flows[n] for n in range(leaf.first, leaf.last)])
        cells = rows.T[leaf.variables]
        if leaf.kind.is_finite:
            every = [
                [(f[x == s]).sum() for s in range(leaf.states)]
                for f, x in zip(flows, cells, strict=True)
            ]
            wanted = np.array(every)
        else:
            wanted = leaf.kind.statistics(cells, flows, current, leaf.columns)
        expect_close(found_table, wanted, "the statistics of leaves", rel=1e-9, abs=1e-9)
    total = float((np.log([probability(graph, row) for row in rows]) * weights).sum())
    expect_close(counts.score.total, total, "the summed log-likelihood")


def _posterior_counts(
    graph: Graph, rows: Floats, weights: Floats
) -> tuple[dict[tuple[Hashable, Hashable], float], dict[Hashable, Floats]]:
    """Expected counts of edges, and flows of leaves by row, by enumerating induced trees."""
    node = graph.nodes
    edge_counts: dict[tuple[Hashable, Hashable], float] = {}
    leaf_flows: dict[Hashable, Floats] = {n: np.zeros(len(rows)) for n in graph}
    trees = list(induced_trees(graph, find_root(graph)))
    for number, (row, row_weight) in enumerate(zip(rows, weights, strict=True)):
        shares = [
            w * float(np.prod([leaf_probability(node[n]["node"], row) for n in leaves]))
            for w, _, leaves in trees
        ]
        for (_, edges, leaves), share in zip(trees, shares, strict=True):
            posterior = row_weight * share / sum(shares)
            for edge in edges:
                edge_counts[edge] = edge_counts.get(edge, 0.0) + posterior
            for leaf in leaves:
                leaf_flows[leaf][number] += posterior
    return edge_counts, leaf_flows


def values_of_nodes_compare_as_probabilities_do(open_engine: OpenEngine, seed: int) -> None:
    """Nodes over the same columns have values in the ratio of their probabilities."""
    numeric = _MIXED * (seed % 2)
    graph = random_circuit(seed, variables=5, depth=4, share=0.5, numeric=numeric)
    rows = random_rows(seed, graph.graph["columns"], 12, 0.2)
    program, parameters, number = lower_with_numbers(graph)
    names = list(graph)
    nodes = np.array([number[n] for n in names])
    values = open_engine(program).node_values(parameters, Table(rows), nodes)
    first: dict[int, int] = {}  # the first node of every scope
    scope = program.scopes()
    wanted = [_probabilities_below(graph, n, rows) for n in names]
    for i, node in enumerate(nodes.tolist()):
        j = first.setdefault(scope[node], i)
        expect_close(values[i] * wanted[j], values[j] * wanted[i], "the ratio of values", rel=1e-9)


def _probabilities_below(graph: Graph, node: Hashable, rows: Floats) -> Floats:
    part = graph.copy()
    part.graph = {**graph.graph, "root": node}
    return np.array([probability(part, row) for row in rows])


def flows_through_leaves_add_up_to_their_counts(open_engine: OpenEngine, seed: int) -> None:
    """`node_flows` and `expected_counts` agree."""
    rng = np.random.default_rng(seed)
    numeric = _MIXED * (seed % 2)
    circuit = random_circuit(seed, variables=5, depth=4, share=0.5, numeric=numeric)
    program, parameters = lower(circuit)
    table = Table(random_rows(seed, program.columns, 12, 0.2), rng.random(12) + 0.5)
    engine = open_engine(program)
    counts = engine.expected_counts(parameters, engine.load(table))
    tables = zip(program.leaves, parameters.tables, counts.tables, strict=True)
    for leaf, current, own in tables:
        nodes = np.arange(leaf.first, leaf.last)
        flows = engine.node_flows(parameters, table, nodes)
        wanted = leaf.kind.statistics(table.values.T[leaf.variables], flows, current, leaf.columns)
        expect_close(own, wanted, "the statistics of leaves", rel=1e-9, abs=1e-9)


def a_repeated_row_counts_like_a_weight(open_engine: OpenEngine, seed: int) -> None:
    """Equal rows may be computed once, with a weight."""
    graph = random_circuit(seed, numeric=_MIXED * (seed % 2))
    rows = random_rows(seed, graph.graph["columns"], 10, 0.1)
    repeated = Table(np.repeat(rows, 3, axis=0))
    engine, parameters = opened(open_engine, graph)
    one = engine.expected_counts(parameters, engine.load(repeated))
    two = engine.expected_counts(parameters, engine.load(repeated.distinct()))
    expect_close(two.weights, one.weights, "the counts of weights", rel=1e-9)
    expect_close(two.score.total, one.score.total, "the summed log-likelihood")


BACKEND_PROMISES = (
    Promise(probabilities_of_all_states_sum_to_one),
    Promise(a_circuit_over_twelve_variables_sums_to_one, FEW),
    Promise(log_likelihoods_equal_a_plain_recursion),
    Promise(rows_do_not_depend_on_how_many_there_are),
    Promise(a_single_leaf_is_a_circuit, FEW),
    Promise(the_value_is_the_mixture_of_all_induced_trees),
    Promise(a_marginal_equals_summing_out),
    Promise(expected_counts_are_posterior_counts_of_induced_trees),
    Promise(values_of_nodes_compare_as_probabilities_do, _NODE_SEEDS),
    Promise(flows_through_leaves_add_up_to_their_counts, _NODE_SEEDS),
    Promise(a_row_without_known_cells_is_certain),
    Promise(a_table_without_rows_has_no_counts, FEW),
    Promise(a_repeated_row_counts_like_a_weight),
    Promise(impossible_rows_are_counted_and_carry_no_flow, FEW),
    Promise(wide_rows_do_not_underflow, _WIDE_SEEDS),
)
