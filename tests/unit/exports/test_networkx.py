"""Models become networkx graphs with plain attributes, and come back node by node."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spnc
from spnc.model import Model
from spnc.program.lower import lower
from spnc.registry import BACKENDS
from tests.circuits import random_circuit, random_rows


def model_of(seed: int) -> Model:
    graph = random_circuit(seed, numeric=0.4)
    return Model("weather", *lower(graph), backend=BACKENDS["numpy"]())


@given(st.integers(0, 10**6))
def test_there_and_back_has_the_same_nodes_and_likelihoods(seed: int) -> None:
    model = model_of(seed)
    again = spnc.from_networkx(model.to_networkx())
    again.backend = BACKENDS["numpy"]()
    assert again.name == model.name
    assert again.columns == model.columns
    assert again.program.facts() == model.program.facts()
    rows = random_rows(seed, model.columns, 30, 0.3)
    np.testing.assert_allclose(again.log_likelihood(rows), model.log_likelihood(rows), atol=1e-12)


def test_attributes_are_plain_and_name_columns() -> None:
    model = model_of(3)
    graph = model.to_networkx()
    assert type(graph) is nx.DiGraph
    assert list(graph.graph["variables"]) == [c.name for c in model.columns]
    assert graph.graph["root"] in graph
    for _, data in graph.nodes(data=True):
        assert data["kind"] in ("sum", "product", "leaf")
        if data["kind"] == "leaf":
            assert data["variable"] in graph.graph["variables"]
    sums = {n for n, data in graph.nodes(data=True) if data["kind"] == "sum"}
    assert {n for n, _, data in graph.edges(data=True) if "weight" in data} == sums


def test_every_problem_of_a_graph_is_reported() -> None:
    graph = nx.DiGraph(variables=["rain", "wind"])
    graph.add_node("r", kind="leaf", variable="rian", distribution="bernoulli", p=0.3)
    graph.add_node("w", kind="leaf", variable="wind", distribution="bernouli", p=0.6)
    graph.add_node("top", kind="product")
    graph.add_edges_from([("top", "r"), ("top", "w")])
    with pytest.raises(spnc.InputError) as error:
        spnc.from_networkx(graph)
    assert [d.code for d in error.value.diagnostics] == ["E208", "E221"]
