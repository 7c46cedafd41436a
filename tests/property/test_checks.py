"""A valid circuit passes every check; any corruption of it is caught, with the right code."""

from __future__ import annotations

import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import spnc
from spnc import checks
from spnc.checks.proof import is_plainly_valid
from spnc.checks.view import View
from spnc.data.columns import Column
from spnc.diagnostics import Sink
from spnc.graph.interchange import to_networkx, to_node_link
from spnc.graph.nodes import Builder, Graph, Leaf, Product, Sum, children_first, payloads
from spnc.graph.scopes import scopes
from spnc.leaves.bernoulli import Bernoulli
from tests.circuits import random_circuit

SEEDS = st.integers(0, 10**6)


def codes(graph: Graph) -> set[str]:
    sink = Sink()
    checks.check(graph, sink)
    return {d.code for d in sink.diagnostics}


@given(seed=SEEDS, extremes=st.booleans())
def test_a_random_valid_circuit_passes(seed: int, extremes: bool) -> None:
    assert codes(random_circuit(seed, variables=6, depth=5, extremes=extremes)) == set()


@given(seed=SEEDS)
def test_a_valid_circuit_survives_networkx_and_node_link(seed: int) -> None:
    graph = random_circuit(seed)
    assert spnc.check(to_networkx(graph)) == []
    assert spnc.check(to_node_link(graph)) == []


def pick(graph: Graph, kind: type, rng: np.random.Generator, children: int = 0) -> object:
    found = [
        n
        for n, p in payloads(graph).items()
        if isinstance(p, kind) and len(graph.succ[n]) >= children
    ]
    assume(bool(found))
    return found[int(rng.integers(len(found)))]


def moved_leaf(graph: Graph, rng: np.random.Generator) -> set[str]:
    """Move a leaf to another column, below a node that needs its old column."""
    n = pick(graph, Leaf, rng)
    assume(len(graph.pred[n]) > 0)
    leaf = graph.nodes[n]["node"]
    columns = graph.graph["columns"]
    other = (leaf.variable + 1) % len(columns)
    graph.graph["columns"] = tuple(Column(c.name) for c in columns)
    for m, payload in payloads(graph).items():
        if isinstance(payload, Leaf):
            graph.nodes[m]["node"] = Leaf(payload.variable, Bernoulli(0.5))
    graph.nodes[n]["node"] = Leaf(other, Bernoulli(0.5))
    return {"E203", "E204", "E211"}


def overlapping_product(graph: Graph, rng: np.random.Generator) -> set[str]:
    """Give a product a second child over the same column."""
    n = pick(graph, Product, rng)
    scope = scopes(graph, children_first(graph))
    same = [
        m
        for m, p in payloads(graph).items()
        if isinstance(p, Leaf) and scope[m] & scope[n] and not graph.has_edge(n, m)
    ]
    assume(bool(same))
    graph.add_edge(n, same[int(rng.integers(len(same)))])
    return {"E204"}


def dropped_child(graph: Graph, rng: np.random.Generator) -> set[str]:
    """Remove a child, and so a column, from a product below a sum."""
    n = pick(graph, Product, rng, children=2)
    child = next(iter(graph.succ[n]))
    graph.remove_edge(n, child)
    return {"E203", "E211", "E205", "E204"}


def bad_weight(graph: Graph, rng: np.random.Generator) -> set[str]:
    """Make a weight negative, infinite, NaN, missing or wrong."""
    n = pick(graph, Sum, rng)
    child = next(iter(graph.succ[n]))
    bad = [-0.5, float("nan"), float("inf"), 17.0, None][int(rng.integers(5))]
    if bad is None:
        del graph.edges[n, child]["weight"]
        return {"E219"}
    graph.edges[n, child]["weight"] = bad
    return {"E206"} if bad == 17.0 else {"E207"}


def cycle(graph: Graph, rng: np.random.Generator) -> set[str]:
    """Make a node a child of one of its own descendants."""
    n = pick(graph, Product, rng)
    inner = [m for m in nx.descendants(graph, n) if not isinstance(graph.nodes[m]["node"], Leaf)]
    assume(bool(inner))
    m = inner[int(rng.integers(len(inner)))]
    extra = {"weight": 0.0} if isinstance(graph.nodes[m]["node"], Sum) else {}
    graph.add_edge(m, n, **extra)
    return {"E201"}


def bad_parameter(graph: Graph, rng: np.random.Generator) -> set[str]:
    """Give a leaf an invalid probability."""
    n = pick(graph, Leaf, rng)
    variable = graph.nodes[n]["node"].variable
    assume(graph.graph["columns"][variable].kind == "binary")
    graph.nodes[n]["node"] = Leaf(
        variable, Bernoulli([-0.1, 1.5, float("nan")][int(rng.integers(3))])
    )
    return {"E209"}


def unknown_column(graph: Graph, rng: np.random.Generator) -> set[str]:
    """Move a leaf to a column that does not exist."""
    n = pick(graph, Leaf, rng)
    graph.nodes[n]["node"] = Leaf(len(graph.graph["columns"]), Bernoulli(0.5))
    return {"E208"}


def lost_node(graph: Graph, rng: np.random.Generator) -> set[str]:
    """Add a node without a parent."""
    graph.add_node("lost", node=Leaf(0, Bernoulli(0.5)))
    return {"E205"}


CORRUPTIONS = [
    moved_leaf,
    overlapping_product,
    dropped_child,
    bad_weight,
    cycle,
    bad_parameter,
    unknown_column,
    lost_node,
]


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda f: f.__name__)
@given(seed=SEEDS)
def test_every_corruption_is_caught_with_the_right_code(corrupt, seed: int) -> None:
    graph = random_circuit(seed, variables=6, depth=5)
    expected = corrupt(graph, np.random.default_rng(seed))
    found = codes(graph)
    if len(expected) == 1:
        assert expected <= found
    else:
        assert expected & found


