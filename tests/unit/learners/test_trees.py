"""Spanning trees over columns, compared with networkx, and the cached mutual information."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.binning import binned
from spnc.data.columns import Column
from spnc.data.pairs import mutual_information, pair_counts
from spnc.data.table import Table
from spnc.learners.support.trees import (
    UNBIASED,
    comparable_information,
    maximum_spanning_tree,
    shared_information,
)


@given(seed=st.integers(0, 10_000), root=st.integers(0, 7))
def test_the_tree_is_the_heaviest_one_and_parents_come_before_children(
    seed: int, root: int
) -> None:
    affinity = np.random.default_rng(seed).random((8, 8))
    affinity += affinity.T
    edges = maximum_spanning_tree(affinity, root)
    graph = nx.Graph()
    graph.add_weighted_edges_from((i, j, affinity[i, j]) for i in range(8) for j in range(i))
    expected = nx.maximum_spanning_tree(graph).size(weight="weight")
    np.testing.assert_allclose(sum(affinity[edge] for edge in edges), expected)
    reached = {root}
    for parent, child in edges:
        assert parent in reached
        reached.add(child)
    assert len(reached) == 8


def test_only_columns_that_differ_are_charged_for_degrees_of_freedom() -> None:
    """Trees over columns with equally many states are those of plain mutual information."""
    rng = np.random.default_rng(1)
    states = (Column("a", "categorical", 5), Column("b", "categorical", 5))
    rows = np.stack([*(rng.integers(c.states, size=100) for c in states), rng.normal(size=100)], 1)
    numbers = (*states, Column("x", "real", 0))
    plain = mutual_information(pair_counts(states, Table(rows[:, :2].copy())), 0.1)
    np.testing.assert_array_equal(shared_information(states, Table(rows[:, :2].copy()), 0.1), plain)
    mixed = shared_information(numbers, Table(rows), 0.1)
    np.testing.assert_allclose(mixed[0, 1], plain[0, 1] - UNBIASED * 16.0 / 100.0)


def test_the_range_of_a_number_that_says_nothing_is_no_better_than_a_weak_truth() -> None:
    """Of 120 rows, eight ranges and five states share more by chance than two bits that agree."""
    columns = (
        *(Column("a"), Column("b")),
        *(Column("label", "categorical", 5), Column("x", "real", 0)),
    )
    found = np.zeros(2)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        first = rng.integers(2, size=120)
        second = np.where(rng.random(120) < 0.8, first, 1 - first)
        rows = np.stack([first, second, rng.integers(5, size=120), rng.normal(size=120)], axis=1)
        for charge in (0, 1):
            own = comparable_information(
                columns, pair_counts(*binned(columns, Table(rows))), 0.1, charge
            )
            found[charge] += own[0, 1] > own[2, 3]
    assert found[1] == 20
    assert found[0] < 20


def test_a_table_is_counted_once_for_all_who_ask() -> None:
    columns = [Column("a"), Column("b")]
    table = Table(np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]))
    first = shared_information(columns, table, 0.1)
    assert shared_information(columns, table, 0.1) is first
    assert shared_information(columns, table, 0.2) is not first
    assert shared_information(columns, Table(table.values), 0.1) is not first
