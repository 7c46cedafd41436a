"""RAT-SPNs: the region graph and its circuit have the expected structure."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import spnc
from spnc import checks
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Leaf, Product, Sum, payloads
from spnc.learners.rat_spn import RatSpn, Regions, cut
from tests.circuits import all_states, probability, random_columns, repeated_rows
from tests.learning_tasks import binary, learn

SEEDS = st.integers(0, 10**6)


def region_graph(columns: int, splits: int, repetitions: int, seed: int) -> Regions:
    regions: Regions = {}
    rng = np.random.default_rng(seed)
    for _ in range(repetitions):
        cut(regions, tuple(range(columns)), splits, rng)
    return regions


@given(seed=SEEDS, columns=st.integers(1, 40), splits=st.integers(1, 6), times=st.integers(1, 6))
def test_partitions_halve_their_region(seed: int, columns: int, splits: int, times: int) -> None:
    regions = region_graph(columns, splits, times, seed)
    for region, partitions in regions.items():
        assert len(set(partitions)) == len(partitions)
        for one, other in partitions:
            assert tuple(sorted(one + other)) == region
            assert abs(len(one) - len(other)) <= 1
            assert one in regions
            assert other in regions
    smallest = min(len(region) for region, partitions in regions.items() if not partitions)
    assert smallest == max(1, columns >> splits)


def test_splitting_ends_at_single_columns() -> None:
    regions = region_graph(5, 50, 3, 0)
    assert {len(region) for region, partitions in regions.items() if not partitions} == {1}


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS,
    width=st.integers(1, 5),
    splits=st.integers(1, 3),
    repetitions=st.integers(1, 3),
    sums=st.integers(1, 3),
    inputs=st.integers(1, 3),
    missing=st.sampled_from([0.0, 0.3]),
    alpha=st.sampled_from([0.0, 0.1]),
)
def test_what_it_builds_is_valid_and_sums_to_one(
    seed: int,
    width: int,
    splits: int,
    repetitions: int,
    sums: int,
    inputs: int,
    missing: float,
    alpha: float,
) -> None:
    columns = random_columns(np.random.default_rng(seed), width)
    table = repeated_rows(seed, tuple(columns), 60, missing)
    learner = RatSpn(splits=splits, repetitions=repetitions, sums=sums, inputs=inputs)
    graph = learn(learner, columns, table, seed, alpha)
    sink = Sink()
    checks.check(graph, sink)
    assert sink.diagnostics == []
    total = sum(probability(graph, row) for row in all_states(tuple(columns)))
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize(("splits", "times", "sums", "inputs"), [(1, 2, 5, 3), (3, 3, 4, 2)])
def test_its_size_follows_from_its_options(splits: int, times: int, sums: int, inputs: int) -> None:
    """Of 64 columns no two repetitions cut off the same part, so nothing is shared."""
    columns = binary(64)
    table = repeated_rows(1, tuple(columns), 50, 0.0)
    learner = RatSpn(splits=splits, repetitions=times, sums=sums, inputs=inputs)
    graph = learn(learner, columns, table)
    parts = 2**splits  # leaf regions of a repetition
    low, high = (parts // 2) * inputs**2, (parts // 2 - 1) * sums**2  # products of partitions
    kinds = [type(payload) for payload in payloads(graph).values()]
    assert kinds.count(Leaf) == times * 64 * inputs
    assert kinds.count(Product) == times * (parts * inputs + low + high)
    assert kinds.count(Sum) == times * (parts - 2) * sums + 1
    at_root = inputs**2 if splits == 1 else sums**2
    weights = times * (sums * (low + high - at_root) + at_root)
    assert graph.number_of_edges() == times * (64 * inputs + 2 * (low + high)) + weights


def test_a_region_met_twice_is_one_region() -> None:
    """Three columns can be cut in at most three ways, whatever the number of repetitions."""
    columns = binary(3)
    table = repeated_rows(2, tuple(columns), 50, 0.0)
    graph = learn(RatSpn(splits=2, repetitions=30, sums=2, inputs=2), columns, table)
    leaves = [p for p in payloads(graph).values() if isinstance(p, Leaf)]
    assert len(leaves) == 3 * 2
    assert len(graph.succ[graph.graph["root"]]) == 3 * 2 * 2


def test_all_sums_of_a_region_share_their_children() -> None:
    columns = binary(32)
    table = repeated_rows(3, tuple(columns), 50, 0.0)
    graph = learn(RatSpn(splits=2, repetitions=3, sums=5, inputs=3), columns, table)
    inner = [n for n, p in payloads(graph).items() if isinstance(p, Sum) and graph.pred[n]]
    families = [frozenset(graph.succ[n]) for n in inner]
    assert [families.count(tree) for tree in set(families)] == [5] * 6


def test_the_same_seed_gives_the_same_circuit_and_another_seed_another() -> None:
    columns = binary(8)
    table = repeated_rows(4, tuple(columns), 200, 0.1)
    one, two, other = (learn(RatSpn(), columns, table, s) for s in (3, 3, 4))
    assert list(one.edges(data=True)) == list(two.edges(data=True))
    assert payloads(one) == payloads(two)
    assert payloads(one) != payloads(other)


def test_threads_do_not_change_a_bit() -> None:
    columns = binary(16)
    table = repeated_rows(4, tuple(columns), 400, 0.1)
    found = []
    for threads in (1, 4):
        with threadpool_limits(limits=threads):
            graph = learn(RatSpn(sums=20), columns, table)
        found.append((payloads(graph), list(graph.edges(data=True))))
    assert found[0] == found[1]


def test_the_rows_behind_all_leaves_of_a_column_are_all_rows() -> None:
    columns = binary(10)
    table = repeated_rows(5, tuple(columns), 80, 0.1)
    graph = learn(RatSpn(), columns, table)
    node, total = payloads(graph), table.weights.sum()
    assert node[graph.graph["root"]].rows == pytest.approx(total)
    for i in range(10):
        leaves = [p for p in node.values() if isinstance(p, Leaf) and p.variable == i]
        assert sum(leaf.rows for leaf in leaves) == pytest.approx(total)


def test_inputs_lie_between_the_columns_shares_and_training_rows() -> None:
    """Rows are all ones or all zeros, so an input leans the same way in all of its columns."""
    values = np.repeat([[0.0] * 6, [1.0] * 6], [60, 40], axis=0)
    learner = RatSpn(splits=1, repetitions=1, inputs=12)
    graph = learn(learner, binary(6), Table(values), alpha=0.0)
    node = payloads(graph)
    leaning = set()
    for n, payload in node.items():
        below = [node[c] for c in graph.succ[n]]
        if isinstance(payload, Product) and all(isinstance(leaf, Leaf) for leaf in below):
            shares = {leaf.distribution.row[0] for leaf in below if isinstance(leaf, Leaf)}
            assert len(shares) == 1
            leaning |= shares
    assert len(leaning) == 2
    assert 0.0 < min(leaning) < 0.4 < max(leaning) < 1.0


def test_em_learns_what_independent_columns_do_not_know(tmp_path: Path) -> None:
    rows = repeated_rows(6, tuple(binary(8)), 1500, 0.0).values
    np.savetxt(tmp_path / "rows.csv", rows, fmt="%d", delimiter=",")
    spec = tmp_path / "rat.yaml"
    spec.write_text(
        "model: rat\ndata: {source: rows.csv, split: [0.8, 0.1, 0.1]}\n"
        "forest: [{learner: rat-spn, splits: 2, repetitions: 2, sums: 4, inputs: 4}]\n"
        "optimizer: {method: em, max_iterations: 60, stop: none, patience: none}\n"
        "backend: numpy\n"
    )
    trained = spnc.train(spec)
    objectives = [record.objective for record in trained.fitted.history]
    assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(objectives))
    shares = rows.mean(axis=0)
    independent = (shares * np.log(shares) + (1 - shares) * np.log(1 - shares)).sum()
    assert trained.scores["test"].average > independent + 1.0
