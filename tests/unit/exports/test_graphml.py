"""GraphML files read back as the same circuit, and bad ones are reported."""

from __future__ import annotations

import io
import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spnc
from spnc.data.columns import Column
from spnc.diagnostics import InputError, Sink, Source
from spnc.graph.graphml import read_graphml_text, write_graphml
from spnc.graph.interchange import to_node_link
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.bernoulli import Bernoulli
from spnc.model import Model
from spnc.program.lower import lower
from spnc.registry import BACKENDS
from tests.circuits import random_circuit, random_rows
from tests.leaf_circuits import leaf_circuit
from tests.places import ROOT

SEEDS = st.integers(0, 10**6)
OPEN = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
CLOSE = '<node id="a"/></graph></graphml>'


def read(content: bytes) -> Graph:
    sink = Sink()
    return sink.require(read_graphml_text(Source("x.graphml", content.decode()), sink))


@settings(max_examples=30)
@given(seed=SEEDS)
def test_a_circuit_reads_back_as_itself(seed: int) -> None:
    for graph in (random_circuit(seed, numeric=0.4, extremes=True), leaf_circuit(seed)[0]):
        again = read(write_graphml(graph, "x"))
        assert to_node_link(again) == to_node_link(graph)
        assert again.graph["columns"] == graph.graph["columns"]


@given(st.text(st.characters(codec=None), min_size=1, max_size=5), st.text(max_size=5))
def test_any_name_survives(name: str, label: str) -> None:
    builder = Builder([Column(name, "binary", 2, ("no", f"{label}!"))])
    builder.leaf(0, Bernoulli(0.25))
    nx.relabel_nodes(builder.graph, {0: name}, copy=False)
    content = write_graphml(builder.graph, name)
    assert "\u202e".encode() not in content
    assert to_node_link(read(content)) == to_node_link(builder.graph)


def test_networkx_itself_reads_weights_and_labels() -> None:
    graph = spnc.compile(ROOT / "specs/circuits/tea.spn").graph()
    plain = nx.read_graphml(io.BytesIO(write_graphml(graph, "tea", lambda n: f"node {n}")))
    weights = sorted(w for *_, w in plain.edges(data="weight") if w is not None)
    assert weights == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert {label for _, label in plain.nodes(data="label")} >= {"node 0"}


def test_a_model_goes_through_a_file(tmp_path) -> None:
    graph = random_circuit(7, numeric=0.4)
    model = Model("weather", *lower(graph), backend=BACKENDS["numpy"]())
    model.export(tmp_path / "weather.graphml")
    again = spnc.compile(tmp_path / "weather.graphml")
    assert again.name == "weather"
    rows = random_rows(7, model.columns, 50, 0.3)
    np.testing.assert_allclose(again.log_likelihood(rows), model.log_likelihood(rows), atol=1e-12)


def test_a_file_by_hand_needs_no_numbers_of_columns() -> None:
    plain = nx.DiGraph(variables='{"rain": "binary"}')
    plain.add_node("r", kind="leaf", variable="rain", distribution="bernoulli", p=0.25)
    plain.add_node("w", kind="leaf", variable="rain", distribution="bernoulli", p="0.5", tie="t")
    plain.add_node("top", kind="sum")
    plain.add_edge("top", "r", weight=0.5)
    plain.add_edge("top", "w", weight=0.5)
    file = io.BytesIO()
    nx.write_graphml_xml(plain, file)
    graph = read(file.getvalue())
    assert set(graph) == {"r", "w", "top"}
    assert graph.nodes["w"]["node"].tie == "t"
    assert graph.nodes["r"]["node"].distribution == Bernoulli(0.25)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is not XML"),
        ("<graphml", "this is not XML"),
        ("<html/>", "this is not GraphML"),
        ("<?xml version='1.0' encoding='utf-2'?><html/>", "unknown encoding: utf-2"),
        (f"{OPEN}</graphml>", "this is not GraphML"),
        (f'{OPEN}<graph edgedefault="undirected">{CLOSE}', "have no direction"),
        (
            f'{OPEN}<key id="v" for="graph" attr.name="variables" attr.type="string"/>'
            f'<graph edgedefault="directed"><data key="v">rain</data>{CLOSE}',
            "not JSON: `variables` of the graph",
        ),
    ],
)
def test_bad_files_are_reported(text: str, message: str) -> None:
    with pytest.raises(InputError, match="E223") as error:
        read(text.encode())
    assert message in str(error.value)


def test_problems_have_the_place_of_their_node_and_edge() -> None:
    text = write_graphml(spnc.compile(ROOT / "specs/circuits/tea.spn").graph(), "tea").decode()
    text = text.replace(">bernoulli<", ">bernouli<", 1)
    text = re.sub(r"(<edge [^>]*/>\n)", r"\1\1", text, count=1)  # one edge of a product twice
    sink = Sink()
    assert read_graphml_text(Source("x.graphml", text), sink) is not None
    lines = {d.code: d.span and text.splitlines()[d.span.line - 1] for d in sink.diagnostics}
    assert set(lines) == {"E210", "E221"}
    assert "<edge " in str(lines["E210"])
    assert "<node id=" in str(lines["E221"])
