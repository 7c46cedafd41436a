"""Evaluating a node's marginal equals evaluating the node with the other columns missing."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spnc.common.column_sets import members
from spnc.graph.marginals import Marginals
from spnc.graph.nodes import Builder, Graph, children_first
from spnc.graph.scopes import scopes
from tests.circuits import all_states, probability, random_circuit

SEEDS = st.integers(0, 10**6)


def builder_of(graph: Graph) -> Builder:
    builder = Builder(graph.graph["columns"])
    builder._graph = graph
    builder._next = len(graph)
    return builder


@given(seed=SEEDS, share=st.booleans())
def test_a_marginal_node_is_the_node_with_columns_left_out(seed: int, share: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = random_circuit(seed, variables=5, depth=6, share=0.5, extremes=True)
    root, before = graph.graph["root"], graph.copy()
    scope = scopes(graph, children_first(graph))
    marginals = Marginals(builder_of(graph), scope, share=share)  # type: ignore[arg-type]
    for _ in range(3):
        wanted = int(rng.integers(1, 2**5))
        made = marginals.of(root, wanted)
        assert scope[made] == wanted
        rows = all_states(graph.graph["columns"])
        rows[:, [v for v in range(5) if v not in members(wanted)]] = np.nan
        for row in np.unique(rows, axis=0)[:20]:
            graph.graph["root"] = made
            found = probability(graph, row)
            graph.graph["root"] = root
            np.testing.assert_allclose(found, probability(graph, row), rtol=1e-12)
    assert before.nodes(data=True) == graph.subgraph(before).nodes(data=True)
    assert set(before.edges) == set(graph.subgraph(before).edges)


@given(seed=SEEDS)
def test_what_was_marginalised_once_is_used_again(seed: int) -> None:
    graph = random_circuit(seed, variables=6, depth=6, share=0.5)
    scope = scopes(graph, children_first(graph))
    marginals = Marginals(builder_of(graph), scope)  # type: ignore[arg-type]
    made = {wanted: marginals.of(graph.graph["root"], wanted) for wanted in (0b111, 0b11, 0b1)}
    size = len(graph)
    assert {wanted: marginals.of(graph.graph["root"], wanted) for wanted in made} == made
    assert len(graph) == size
    # A node whose columns are all wanted is used as it is, not copied.
    full = (1 << 6) - 1
    assert marginals.of(graph.graph["root"], full) == graph.graph["root"]


@given(seed=SEEDS)
def test_a_marginal_that_was_changed_is_made_again(seed: int) -> None:
    """And what was made over it; all other results are used again."""
    rng = np.random.default_rng(seed)
    graph = random_circuit(seed, variables=5, depth=6, share=0.5)
    root, before = graph.graph["root"], set(graph)
    scope = scopes(graph, children_first(graph))
    marginals = Marginals(builder_of(graph), scope)  # type: ignore[arg-type]
    made = {wanted: marginals.of(root, wanted) for wanted in (0b111, 0b11, 0b1100, 0b1)}
    sums = [
        n for n in set(graph) - before if len(graph.succ[n]) and "weight" in first_edge(graph, n)
    ]
    if not sums:
        return
    changed = int(rng.choice(sums))
    first_edge(graph, changed)["weight"] *= 0.5
    above = nx.ancestors(graph, changed) | {changed}
    marginals.mark_changed(changed)
    for wanted, earlier in made.items():
        again = marginals.of(root, wanted)
        assert (again == earlier) == (earlier not in above)
        row = all_states(graph.graph["columns"])[-1]
        row[[v for v in range(5) if v not in members(wanted)]] = np.nan
        graph.graph["root"] = again
        found = probability(graph, row)
        graph.graph["root"] = root
        np.testing.assert_allclose(found, probability(graph, row), rtol=1e-12)


def first_edge(graph: Graph, n: int) -> dict[str, float]:
    """Return the attributes of a node's first edge."""
    found: dict[str, float] = next(iter(graph.succ[n].values()))
    return found
