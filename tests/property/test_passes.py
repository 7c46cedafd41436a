"""Passes do not change the distribution, and do what their names say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc import checks, passes
from spnc.diagnostics import Sink
from spnc.graph.equality import representatives
from spnc.graph.nodes import Builder, Graph, Leaf, Product, Sum, children_first, payloads
from spnc.leaves.bernoulli import Bernoulli
from spnc.passes.share import share_equal, share_tied
from spnc.program.lift import lift
from spnc.program.lower import lower
from tests.circuits import all_states, random_circuit, random_columns
from tests.engines import log_likelihood

SEEDS = st.integers(0, 10**6)
PASSES = {**passes.BEFORE_TRAINING, **passes.AFTER_TRAINING}


def same_distribution(one: Graph, other: Graph) -> None:
    states = all_states(one.graph["columns"])
    a = log_likelihood("numpy", one, states)
    b = log_likelihood("numpy", other, states)
    assert np.isneginf(a).tolist() == np.isneginf(b).tolist()
    finite = np.isfinite(a)
    assert b[finite] == pytest.approx(a[finite], rel=1e-12, abs=1e-12)


def problems(graph: Graph) -> list[str]:
    sink = Sink()
    checks.check(graph, sink)
    return [d.message for d in sink.diagnostics]


@pytest.mark.parametrize("name", list(PASSES))
@given(seed=SEEDS, extremes=st.booleans())
def test_every_pass_keeps_the_distribution_and_validity(
    name: str, seed: int, extremes: bool
) -> None:
    graph = random_circuit(seed, variables=5, depth=5, share=0.5, extremes=extremes)
    after = passes.run(graph, {name: PASSES[name]})
    assert problems(after) == []
    same_distribution(graph, after)


@pytest.mark.parametrize("order", [passes.BEFORE_TRAINING, passes.AFTER_TRAINING])
@given(seed=SEEDS)
def test_all_passes_in_order_keep_the_distribution(
    order: dict[str, passes.Pass], seed: int
) -> None:
    graph = random_circuit(seed, variables=5, depth=6, share=0.5, extremes=True)
    before = graph.number_of_nodes(), graph.number_of_edges()
    after = passes.run(graph, order)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == before
    assert problems(after) == []
    same_distribution(graph, after)
    node = payloads(after)
    for n, children in after.adjacency():
        if isinstance(node[n], Leaf):
            continue
        assert len(children) > 1
        for child, data in children.items():
            assert data.get("weight") != 0.0
            nested = type(node[child]) is type(node[n])
            assert not nested or len(after.pred[child]) > 1


@given(seed=SEEDS)
def test_lowering_and_lifting_gives_the_circuit_back(seed: int) -> None:
    graph = random_circuit(seed, variables=5, depth=5)
    again = lift(*lower(graph))
    assert again.number_of_edges() == graph.number_of_edges()
    same_distribution(graph, again)


@pytest.mark.parametrize("order", [passes.BEFORE_TRAINING, passes.AFTER_TRAINING])
@given(seed=SEEDS)
def test_a_graph_that_need_not_be_kept_becomes_the_result(
    order: dict[str, passes.Pass], seed: int
) -> None:
    graph = random_circuit(seed, variables=5, depth=6, share=0.5, extremes=True)
    expected = passes.run(graph, order)
    found = passes.run(graph, order, keep=False)
    assert found is graph
    assert payloads(found) == payloads(expected)
    assert list(found.edges(data=True)) == list(expected.edges(data=True))


def test_a_tower_of_sums_becomes_one_with_its_weights_multiplied() -> None:
    """Also if a sum in the middle has two parents that are merged into one sum."""
    builder = Builder(random_columns(np.random.default_rng(0), 1, binary_only=True))
    a, b, c, d = (builder.leaf(0, Bernoulli(p)) for p in (0.1, 0.2, 0.3, 0.4))
    shared = builder.sum([a, b], [0.5, 0.5])
    middle = builder.sum([shared, c], [0.5, 0.5])
    builder.sum([middle, shared, d], [0.5, 0.25, 0.25])
    graph = passes.merge_sums(builder.graph)
    (top,) = (n for n, p in payloads(graph).items() if isinstance(p, Sum))
    assert {n: data["weight"] for n, data in graph.succ[top].items()} == {
        a: 0.25,
        b: 0.25,
        c: 0.25,
        d: 0.25,
    }


def plain_children_first(graph: Graph) -> list[object]:
    """A plain implementation of `children_first`, one node at a time."""
    waiting = {n: len(edges) for n, edges in graph.adjacency()}
    order = [n for n, open_children in waiting.items() if open_children == 0]
    for n in order:
        for parent in graph.pred[n]:
            waiting[parent] -= 1
            if waiting[parent] == 0:
                order.append(parent)
    return order


@given(seed=SEEDS, loops=st.integers(0, 2))
def test_nodes_come_after_their_children_in_the_order_of_the_graph(seed: int, loops: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_circuit(seed, variables=6, depth=6, share=0.5)
    edges = list(graph.edges)
    rng.shuffle(edges)
    mixed = Graph()
    mixed.add_nodes_from(rng.permutation(len(graph)).tolist())
    mixed.add_edges_from(edges)  # so that parents are not in the order of the nodes
    for _ in range(loops):
        mixed.add_edge(*rng.integers(len(graph), size=2).tolist())
    assert children_first(mixed) == plain_children_first(mixed)


def two_equal_halves(tie: object = None) -> Graph:
    """A sum over two products of leaves that are equal in all but identity."""
    builder = Builder(random_columns(np.random.default_rng(0), 2, binary_only=True))
    parts = []
    for _ in range(2):
        leaves = [builder.leaf(v, Bernoulli(0.3)) for v in range(2)]
        parts.append(builder.product(leaves))
    builder.sum(parts, [0.5, 0.5])
    graph = builder.graph
    if tie is not None:
        for _, data in graph.nodes(data=True):
            payload = data["node"]
            if isinstance(payload, Leaf):
                data["node"] = Leaf(payload.variable, payload.distribution, tie=tie)
    return graph


def test_free_parameters_that_happen_to_be_equal_are_not_shared_before_training() -> None:
    graph = share_tied(two_equal_halves())
    assert graph.number_of_nodes() == 7


def test_what_is_tied_is_shared_before_training_and_its_weights_add_up() -> None:
    graph = share_tied(two_equal_halves(tie="one thing"))
    assert sum(isinstance(p, Leaf) for p in payloads(graph).values()) == 2
    assert sum(isinstance(p, Product) for p in payloads(graph).values()) == 1
    (top,) = (n for n, p in payloads(graph).items() if isinstance(p, Sum))
    ((_, data),) = graph.succ[top].items()
    assert data["weight"] == 1.0


@given(seed=SEEDS)
def test_equal_products_are_all_found_whatever_they_are_products_of(seed: int) -> None:
    rng = np.random.default_rng(seed)
    builder = Builder(random_columns(rng, 6, binary_only=True))
    leaves = [builder.leaf(v, Bernoulli(0.3)) for v in range(6)]
    pairs = [builder.product(leaves[v : v + 2]) for v in (0, 2, 4) for _ in range(3)]

    def any_of(left: bool) -> list[int]:
        return [int(rng.choice(pairs[v : v + 3])) for v in ((0, 3) if left else (6,))]

    halves = [builder.product(any_of(left=True)) for _ in range(4)]
    whole = [builder.product([int(rng.choice(halves)), *any_of(left=False)]) for _ in range(4)]
    builder.graph.graph["root"] = builder.sum(whole, [0.25] * 4)
    graph = passes.run(builder.graph, {"prune": passes.BEFORE_TRAINING["prune"]})
    kinds = set(representatives(graph, children_first(graph), finished=False).values())
    shared = share_tied(graph.copy())
    assert len(shared) == len(kinds) == 12
    assert shared.graph["root"] == graph.graph["root"]
    np.testing.assert_allclose(
        sum(data["weight"] for data in shared.succ[shared.graph["root"]].values()), 1.0
    )


def test_everything_equal_is_shared_in_a_finished_model() -> None:
    graph = passes.run(two_equal_halves(), passes.AFTER_TRAINING)
    assert graph.number_of_nodes() == 3


def test_equal_leaves_over_different_columns_stay_apart() -> None:
    builder = Builder(random_columns(np.random.default_rng(0), 2, binary_only=True))
    builder.product([builder.leaf(0, Bernoulli(0.3)), builder.leaf(1, Bernoulli(0.3))])
    assert share_equal(builder.graph).number_of_nodes() == 3


def test_dumps_show_the_graph_after_each_pass() -> None:
    seen: list[str] = []
    passes.run(two_equal_halves(), passes.BEFORE_TRAINING, lambda name, _: seen.append(name))
    assert seen == list(passes.BEFORE_TRAINING)
