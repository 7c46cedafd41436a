"""Values of single nodes, and flows through them, against the plainest way to compute them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.backends.numba.node_values import NodeValues
from spnc.backends.numpy import NumpyBackend
from spnc.common.column_sets import members
from spnc.data.dataset import Table
from spnc.program.lower import lower_with_numbers
from tests.circuits import probability, random_circuit, random_rows


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), missing=st.sampled_from([0.0, 0.2]))
def test_ratios_of_nodes_over_the_same_columns_compare_as_probabilities_do(
    seed: int, missing: float
) -> None:
    graph = random_circuit(seed, variables=5, depth=5, share=0.5, extremes=True)
    rows = random_rows(seed, graph.graph["columns"], 37, missing)
    program, parameters, number = lower_with_numbers(graph)
    names = list(graph)
    found = NodeValues(Table(rows), threads=2).of(
        program, parameters, np.array([number[n] for n in names])
    )
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


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_flows_through_nodes_add_up_to_the_expected_counts(seed: int) -> None:
    graph = random_circuit(seed, variables=6, depth=5, share=0.5, extremes=True)
    rng = np.random.default_rng(seed)
    table = Table(random_rows(seed, graph.graph["columns"], 50, 0.1), rng.random(50))
    program, parameters, _ = lower_with_numbers(graph)
    sums = [n for s in program.segments if s.is_sum for n in range(s.first, s.last)]
    if not sums:
        return
    rows = NodeValues(table, threads=1)
    values, flows = rows.with_flows(program, parameters, np.array(sums))
    counts = NumpyBackend().open(program).expected_counts(parameters, table)
    expected = np.add.reduceat(counts.weights, program.weight_starts[:-1])
    np.testing.assert_allclose(flows.sum(axis=1), expected, rtol=1e-9, atol=1e-12)
    assert (flows[values == 0.0] == 0.0).all()


@pytest.mark.parametrize("threads", [2, 5])
def test_the_number_of_threads_does_not_change_a_bit(threads: int) -> None:
    graph = random_circuit(3, variables=6, depth=6, share=0.5)
    table = Table(random_rows(3, graph.graph["columns"], 333, 0.1))
    program, parameters, _ = lower_with_numbers(graph)
    nodes = np.arange(program.nodes)
    one = NodeValues(table, 1).with_flows(program, parameters, nodes)
    more = NodeValues(table, threads).with_flows(program, parameters, nodes)
    for a, b in zip(one, more, strict=True):
        assert a.tobytes() == b.tobytes()
