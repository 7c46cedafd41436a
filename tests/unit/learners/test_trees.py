"""Spanning trees over columns, compared with networkx, and the cached mutual information."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.learners.support.trees import maximum_spanning_tree, shared_information


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


def test_a_table_is_counted_once_for_all_who_ask() -> None:
    columns = [Column("a"), Column("b")]
    table = Table(np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]))
    first = shared_information(columns, table, 0.1)
    assert shared_information(columns, table, 0.1) is first
    assert shared_information(columns, table, 0.2) is not first
    assert shared_information(columns, Table(table.values), 0.1) is not first
