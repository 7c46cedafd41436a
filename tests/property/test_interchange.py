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
from spnc.graph.interchange import (
    from_networkx,
    read_node_link_text,
    to_networkx,
    to_node_link,
)
from spnc.graph.nodes import Graph, payloads
from spnc.graph.text import read_circuit_text, write_circuit_text
from spnc.program.lower import lower
from tests.circuits import all_states, random_circuit
from tests.engines import log_likelihood
from tests.mixed_circuits import mixed_circuits

SEEDS = st.integers(0, 10**6)
NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" "), min_size=1),
    min_size=4, max_size=4, unique=True,
)  # fmt: skip


def same(one: Graph, other: Graph | None) -> None:
    """Both have the same columns, and the same nodes and edges under the same names, by text."""
    assert other is not None
    assert other.graph["columns"] == one.graph["columns"]
    types = [
        [type(label) for c in graph.graph["columns"] for label in c.labels or ()]
        for graph in (one, other)
    ]
    assert types[0] == types[1]  # 1, 1.0 and True are equal, but not the same label
    assert write_circuit_text(other, "x") == write_circuit_text(one, "x")


@given(graph=mixed_circuits())
def test_a_circuit_over_any_columns_reads_back_from_its_text(graph: Graph) -> None:
    sink = Sink()
    text = write_circuit_text(graph, "again")
    again = read_circuit_text(Source("again.spn", text), sink)
    assert sink.diagnostics == []
    assert again is not None
    assert again.graph["columns"] == graph.graph["columns"]
    assert write_circuit_text(again, "again") == text
    rows = lower(graph)[1].tables, lower(again)[1].tables
    for one, other in zip(*rows, strict=True):
        assert np.sort(one, axis=None).tobytes() == np.sort(other, axis=None).tobytes()


@given(graph=mixed_circuits())
def test_a_circuit_over_any_columns_reads_back_from_json_and_networkx(graph: Graph) -> None:
    sink = Sink()
    text = json.dumps(to_node_link(graph))
    same(graph, read_node_link_text(Source("again.json", text), sink))
    same(graph, from_networkx(to_networkx(graph), sink))
    assert sink.diagnostics == []


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
