"""Lowering copes with deep and wide circuits, and numbers children before parents."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.columns import Column
from spnc.graph.nodes import Builder, Graph, Sum, children_first
from spnc.graph.scopes import scopes
from spnc.leaves.bernoulli import Bernoulli
from spnc.program.lower import lower, lower_with_numbers
from spnc.program.validity import program_problems
from tests.circuits import random_circuit
from tests.engines import log_likelihood


@given(seed=st.integers(0, 10**6))
def test_a_lowered_program_is_well_formed(seed: int) -> None:
    graph = random_circuit(seed, variables=6, depth=5)
    program, parameters = lower(graph)
    assert list(program_problems(program, parameters)) == []
    assert program.nodes == graph.number_of_nodes()
    assert program.edges == graph.number_of_edges()
    facts = program.facts()
    assert facts["sums"] + facts["products"] + facts["leaves"] == facts["nodes"]


@given(seed=st.integers(0, 10**6))
def test_every_node_of_the_graph_has_its_number_in_the_program(seed: int) -> None:
    graph = random_circuit(seed, variables=6, depth=5)
    program, _, number = lower_with_numbers(graph)
    assert sorted(number.values()) == list(range(program.nodes))
    assert number[graph.graph["root"]] == program.root
    below, scope = program.scopes(), scopes(graph, children_first(graph))
    assert all(below[number[n]] == scope[n] for n in graph)
    for segment in program.segments:
        for n, (start, stop) in enumerate(pairwise(segment.starts), segment.first):
            (name,) = (m for m in graph if number[m] == n)
            assert [number[c] for c in graph.succ[name]] == segment.children[start:stop].tolist()
            assert isinstance(graph.nodes[name]["node"], Sum) == segment.is_sum


def chain(levels: int) -> Graph:
    """Alternating sums and products, each over one column more."""
    builder = Builder([Column(f"x{i}") for i in range(levels)])
    top = builder.leaf(0, Bernoulli(0.5))
    for v in range(1, levels):
        parts = [builder.product([top, builder.leaf(v, Bernoulli(p))]) for p in (0.2, 0.7)]
        top = builder.sum(parts, [0.4, 0.6])
    return builder.graph


def test_three_hundred_levels() -> None:
    graph = chain(151)
    program, _ = lower(graph)
    assert program.layers == 301
    ones = np.ones((2, 151))
    found = log_likelihood("numpy", graph, ones)
    assert found == pytest.approx(np.log(0.5) + 150 * np.log(0.4 * 0.2 + 0.6 * 0.7))


def test_two_thousand_levels_need_no_recursion() -> None:
    graph = chain(1001)
    assert lower(graph)[0].layers == 2001


def test_a_sum_of_twenty_thousand_parts_is_one_segment() -> None:
    builder = Builder([Column("x")])
    leaves = [builder.leaf(0, Bernoulli(i / 20_000)) for i in range(20_000)]
    builder.sum(leaves, [1 / 20_000] * 20_000)
    program, _ = lower(builder.graph)
    assert len(program.segments) == 1
    found = log_likelihood("numpy", builder.graph, np.array([[1.0]]))
    assert np.exp(found[0]) == pytest.approx(np.mean(np.arange(20_000) / 20_000))


def test_a_single_leaf_is_a_circuit() -> None:
    builder = Builder([Column("x")])
    builder.leaf(0, Bernoulli(0.25))
    found = log_likelihood("numpy", builder.graph, np.array([[1.0], [0.0], [np.nan]]))
    assert np.exp(found) == pytest.approx([0.25, 0.75, 1.0])
