"""Hidden Chow-Liu trees: the right tree, the right circuit, and the results of EM."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import spnc
from spnc import checks
from spnc.data.pairs import mutual_information, pair_counts
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Leaf, Product, Sum, payloads
from spnc.learners.hclt import HiddenChowLiu, RootedTree
from tests.circuits import all_states, probability, random_columns, repeated_rows
from tests.learning_tasks import binary, learn, learning_task
from tests.places import SHARED_DATA

SEEDS = st.integers(0, 10**6)


def chain(seed: int, rows: int, columns: int) -> Table:
    """Return rows in which every column equals the one before it, except in one row of ten."""
    rng = np.random.default_rng(seed)
    flips = rng.random((rows, columns)) < 0.1
    flips[:, 0] = rng.random(rows) < 0.5
    return Table((np.cumsum(flips, axis=1) % 2).astype(float))


def undirected(tree: RootedTree) -> set[frozenset[int]]:
    return {frozenset(edge) for edge in tree.parent.items()}


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS,
    width=st.integers(1, 5),
    states=st.integers(1, 4),
    missing=st.sampled_from([0.0, 0.3]),
    root=st.sampled_from(["centre", "random"]),
    alpha=st.sampled_from([0.0, 0.1]),
)
def test_what_it_builds_is_valid_and_sums_to_one(
    seed: int, width: int, states: int, missing: float, root: str, alpha: float
) -> None:
    columns = random_columns(np.random.default_rng(seed), width)
    table = repeated_rows(seed, tuple(columns), 60, missing)
    learner = HiddenChowLiu(states=states, root=root)  # type: ignore[arg-type]
    graph = learn(learner, columns, table, seed, alpha)
    sink = Sink()
    checks.check(graph, sink)
    assert sink.diagnostics == []
    total = sum(probability(graph, row) for row in all_states(tuple(columns)))
    assert total == pytest.approx(1.0)


@given(seed=SEEDS, width=st.integers(1, 9), states=st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_a_tree_edge_is_a_square_of_weights(seed: int, width: int, states: int) -> None:
    columns = binary(width)
    table = repeated_rows(seed, tuple(columns), 40, 0.0)
    learner = HiddenChowLiu(states=states)
    graph = learn(learner, columns, table, seed)
    tree = learner.tree(learning_task(columns, table, seed))
    inner = sum(1 for below in tree.below if below)
    kinds = [type(payload) for payload in payloads(graph).values()]
    assert kinds.count(Leaf) == width * states
    assert kinds.count(Product) == inner * states
    assert kinds.count(Sum) == (width - 1) * states + 1
    weights = (width - 1) * states**2 + states
    assert graph.number_of_edges() == weights + (inner + width - 1) * states


def test_the_sums_of_a_tree_edge_share_their_children() -> None:
    columns = binary(6)
    graph = learn(HiddenChowLiu(states=4), columns, chain(0, 200, 6))
    sums = [n for n, payload in payloads(graph).items() if isinstance(payload, Sum)]
    families = [frozenset(graph.succ[n]) for n in sums if n != graph.graph["root"]]
    assert sorted(families.count(tree) for tree in set(families)) == [4] * 5


def test_the_same_seed_gives_the_same_circuit_and_another_seed_another() -> None:
    columns, table = binary(8), chain(1, 300, 8)
    one, two, other = (learn(HiddenChowLiu(), columns, table, s) for s in (3, 3, 4))
    assert list(one.edges(data=True)) == list(two.edges(data=True))
    assert payloads(one) == payloads(two)
    assert payloads(one) != payloads(other)


def test_threads_do_not_change_a_bit_even_where_weights_are_fractions() -> None:
    columns, rng = binary(60), np.random.default_rng(5)
    table = Table(rng.integers(2, size=(3000, 60)).astype(float), rng.random(3000))
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(limits=threads):
            graph = learn(HiddenChowLiu(states=2, noise=0), columns, table)
        found.append((payloads(graph), list(graph.edges(data=True))))
    assert found[0] == found[1] == found[2]


def test_without_noise_every_seed_finds_the_tree_of_most_information() -> None:
    columns = binary(9)
    table = repeated_rows(2, tuple(columns), 500, 0.0)
    affinity = mutual_information(pair_counts(columns, table), 0.1)
    complete: nx.Graph[int] = nx.from_numpy_array(affinity)
    best = {frozenset(edge) for edge in nx.maximum_spanning_edges(complete, data=False)}
    for seed in range(5):
        for root in ("centre", "random"):
            learner = HiddenChowLiu(noise=0, root=root)  # type: ignore[arg-type]
            assert undirected(learner.tree(learning_task(columns, table, seed))) == best


def test_noise_makes_trees_differ_and_keeps_what_is_strong() -> None:
    columns = binary(10)
    table = repeated_rows(3, tuple(columns), 500, 0.0)
    learner = HiddenChowLiu(noise=0.5)
    trees = {
        frozenset(undirected(learner.tree(learning_task(columns, table, s)))) for s in range(8)
    }
    assert len(trees) > 4
    little = HiddenChowLiu(noise=1e-6)
    assert (
        len(
            {frozenset(undirected(little.tree(learning_task(columns, table, s)))) for s in range(8)}
        )
        == 1
    )


def test_a_chain_hangs_from_its_middle_or_from_anywhere() -> None:
    columns, table = binary(7), chain(4, 2000, 7)
    middle = HiddenChowLiu(noise=0).tree(learning_task(columns, table))
    assert middle.order[0] == 3
    assert middle.below == [[], [0], [1], [2, 4], [5], [6], []]
    anywhere = HiddenChowLiu(noise=0, root="random")
    assert len({anywhere.tree(learning_task(columns, table, s)).order[0] for s in range(20)}) > 3


@given(seed=SEEDS, missing=st.sampled_from([0.0, 0.3]), alpha=st.sampled_from([0.1, 2.0]))
@settings(max_examples=20, deadline=None)
def test_with_a_single_state_columns_are_independent(
    seed: int, missing: float, alpha: float
) -> None:
    columns = random_columns(np.random.default_rng(seed), 3)
    table = repeated_rows(seed, tuple(columns), 50, missing)
    graph = learn(HiddenChowLiu(states=1), columns, table, seed, alpha)
    shares = []
    for i, column in enumerate(columns):
        counts = [table.weights[table.values[:, i] == s].sum() for s in range(column.states)]
        shares.append((np.array(counts) + alpha) / (sum(counts) + alpha * column.states))
    for row in all_states(tuple(columns)):
        expected = np.prod([shares[i][int(value)] for i, value in enumerate(row)])
        assert probability(graph, row) == pytest.approx(expected)


def test_the_rows_behind_a_columns_states_add_up_to_all_rows() -> None:
    columns = binary(6)
    table = repeated_rows(5, tuple(columns), 80, 0.1)
    graph = learn(HiddenChowLiu(states=3), columns, table)
    node, total = payloads(graph), table.weights.sum()
    assert node[graph.graph["root"]].rows == pytest.approx(total)
    for i in range(6):
        leaves = [p for p in node.values() if isinstance(p, Leaf) and p.variable == i]
        assert sum(leaf.rows for leaf in leaves) == pytest.approx(total)
    for n, payload in node.items():
        if isinstance(payload, Product):
            assert {node[c].rows for c in graph.succ[n]} == {payload.rows}


def test_no_two_states_begin_alike_and_nothing_begins_at_zero() -> None:
    columns = binary(12)
    graph = learn(HiddenChowLiu(states=4), columns, chain(6, 500, 12))
    weights = [d["weight"] for *_, d in graph.edges(data=True) if "weight" in d]
    assert min(weights) > 0.0
    assert len(set(weights)) == len(weights)


def test_a_hundred_columns_of_32_states_are_built_at_once() -> None:
    columns, rng = binary(100), np.random.default_rng(7)
    table = Table(rng.integers(2, size=(2000, 100)).astype(float))
    graph = learn(HiddenChowLiu(states=32), columns, table)
    assert graph.number_of_edges() > 99 * 32**2


def test_em_finds_the_dependence_that_the_columns_have(tmp_path: Path) -> None:
    """On rows of a chain of eight columns, EM is as good as the distribution they come from."""
    spec = tmp_path / "chain.yaml"
    table = chain(8, 2000, 8)
    np.savetxt(tmp_path / "chain.csv", table.values, fmt="%d", delimiter=",")
    spec.write_text(
        "model: chain\ndata: {source: chain.csv, split: [0.8, 0.1, 0.1]}\n"
        "forest: [{learner: hclt, states: 2, noise: 0}]\n"
        "optimizer: {method: em, max_iterations: 200, stop: none, patience: none}\n"
        "backend: numpy\n"
    )
    trained = spnc.train(spec)
    history = [record.objective for record in trained.fitted.history]
    assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(history))
    flips = (np.diff(table.values) != 0).sum(axis=1).mean()
    truth = np.log(0.5) + flips * np.log(0.1) + (7 - flips) * np.log(0.9)
    assert trained.scores["train"].average == pytest.approx(truth, abs=0.05)


@pytest.mark.skipif(
    not ("SPNC_DATA" in os.environ or (SHARED_DATA / "debd").is_dir()),
    reason="the DEBD datasets are not on this machine; set SPNC_DATA",
)
def test_five_small_trees_explain_nltcs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On validation rows the result is clearly better than that of ten ExtraSPNs."""
    if "SPNC_DATA" not in os.environ:
        monkeypatch.setenv("SPNC_DATA", str(SHARED_DATA))
    spec = tmp_path / "nltcs.yaml"
    spec.write_text(
        "model: nltcs\ndata: {source: 'debd:nltcs'}\n"
        "forest: [{learner: hclt, count: 5, states: 8}]\n"
        "optimizer: {method: em, max_iterations: 80, stop: none}\nsmoothing: 0.1\n"
    )
    trained = spnc.train(spec)
    assert trained.scores["valid"].average > -5.96
