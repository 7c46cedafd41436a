"""Facts about the circuit: shares, parts and links, compared with enumeration."""

from __future__ import annotations

import math
import re
import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.forest.grow import add_top_sum
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.indicator import Indicator
from spnc.model import Model
from spnc.program.lift import lift
from spnc.queries.flows import edge_flows
from spnc.reports.facts.circuit import CircuitFacts, circuit_facts
from spnc.reports.page import circuit
from spnc.reports.page.html import Html, joined
from tests.circuits import (
    CircuitGrower,
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


def facts_of(model: Model, rows: Table, **more: object) -> CircuitFacts:
    counts = model.engine.expected_counts(model.parameters, model.engine.load(rows))
    return circuit_facts(model.program, model.parameters, counts, **more)  # type: ignore[arg-type]


def edges_shared(found: CircuitFacts) -> int:
    assert found.sharing is not None
    return found.sharing.edges


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
    model = opened(add_top_sum(forest))
    found = facts_of(model, dataset.train, components=components, draws_links=False)
    _, weights, values = branch_probabilities(model, dataset.train.values)
    responsible = weights[:, None] * values
    shares = (responsible / responsible.sum(axis=0)).mean(axis=1)
    np.testing.assert_allclose([p.share for p in found.parts], sorted(shares)[::-1], rtol=1e-9)
    assert sum(p.share or 0.0 for p in found.parts) == pytest.approx(1.0)
    assert sum(p.weight for p in found.parts) == pytest.approx(1.0)


@settings(max_examples=60)
@given(seed=st.integers(0, 100_000), number=st.integers(2, 3))
def test_what_parts_share_explains_the_cells_that_enumeration_says(seed: int, number: int) -> None:
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, 3)
    grower = CircuitGrower(rng, columns, 0.6, False)
    tops = [grower._new(frozenset(range(3)), 3) for _ in range(number)]
    assume(len(set(tops)) == number)
    weights = rng.dirichlet([1.0] * number)
    root = grower.builder.sum(tops, weights.tolist())
    graph = grower.builder.graph
    graph.graph["root"] = root
    graph.remove_nodes_from(set(graph) - reachable(graph, root))
    assume(count_induced_trees(graph) < 300)
    rows = random_rows(seed, tuple(columns), 5, 0.0)
    model = opened(graph)
    found = facts_of(model, Table(rows), components=None)
    assert len(found.parts) == number

    below = [reachable(graph, child) for child in tops]
    expected, shares = np.zeros((number, number)), np.zeros(number)
    for row in rows:
        total = probability(graph, row)
        for i, (child, weight) in enumerate(zip(tops, weights, strict=True)):
            for chance, _, leaves in induced_trees(graph, child):
                values = [leaf_probability(graph.nodes[n]["node"], row) for n in leaves]
                posterior = weight * chance * math.prod(values) / total
                shares[i] += posterior / len(rows)
                for a, b in permutations(range(number), 2):
                    both = sum(n in below[a] and n in below[b] for n in leaves)
                    expected[a, b] += posterior * both / (len(rows) * len(columns))
    order = np.argsort(-shares, kind="stable")
    if np.diff(np.sort(shares)).min() < 1e-9:
        return  # which of them comes first is a matter of rounding
    sharing = found.sharing
    assert sharing is not None
    np.testing.assert_allclose(sharing.cells, expected[np.ix_(order, order)], atol=1e-12)
    for p, own in enumerate(order):
        mine = below[own]
        others = set().union(*(below[k] for k in range(number) if k != own))
        assert found.parts[p].own_nodes == len(mine - others)
        assert found.parts[p].shared_nodes == len(mine & others)
        common = [len(mine & below[k]) if k != own else 0 for k in order]
        assert sharing.nodes[p].tolist() == common
        assert sharing.partners[p] == np.count_nonzero(common)
    users = {n: sum(n in own for own in below) for n in graph}
    crossing = [(a, b) for a, b in graph.edges if users[a] < 2 <= users[b]]
    assert sharing.edges == len(crossing)


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
    assert edges_shared(found) == 0
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
    assert found.sharing is not None
    assert found.sharing.edges == 2
    both = flows[0] + flows[1]
    np.testing.assert_allclose(found.sharing.cells, [[0, both], [both, 0]])


