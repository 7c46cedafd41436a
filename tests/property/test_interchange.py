"""Circuits survive every form they can be written in."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spnc
from spnc.data.columns import Column
from spnc.diagnostics import Sink, Source
from spnc.graph.interchange import read_node_link_text, to_networkx, to_node_link
from spnc.graph.nodes import Graph, payloads
from spnc.graph.text import read_circuit_text, write_circuit_text
from tests.circuits import all_states, random_circuit
from tests.engines import log_likelihood

SEEDS = st.integers(0, 10**6)
NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" "), min_size=1),
    min_size=4, max_size=4, unique=True,
)  # fmt: skip


def equal(one: Graph, other: Graph | None) -> None:
    assert other is not None
    assert other.graph["columns"] == one.graph["columns"]
    assert len(other) == len(one)
    assert sorted(d.get("weight", 0.0) for _, _, d in one.edges(data=True)) == sorted(
        d.get("weight", 0.0) for _, _, d in other.edges(data=True)
    )
    states = all_states(one.graph["columns"])
    assert (log_likelihood("numpy", one, states) == log_likelihood("numpy", other, states)).all()


@given(seed=SEEDS, extremes=st.booleans())
def test_a_circuit_reads_back_from_its_text(seed: int, extremes: bool) -> None:
    graph = random_circuit(seed, variables=4, extremes=extremes)
    sink = Sink()
    again = read_circuit_text(Source("again.spn", write_circuit_text(graph, "again")), sink)
    assert sink.diagnostics == []
    equal(graph, again)


@given(seed=SEEDS)
def test_a_circuit_reads_back_from_node_link_json(seed: int) -> None:
    graph = random_circuit(seed, variables=4)
    sink = Sink()
    text = json.dumps(to_node_link(graph))
    equal(graph, read_node_link_text(Source("again.json", text), sink))
    assert sink.diagnostics == []


@given(seed=SEEDS, names=NAMES)
def test_columns_and_nodes_may_be_called_anything(seed: int, names: list[str]) -> None:
    graph = random_circuit(seed, variables=4, binary_only=True)
    graph.graph["columns"] = tuple(Column(name) for name in names)
    renamed = nx.relabel_nodes(graph, {n: f"{names[0]} {n}" for n in graph})
    renamed.graph["root"] = f"{names[0]} {graph.graph['root']}"
    sink = Sink()
    again = read_circuit_text(Source("again.spn", write_circuit_text(renamed, "again")), sink)
    assert sink.diagnostics == []
    equal(renamed, again)
    assert again is not None
    assert set(payloads(again)) == set(payloads(renamed))


@given(seed=SEEDS)
def test_a_plain_networkx_graph_compiles_to_the_same_model(seed: int) -> None:
    graph = random_circuit(seed, variables=4)
    states = all_states(graph.graph["columns"])
    one, two = spnc.compile(graph), spnc.compile(to_networkx(graph))
    assert two.log_likelihood(states) == pytest.approx(one.log_likelihood(states), abs=1e-12)
    assert np.exp(two.log_likelihood(states)).sum() == pytest.approx(1.0)
