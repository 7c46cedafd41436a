"""The circuit on the page about a run: shares, parts and links, against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spnc.data.dataset import Column, Table
from spnc.forest import crown
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.indicator import Indicator
from spnc.lift import lift
from spnc.model import Model
from spnc.queries.flows import edge_flows
from spnc.report.facts.circuit import Circuit, circuit_facts
from tests.circuits import (
    _Grower,
    count_induced_trees,
    hidden_tree,
    induced_trees,
    leaf_probability,
    probability,
    random_circuit,
    random_columns,
    random_rows,
)
from tests.forests import small_forest
from tests.pages import opened

Floats = NDArray[np.float64]


def facts_of(model: Model, rows: Table, **more: object) -> Circuit:
    counts = model.engine.expected_counts(model.parameters, model.engine.load(rows))
    return circuit_facts(model.program, model.parameters, counts, **more)  # type: ignore[arg-type]


def branch_probabilities(model: Model, rows: Floats) -> tuple[list[int], Floats, Floats]:
    """The children of the topmost sum, their weights, and what each gives each row."""
    graph = lift(model.program, model.parameters)
    root = model.program.root
    children = list(graph.succ[root])
    weights = np.array([graph.edges[root, c]["weight"] for c in children])
    found = []
    for child in children:
        graph.graph["root"] = child
        found.append([probability(graph, row) for row in rows])
    return children, weights, np.array(found)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), components=st.integers(2, 4))
def test_shares_of_the_flow_are_the_responsibilities_of_the_parts(
    seed: int, components: int
) -> None:
    forest, dataset = small_forest(seed, components)
    model = opened(crown(forest))
    found = facts_of(model, dataset.train, components=components, draws_links=False)
    _, weights, values = branch_probabilities(model, dataset.train.values)
    responsible = weights[:, None] * values
    shares = (responsible / responsible.sum(axis=0)).mean(axis=1)
    np.testing.assert_allclose([p.share for p in found.parts], sorted(shares)[::-1], rtol=1e-9)
    assert sum(p.share or 0.0 for p in found.parts) == pytest.approx(1.0)
    assert sum(p.weight for p in found.parts) == pytest.approx(1.0)


@settings(max_examples=60)
@given(seed=st.integers(0, 100_000))
def test_what_two_parts_share_explains_the_cells_that_enumeration_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, 3)
    grower = _Grower(rng, columns, 0.6, False)
    whole = frozenset(range(3))
    first, second = (grower._new(whole, 3) for _ in range(2))
    root = grower.builder.sum([first, second], [0.4, 0.6])
    graph = grower.builder.graph
    graph.graph["root"] = root
    graph.remove_nodes_from(set(graph) - reachable(graph, root))
    assume(count_induced_trees(graph) < 300)
    rows = random_rows(seed, tuple(columns), 5, 0.0)
    model = opened(graph)
    found = facts_of(model, Table(rows), components=None)
    assert len(found.parts) == 2

    below = [reachable(graph, child) for child in (first, second)]
    expected = np.zeros(2)
    shares = np.zeros(2)
    for row in rows:
        total = probability(graph, row)
        for i, (child, weight) in enumerate(zip((first, second), (0.4, 0.6), strict=True)):
            for chance, _, leaves in induced_trees(graph, child):
                values = [leaf_probability(graph.nodes[n]["node"], row) for n in leaves]
                posterior = weight * chance * math.prod(values) / total
                shares[i] += posterior / len(rows)
                common = sum(n in below[1 - i] for n in leaves)
                expected[i] += posterior * common / (len(rows) * len(columns))
    order = np.argsort(-shares, kind="stable")
    if abs(shares[0] - shares[1]) < 1e-9:
        return  # which of the two comes first is a matter of rounding
    i, j = 0, 1
    np.testing.assert_allclose(
        [found.linked[i, j], found.linked[j, i]], expected[order], atol=1e-12
    )
    for part, own in zip(found.parts, order, strict=True):
        mine, other = below[own], below[1 - own]
        assert part.own_nodes == len(mine - other)
        assert part.shared_nodes == len(mine & other)


def reachable(graph: Graph, root: int) -> set[int]:
    found, waiting = {root}, [root]
    while waiting:
        for child in graph.succ[waiting.pop()]:
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


@given(seed=st.integers(0, 10_000))
def test_all_that_flows_into_a_node_flows_out_of_it(seed: int) -> None:
    graph = random_circuit(seed, variables=4)
    model = opened(graph)
    rows = Table(random_rows(seed, model.columns, 9, 0.1))
    counts = model.engine.expected_counts(model.parameters, model.engine.load(rows))
    parents, children, flows = edge_flows(model.program, counts)
    came = np.bincount(children, weights=flows, minlength=model.program.nodes)
    came[model.program.root] = counts.score.possible
    for segment in model.program.segments:
        for n in range(segment.first, segment.last):
            left = flows[parents == n]
            out = left.sum() if segment.is_sum else left.max()
            assert out == pytest.approx(came[n], abs=1e-9)


def test_components_that_were_merged_into_the_top_are_known_by_what_their_branches_share() -> None:
    columns = [Column(f"x{i}") for i in range(5)]
    builder = Builder(columns)
    roots = []
    for seed in (1, 2, 3):
        other = hidden_tree(columns, 3, seed)
        start = len(builder.graph)
        edges = [(a, b, d.get("weight")) for a, b, d in other.edges(data=True)]
        builder.extend([other.nodes[n]["node"] for n in other], edges)
        roots.append(start + other.graph["root"])
    builder.graph.graph["root"] = builder.sum(roots, [0.2, 0.3, 0.5])
    model = opened(builder.graph).finished()
    found = circuit_facts(model.program, model.parameters, None, 3, False)
    assert found.are_components
    assert [p.branches for p in found.parts] == [3, 3, 3]
    assert [p.weight for p in found.parts] == pytest.approx([0.5, 0.3, 0.2])
    assert found.links.sum() == 0
    assert all(p.share is None for p in found.parts)
    linked = circuit_facts(model.program, model.parameters, None, 3, True)
    assert not linked.are_components  # links too make branches share: nothing is known then
    assert len(linked.parts) == 9


def test_a_branch_that_another_uses_whole_hands_all_of_its_cells_over() -> None:
    builder = Builder([Column("a"), Column("b")])
    first, other = (
        builder.product([builder.leaf(v, Bernoulli(p)) for v in range(2)]) for p in (0.2, 0.7)
    )
    second = builder.sum([first, other], [0.5, 0.5])
    builder.graph.graph["root"] = builder.sum([first, second], [0.75, 0.25])
    model = opened(builder.graph)
    found = facts_of(model, Table(np.array([[0.0, 0.0]])))
    flows = np.array([0.75 * 0.64, 0.25 * 0.5 * 0.64, 0.25 * 0.5 * 0.09])
    flows /= flows.sum()
    assert [p.share for p in found.parts] == pytest.approx([flows[0], flows[1] + flows[2]])
    assert found.links.tolist() == [[0, 1], [1, 0]]
    np.testing.assert_allclose(found.linked, [[0, flows[0]], [flows[1], 0]])


def test_leaves_that_nothing_is_learned_about_are_no_links() -> None:
    builder = Builder([Column("a"), Column("b")])
    same = builder.leaf(0, Indicator(1.0))
    products = [builder.product([same, builder.leaf(1, Bernoulli(p))]) for p in (0.2, 0.7)]
    builder.graph.graph["root"] = builder.sum(products, [0.5, 0.5])
    model = opened(builder.graph)
    assert circuit_facts(model.program, model.parameters).links.sum() == 0


def test_a_circuit_without_a_sum_on_top_has_no_parts() -> None:
    builder = Builder([Column("a"), Column("b")])
    builder.graph.graph["root"] = builder.product(
        [builder.leaf(v, Bernoulli(0.5)) for v in range(2)]
    )
    model = opened(builder.graph)
    found = circuit_facts(model.program, model.parameters, None, 1, False)
    assert (found.top, found.parts) == ("product", [])
