"""LearnSPN separates what is independent, clusters what is not, and counts rows by weight."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

import spnc
from spnc import checks
from spnc.data.binning import binned
from spnc.data.columns import Column, Scale
from spnc.data.crossing import Crossing
from spnc.data.pairs import PairCounter, pair_counts
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Builder, Graph, Leaf, Product, Sum, payloads
from spnc.learners import LearningTask
from spnc.learners.learn_spn import LearnSpn
from spnc.learners.support import independence
from spnc.learners.support.clustering import HardEm, kmeans
from spnc.learners.support.independence import GTest, dependent_groups, g_test, groups
from spnc.learners.support.leaf_choice import SliceOptions
from spnc.leaves.smoothing import Smoothing
from tests.circuits import all_states, probability, random_columns, random_rows
from tests.places import SHARED_DATA

SEEDS = st.integers(0, 10**6)
CHOW_LIU = SliceOptions(model="chow-liu")
DATA = Path(os.environ.get("SPNC_DATA", SHARED_DATA))
METHODS = st.sampled_from(["em", "kmeans"])


def learn(
    columns: list[Column], table: Table, learner: LearnSpn, seed: int = 0, alpha: float = 0.1
) -> Graph:
    builder = Builder(columns)
    rng = np.random.default_rng(seed)
    task = LearningTask(tuple(columns), table, Smoothing.of(alpha), rng, builder, Sink())
    builder.graph.graph["root"] = learner.learn(task)
    return builder.graph


def binary(values: np.ndarray) -> tuple[list[Column], Table]:
    return [Column(f"x{i}") for i in range(values.shape[1])], Table(values.astype(float))


def two_kinds(rows: int, columns: int, seed: int = 0, noise: float = 0.1) -> np.ndarray:
    """Return rows of which a third are mostly zeros and two thirds mostly ones."""
    rng = np.random.default_rng(seed)
    kind = (np.arange(rows) % 3 > 0)[:, None]
    return (rng.random((rows, columns)) < noise) ^ kind


@settings(max_examples=25, deadline=None)
@given(
    seed=SEEDS,
    method=METHODS,
    leaves=st.sampled_from(["factorised", "chow-liu"]),
    missing=st.sampled_from([0.0, 0.3]),
    factor=st.sampled_from([0.0, 1.0]),
    clusters=st.integers(2, 4),
)
def test_what_it_builds_is_a_valid_circuit_that_sums_to_one(
    seed: int, method: Any, leaves: Any, missing: float, factor: float, clusters: int
) -> None:
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, int(rng.integers(1, 6)))
    values = random_rows(seed, tuple(columns), 50, missing)
    table = Table(values, rng.integers(0, 3, size=50).astype(float))
    learner = LearnSpn(
        min_instances=4,
        independence=factor,
        rows=method,
        clusters=clusters,
        leaves=SliceOptions(model=leaves),
    )
    graph = learn(columns, table, learner, seed)
    sink = Sink()
    checks.check(graph, sink)
    assert sink.diagnostics == []
    total = sum(probability(graph, row) for row in all_states(tuple(columns)))
    assert total == pytest.approx(1.0)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, method=METHODS)
def test_a_row_of_weight_two_is_two_rows(seed: int, method: Any) -> None:
    columns = random_columns(np.random.default_rng(seed), 4)
    values = random_rows(seed, tuple(columns), 40, 0.1)
    weights = np.random.default_rng(seed).integers(1, 4, size=40)
    learner = LearnSpn(min_instances=4, independence=0.5, rows=method)
    weighted = learn(columns, Table(values, weights.astype(float)), learner, seed)
    repeated = learn(columns, Table(np.repeat(values, weights, axis=0)), learner, seed)
    assert payloads(weighted) == payloads(repeated)
    assert list(weighted.edges(data=True)) == list(repeated.edges(data=True))


def test_independent_columns_become_a_product_of_leaves() -> None:
    columns, table = binary(np.random.default_rng(0).integers(2, size=(500, 6)))
    graph = learn(columns, table, LearnSpn(independence=10.0))
    assert {type(p) for p in payloads(graph).values()} == {Product, Leaf}


def test_groups_of_columns_that_do_not_know_of_each_other_are_separated() -> None:
    """Two independent groups of columns, each a mixture: a product of two sums at the top."""
    one, two = (
        two_kinds(900, 3),
        two_kinds(900, 3, seed=1)[np.random.default_rng(2).permutation(900)],
    )
    columns, table = binary(np.concatenate([one, two], axis=1))
    graph = learn(columns, table, LearnSpn())
    node, root = payloads(graph), graph.graph["root"]
    assert isinstance(node[root], Product)
    assert [type(node[n]) for n in graph.succ[root]] == [Sum, Sum]


@pytest.mark.parametrize("method", ["em", "kmeans"])
def test_two_kinds_of_rows_are_told_apart(method: Any) -> None:
    columns, table = binary(two_kinds(900, 8))
    graph = learn(columns, table, LearnSpn(rows=method))
    root = graph.graph["root"]
    assert isinstance(payloads(graph)[root], Sum)
    weights = sorted(data["weight"] for data in graph.succ[root].values())
    assert weights == pytest.approx([1 / 3, 2 / 3], abs=0.01)


def test_a_column_with_one_value_stands_apart() -> None:
    values = two_kinds(300, 5)
    values[:, 2] = True
    columns, table = binary(values)
    graph = learn(columns, table, LearnSpn())
    node, root = payloads(graph), graph.graph["root"]
    leaves = [node[n] for n in graph.succ[root] if isinstance(node[n], Leaf)]
    assert isinstance(node[root], Product)
    assert [leaf.variable for leaf in leaves] == [2]


def test_slices_below_the_minimum_are_factorised() -> None:
    columns, table = binary(two_kinds(60, 5))
    assert learn(columns, table, LearnSpn(min_instances=61)).number_of_nodes() == 6
    assert learn(columns, table, LearnSpn(min_instances=60)).number_of_nodes() > 6


def test_one_cluster_is_factorised_or_becomes_a_tree() -> None:
    """Four equal columns, with a penalty higher than what two clusters could gain."""
    half = np.random.default_rng(1).integers(2, size=(200, 1))
    columns, table = binary(np.repeat(half, 4, axis=1))
    flat = learn(columns, table, LearnSpn(penalty=1000.0))
    assert flat.number_of_nodes() == 5
    tree = learn(columns, table, LearnSpn(penalty=1000.0, leaves=CHOW_LIU), alpha=0.0)
    assert probability(tree, np.ones(4)) == pytest.approx(half.mean())


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, factor=st.sampled_from([0.1, 0.5, 1.92]))
def test_the_test_is_the_g_test(seed: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    columns = [Column("a"), Column("b", "categorical", 3), Column("c", "categorical", 4)]
    table = Table(random_rows(seed, tuple(columns), 80, 0.1), rng.integers(1, 3, 80).astype(float))
    pairs = pair_counts(columns, table)
    found = g_test(pairs, factor)
    for i in range(3):
        for j in range(i):
            counts = pairs.between(i, j)
            counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
            g, _, dof, _ = chi2_contingency(counts, correction=False, lambda_="log-likelihood")
            assert found[i, j] == found[j, i] == (g >= 2 * dof * factor + 0.001)
    assert not found.diagonal().any()


@pytest.mark.parametrize(("rows", "correlation"), [(160, 0.8), (333, 0.6), (1000, 0.4)])
def test_correlated_numbers_are_dependent(rows: int, correlation: float) -> None:
    """Eight ranges have 49 degrees of freedom; a threshold in proportion would see nothing."""
    rng = np.random.default_rng(rows)
    found = []
    for own in [correlation] * 10 + [0.0] * 200:
        first = rng.normal(size=rows)
        second = own * first + np.sqrt(1.0 - own**2) * rng.normal(size=rows)
        columns = tuple(Column(name, "real", 0, scale=Scale()) for name in "ab")
        pairs = pair_counts(*binned(columns, Table(np.stack([first, second], axis=1))))
        found.append(bool(g_test(pairs, 5.0, np.array([True, True]))[0, 1]))
    assert all(found[:10])
    assert sum(found[10:]) <= 4  # a level of 0.16% lets expect 0.3


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_groups_are_the_connected_components(seed: int) -> None:
    dependent = np.random.default_rng(seed).random((9, 9)) < 0.08
    dependent |= dependent.T
    found = [set(group.tolist()) for group in groups(dependent)]
    graph = nx.from_numpy_array(dependent)
    assert sorted(map(sorted, found)) == sorted(map(sorted, nx.connected_components(graph)))


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    factor=st.sampled_from([0.0, 1.92, 20.0]),
    missing=st.sampled_from([0.0, 0.1]),
    at_once=st.integers(1, 9),
)
def test_of_many_columns_the_same_groups_are_found_with_fewer_tests(
    seed: int, factor: float, missing: float, at_once: int
) -> None:
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, 12)
    values = random_rows(seed, tuple(columns), 120, missing)
    for column in rng.integers(1, 12, size=5).tolist():
        values[:, column] = np.minimum(values[:, column - 1], columns[column].states - 1)
    table = Table(values, rng.integers(1, 4, size=120).astype(float))
    numbers = rng.random(12) < 0.3
    expected = groups(g_test(pair_counts(columns, table), factor, numbers))
    tested = []

    class Counter(PairCounter):
        def between(self, some: Any, others: Any) -> Crossing:
            tested.append(len(some) * len(others))
            return super().between(some, others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(independence, "_TESTED_AT_ONCE", at_once)
        counter = Counter(columns, table)
        found = dependent_groups(GTest(counter, factor, numbers, most_at_once=1))
    assert [group.tolist() for group in found] == [group.tolist() for group in expected]
    assert sum(tested) <= 12 * 12


def test_the_penalty_bounds_the_number_of_clusters() -> None:
    values = np.random.default_rng(0).integers(2, size=(400, 10)).astype(float)
    columns = [Column(f"x{i}") for i in range(10)]
    counts = []
    for penalty in (0.0, 1.5, 1000.0):
        method = HardEm(penalty=penalty, most=30, restarts=2)
        labels = method.labels(columns, values, np.ones(400), np.random.default_rng(0))
        assert set(labels) == set(range(labels.max() + 1))
        counts.append(int(labels.max()) + 1)
    assert counts[0] > counts[1] >= counts[2] == 1


def test_a_missing_cell_does_not_tear_a_cluster_apart() -> None:
    values = two_kinds(300, 10, noise=0.0).astype(float)
    values[np.random.default_rng(3).random(values.shape) < 0.3] = np.nan
    columns = [Column(f"x{i}") for i in range(10)]
    kind = np.arange(300) % 3 > 0
    for labels in (
        HardEm(penalty=0.2, most=2, restarts=4).labels(
            columns, values, np.ones(300), np.random.default_rng(0)
        ),
        kmeans(values, np.ones(300), 2, np.random.default_rng(0)),
    ):
        agree = np.mean(labels == kind)
        assert max(agree, 1 - agree) > 0.98


def test_rows_without_values_open_no_cluster() -> None:
    values = two_kinds(90, 6, noise=0.0).astype(float)
    values[::2] = np.nan
    columns = [Column(f"x{i}") for i in range(6)]
    method = HardEm(penalty=0.2, most=9, restarts=1)
    labels = method.labels(columns, values, np.ones(90), np.random.default_rng(0))
    assert labels.max() == 1


def test_the_same_seed_gives_the_same_circuit() -> None:
    columns, table = binary(np.random.default_rng(1).integers(2, size=(300, 6)))
    one, two = (learn(columns, table, LearnSpn(independence=0.5), 3) for _ in range(2))
    assert payloads(one) == payloads(two)
    assert list(one.edges(data=True)) == list(two.edges(data=True))


@pytest.mark.skipif(
    not (DATA / "debd").is_dir(), reason="the DEBD datasets are not on this machine; set SPNC_DATA"
)
def test_nltcs_is_learned_better_than_the_literature_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """-6.11 is what the paper quotes for LearnSPN."""
    monkeypatch.setenv("SPNC_DATA", str(DATA))
    run = spnc.train("specs/paper/nltcs-learnspn.yaml", ["backend=numpy"])
    bare = run.fitted.history[0].valid
    assert bare is not None
    assert bare >= -6.02
    assert run.metrics["splits"]["test"]["avg_ll"] >= -6.03


def test_the_bits_do_not_depend_on_the_number_of_threads() -> None:
    code = (
        "import hashlib, spnc\n"
        "from spnc.model import to_bytes\n"
        "m = spnc.compile('specs/tree-leaves.yaml', ['forest.0.rows=em'])\n"
        "print(hashlib.sha256(to_bytes(m)).hexdigest())\n"
    )
    found = set()
    for threads in ("1", "4"):
        env = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "PATH": ""}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1