@given(seed=SEEDS)
def test_independent_mistakes_are_all_reported_in_one_run(seed: int) -> None:
    graph = random_circuit(seed, variables=6, depth=5)
    rng = np.random.default_rng(seed)
    expected = bad_weight(graph, rng) | bad_parameter(graph, rng) | lost_node(graph, rng)
    assert expected <= codes(graph)


def asked_one_by_one(graph: Graph) -> set[str]:
    """Return what the checks find when the proof is not used."""
    sink = Sink()
    view = View(graph, sink)
    for one in checks.ALL:
        one(view)
    return {d.code for d in sink.diagnostics}


@given(seed=SEEDS, extremes=st.booleans(), declared=st.booleans())
def test_a_valid_circuit_is_seen_to_be_so_without_asking_every_check(
    seed: int, extremes: bool, declared: bool
) -> None:
    graph = random_circuit(seed, variables=6, depth=5, extremes=extremes)
    if not declared:
        del graph.graph["root"]
    assert is_plainly_valid(graph)


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda f: f.__name__)
@given(seed=SEEDS)
def test_what_is_plainly_valid_is_valid(corrupt, seed: int) -> None:
    graph = random_circuit(seed, variables=6, depth=5)
    corrupt(graph, np.random.default_rng(seed))
    found = asked_one_by_one(graph)
    assert is_plainly_valid(graph) == (not found)
    assert codes(graph) == found


def test_weights_that_are_no_plain_numbers_are_left_to_the_checks() -> None:
    for stray in (float("nan"), 0.5, "much"):
        graph = forest_of(4, 10)
        product = next(n for n, p in payloads(graph).items() if isinstance(p, Product))
        graph.edges[product, next(iter(graph.succ[product]))]["weight"] = stray
        assert not is_plainly_valid(graph)
        assert codes(graph) == {"E225"}
    for odd, expected in ((True, {"E219"}), (1, set()), (np.float64(1.0), set())):
        builder = Builder([Column("x")])
        builder.sum([builder.leaf(0, Bernoulli(0.5))], [odd])
        assert codes(builder.graph) == expected


def test_what_a_reader_complained_about_is_left_to_the_checks() -> None:
    graph = forest_of(4, 10)
    assert is_plainly_valid(graph)
    for mark in ("damaged", "settled", "mentioned"):
        assert not is_plainly_valid(nx.DiGraph(graph, **{mark: {0}}))


def test_a_check_that_the_proof_does_not_stand_for_is_always_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[View] = []
    monkeypatch.setattr(checks, "ALL", (*checks.ALL, asked.append))
    assert codes(forest_of(4, 10)) == set()
    assert len(asked) == 1


def test_overlap_of_two_inner_children_is_seen_even_if_neither_holds_the_other() -> None:
    """A check that only compares neighbours, or only leaves, would accept this circuit."""
    builder = Builder([Column("a"), Column("b"), Column("c")])
    a, b1, b2, c = (builder.leaf(v, Bernoulli(0.5)) for v in (0, 1, 1, 2))
    left, right = builder.product([a, b1]), builder.product([b2, c])
    builder.product([left, right])
    assert codes(builder.graph) == {"E204"}


def forest_of(columns: int, edges: int) -> Graph:
    """Return a valid circuit with at least this many edges."""
    builder = Builder([Column(f"x{i}") for i in range(columns)])
    parts = []
    for _ in range(edges // (columns + 3) + 1):
        leaves = [builder.leaf(v, Bernoulli(0.5)) for v in range(columns)]
        halves = [builder.product(leaves[: columns // 2]), builder.product(leaves[columns // 2 :])]
        parts.append(builder.product(halves))
    builder.sum(parts, [1.0 / len(parts)] * len(parts))
    return builder.graph


@pytest.mark.parametrize(("columns", "edges"), [(100, 150_000), (5_000, 50_000)])
def test_large_and_wide_circuits_are_checked(columns: int, edges: int, record_property) -> None:
    graph = forest_of(columns, edges)
    began = time.perf_counter()
    assert codes(graph) == set()
    record_property("seconds", time.perf_counter() - began)
    n = next(n for n, p in payloads(graph).items() if isinstance(p, Product))
    graph.add_edge(
        n,
        next(
            m for m in graph if isinstance(graph.nodes[m]["node"], Leaf) and m not in graph.succ[n]
        ),
    )
    assert "E204" in codes(graph)


def test_graphs_with_payloads_of_spnc_are_looked_at_like_all_others() -> None:
    def found(graph: object) -> set[str]:
        return {d.code for d in spnc.check(graph)}  # type: ignore[arg-type]

    def fresh() -> Graph:
        return random_circuit(3, variables=3)

    assert found(fresh()) == set()
    graph = fresh()
    graph.graph["root"] = "nowhere"
    assert found(graph) == {"E214"}
    graph = fresh()
    leaf = next(n for n, p in payloads(graph).items() if isinstance(p, Leaf))
    graph.nodes[leaf]["node"] = Leaf(-1, Bernoulli(0.5))
    assert found(graph) == {"E208"}
    graph = fresh()
    graph.nodes[leaf]["node"] = "a leaf"
    assert "E218" in found(graph)
    twice = nx.MultiDiGraph(fresh())
    assert found(twice) == set()
    twice.add_edge(*next(iter(twice.edges())))
    assert found(twice) == {"E210"}