def test_leaves_that_nothing_is_learned_about_are_no_links() -> None:
    builder = Builder([Column("a"), Column("b")])
    same = builder.leaf(0, Indicator(1.0))
    products = [builder.product([same, builder.leaf(1, Bernoulli(p))]) for p in (0.2, 0.7)]
    builder.graph.graph["root"] = builder.sum(products, [0.5, 0.5])
    model = opened(builder.graph)
    assert edges_shared(circuit_facts(model.program, model.parameters)) == 0


def test_a_circuit_without_a_sum_on_top_has_no_parts() -> None:
    builder = Builder([Column("a"), Column("b")])
    builder.graph.graph["root"] = builder.product(
        [builder.leaf(v, Bernoulli(0.5)) for v in range(2)]
    )
    model = opened(builder.graph)
    found = circuit_facts(model.program, model.parameters, None, 1, False)
    assert (found.top, found.parts) == ("product", [])


def many_branches(shared: list[tuple[int, int]], count: int) -> Graph:
    """So many branches of two leaves each, largest first; these pairs have the first in common."""
    builder = Builder([Column("a"), Column("b")])
    owner = list(range(count))
    for first, second in shared:
        owner[second] = first
    leaves: dict[int, int] = {}
    products = []
    for i, k in enumerate(owner):
        leaves.setdefault(k, builder.leaf(0, Bernoulli(0.01 + k / (2 * count))))
        products.append(builder.product([leaves[k], builder.leaf(1, Bernoulli(0.3 + i / 1000))]))
    weights = np.arange(count, 0, -1.0)
    builder.graph.graph["root"] = builder.sum(products, (weights / weights.sum()).tolist())
    return builder.graph


def test_the_pair_with_most_in_common_is_shown_however_many_branches_there_are() -> None:
    model = opened(many_branches([(40, 55)], 60))
    found = circuit_facts(model.program, model.parameters, None, 3, True)
    sharing = found.sharing
    assert sharing is not None
    assert sharing.edges == 2
    assert len(sharing.shown) == 24
    i, j = sharing.most
    assert {int(sharing.shown[i]), int(sharing.shown[j])} == {40, 55}
    assert np.flatnonzero(sharing.partners).tolist() == [40, 55]
    words = _text(circuit._common(found))
    assert "2 edges lead" in words
    assert "Branches 41 and 56 have most in common: 1 node" in words


def test_thousands_of_branches_take_little_memory() -> None:
    model = opened(many_branches([(40, 55)], 3000))
    tracemalloc.start()
    found = circuit_facts(model.program, model.parameters, None, 3, True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.parts) == 3000
    assert peak < 3000**2 * 8  # a number for every two would take as much


def test_an_edge_to_what_many_use_is_one_edge_and_says_nothing_of_direction() -> None:
    model = opened(many_branches([(0, 1), (0, 2), (0, 3)], 6))
    found = facts_of(model, Table(np.array([[0.0, 1.0], [1.0, 1.0]])), draws_links=True)
    words = _text(circuit._common(found))
    assert "4 edges lead" in words
    assert "4 of 6 branches share nodes" in words
    assert "→" not in words
    assert found.sharing is not None
    assert found.sharing.cells.max() <= 0.5  # column b is explained by what each has alone
    np.testing.assert_array_equal(found.sharing.cells, found.sharing.cells.T)


def test_without_rows_weights_are_not_called_flow() -> None:
    model = opened(many_branches([], 3))
    found = circuit_facts(model.program, model.parameters, None, 3, False)
    assert "flow" not in joined(circuit._parts(found))
    assert circuit._what(found) == "weight"


def test_what_pruning_left_is_not_called_components() -> None:
    model = opened(many_branches([], 2))
    assert circuit_facts(model.program, model.parameters, None, 2, False).are_components
    pruned = circuit_facts(model.program, model.parameters, None, 2, False, pruned=True)
    assert not pruned.are_components
    assert "edges were dropped" in circuit._parts_caption(pruned)
    fewer = circuit_facts(model.program, model.parameters, None, 5, False)
    assert "fewer branches than components" in circuit._parts_caption(fewer)


def _text(pieces: list[Html]) -> str:
    return re.sub(r"<[^>]*>", "|", joined(pieces))
