"""Drawings name nodes in the words of the table, can be read, and let nothing through."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from dataclasses import replace
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.data.columns import Column, Scale
from spnc.diagnostics import InputError, Sink
from spnc.exports.dot import write_dot
from spnc.exports.drawing import MOST_NODES, Drawing, drawing_of
from spnc.exports.labels import leaf_text, short
from spnc.exports.layout import layout
from spnc.exports.svg import write_svg
from spnc.graph.nodes import Builder, Graph, Leaf, find_root, payloads
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.leaves.exponential import Exponential
from spnc.leaves.gamma import Gamma
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.histogram import Histogram
from spnc.leaves.indicator import Indicator
from spnc.leaves.point import Point
from spnc.leaves.poisson import Poisson
from spnc.leaves.uniform import Uniform
from tests.circuits import hidden_tree, random_circuit, random_columns

SEEDS = st.integers(0, 10**6)
SPECIES = Column("species", "categorical", 3, ("Adelie", "Chinstrap", "Gentoo"))
MASS = Column("mass", "real", 0, scale=Scale(25.0, 2700.0, 6300.0, 4200.0, 800.0), unit="g")
CUPS = Column("cups", "count", 0, scale=Scale(1.0, 0.0, 9.0, 2.0, 1.5))
DAY = Column("day", "date", 0, scale=Scale(1.0, 18000.0, 19000.0, 18500.0, 100.0), unit="days")
SMOKER = Column("smoker", "binary", 2, ("no", "yes"))
NINE = Column("x", "categorical", 9)
THREE = "Adelie 0.44, Gentoo 0.36, Chinstrap 0.2"
BINS = "2,000 to 3,000 → 0.25, 3,000 to 6,000 → 0.75"


@pytest.mark.parametrize(
    ("column", "leaf", "text"),
    [
        (SPECIES, Categorical((0.44, 0.2, 0.36)), f"species: {THREE}"),
        (SPECIES, Categorical((0.0, 1.0, 0.0)), "species = Chinstrap"),
        (SPECIES, Categorical((0.5, 0.0, 0.5)), "species: Adelie 0.5, Gentoo 0.5"),
        (SPECIES, Indicator(2.0), "species = Gentoo"),
        (SMOKER, Bernoulli(0.25), "smoker: yes 0.25"),
        (SMOKER, Bernoulli(0.0), "smoker = no"),
        (Column("x"), Bernoulli(0.25), "x: 1 → 0.25"),
        (NINE, Categorical((0.2,) * 4 + (0.04,) * 5), "x: 0 → 0.2, 1 → 0.2, 2 → 0.2, …"),
        (MASS, Gaussian(4200.0, 800.0), "mass ~ normal(4,200, 800) g"),
        (MASS, Gamma(27.5, 0.00655), "mass ~ gamma(27.5, 0.00655) g"),
        (MASS, Uniform(2700.0, 6300.0), "mass in 2,700 to 6,300 g"),
        (MASS, Point(0.0, 25.0), "mass = 0 g"),
        (MASS, Histogram((2e3, 0.25, 3e3, 0.75, 6e3)), f"mass: {BINS} g"),
        (CUPS, Poisson(2.0), "cups ~ poisson(2)"),
        (CUPS, Histogram((-0.5, 0.25, 0.5, 0.75, 4.5)), "cups: 0 → 0.25, 1 to 4 → 0.75"),
        (DAY, Gaussian(18628.0, 30.0), "day ~ normal(2021-01-01, 30 days)"),
        (Column("wait", "real", 0), Exponential(1e-7), "wait ~ exponential(1e-07)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_leaf_in_words(column: Column, leaf, text: str) -> None:
    assert leaf_text(column, leaf) == text


@given(st.floats(-1e300, 1e300))
def test_short_numbers_are_near_and_short(value: float) -> None:
    text = short(value)
    assert float(text.replace(",", "")) == pytest.approx(value, rel=5e-3)
    assert len(text) <= 10


def drawn(graph: Graph, **options) -> Drawing:
    sink = Sink()
    return sink.require(drawing_of(graph, "circuit", sink, **options))


@settings(max_examples=30)
@given(seed=SEEDS)
def test_all_nodes_edges_and_weights_are_drawn_once(seed: int) -> None:
    graph = random_circuit(seed, numeric=0.3)
    drawing = drawn(graph, force=True)
    assert len(drawing.shapes) == graph.number_of_nodes()
    assert len(drawing.lines) == graph.number_of_edges()
    kinds = [type(payload).__name__.lower() for payload in payloads(graph).values()]
    assert sorted(s.kind for s in drawing.shapes) == sorted(kinds)
    weights = sorted(d["weight"] for *_, d in graph.edges(data=True) if "weight" in d)
    assert sorted(line.weight for line in drawing.lines if line.weight is not None) == weights
    dot = write_dot(drawing)
    assert dot.count(" -> ") == graph.number_of_edges()
    picture = ElementTree.fromstring(write_svg(drawing))
    space = "{http://www.w3.org/2000/svg}"
    assert len(picture.findall(f"{space}path")) == graph.number_of_edges()
    assert len(picture.findall(f"{space}g")) == graph.number_of_nodes()
    shown = [t for t in picture.iter(f"{space}text") if t.get("class") == "weight"]
    assert len(shown) == len(weights)


@given(seed=SEEDS, depth=st.integers(1, 4))
def test_the_top_of_a_circuit_ends_in_boxes(seed: int, depth: int) -> None:
    graph = random_circuit(seed)
    drawing = drawn(graph, depth=depth)
    far = nx.single_source_shortest_path_length(graph, find_root(graph))
    node = payloads(graph)
    assert len(drawing.shapes) == sum(k <= depth for k in far.values())
    cut = [n for n, k in far.items() if k == depth and not isinstance(node[n], Leaf)]
    boxes = [s for s in drawing.shapes if s.kind == "rest"]
    assert len(boxes) == len(cut)
    assert all(re.match(r"… \d columns?: x\d", box.text) for box in boxes)


def test_a_large_circuit_is_refused_with_a_way_out() -> None:
    columns = random_columns(np.random.default_rng(0), 20, True)
    graph = hidden_tree(columns, 6, 0)
    with pytest.raises(InputError) as error:
        drawn(graph)
    assert "E862" in str(error.value)
    assert f"a drawing can be read up to {MOST_NODES}" in str(error.value)
    fitting = int(re.findall(r"--depth (\d+) draws", str(error.value))[0])
    assert len(drawn(graph, depth=fitting).shapes) <= MOST_NODES
    with pytest.raises(InputError, match=f"to a depth of {fitting + 1}, the circuit has"):
        drawn(graph, depth=fitting + 1)
    assert len(drawn(graph, force=True).shapes) == graph.number_of_nodes()


# ---- what a drawing looks like ---------------------------------------------------------------


def crossings(routes) -> int:
    """Pairs of straight pieces that cross, counted in the plainest way."""
    pieces = [p for route in routes for p in itertools.pairwise(route)]
    return sum(
        a[0][0] == b[0][0] and (a[0][1] - b[0][1]) * (a[1][1] - b[1][1]) < -1e-9
        for a, b in itertools.combinations(pieces, 2)
    )


@settings(max_examples=30)
@given(seed=SEEDS)
def test_trees_are_drawn_without_crossings(seed: int) -> None:
    drawing = drawn(random_circuit(seed, share=0.0), force=True)
    edges = [(line.parent, line.child) for line in drawing.lines]
    places = layout(len(drawing.shapes), edges, [s.kind == "leaf" for s in drawing.shapes])
    assert crossings(places.routes) == 0


@settings(max_examples=30)
@given(seed=SEEDS)
def test_nodes_keep_their_distance_and_edges_lead_to_the_right(seed: int) -> None:
    drawing = drawn(random_circuit(seed, share=0.5), force=True)
    edges = [(line.parent, line.child) for line in drawing.lines]
    leaf = [s.kind == "leaf" for s in drawing.shapes]
    places = layout(len(drawing.shapes), edges, leaf)
    assert min(places.height) >= 0.0
    for route in places.routes:
        assert [k for k, _ in route] == list(range(route[0][0], route[-1][0] + 1))
    for k in set(places.layer):
        own = sorted(h for h, at in zip(places.height, places.layer, strict=True) if at == k)
        assert all(b - a >= 1.0 - 1e-9 for a, b in itertools.pairwise(own))
    assert {places.layer[i] for i, is_leaf in enumerate(leaf) if is_leaf} <= {max(places.layer)}


def test_a_single_leaf_is_a_drawing() -> None:
    builder = Builder([SMOKER])
    builder.leaf(0, Bernoulli(0.5))
    assert "smoker: yes 0.5" in write_svg(drawn(builder.graph))


# ---- names from files --------------------------------------------------------------------------

EVIL = ["<script>alert(1)</script>", "\u202egnp.exe", 'a" onload="x', "]]>", "\\N", "a\nb", "&lt;"]


@pytest.mark.parametrize("name", EVIL)
def test_names_are_escaped(name: str) -> None:
    label = f"yes {name}"
    builder = Builder([Column(name, "binary", 2, ("no", label))])
    leaves = [builder.leaf(0, Bernoulli(0.5)), builder.leaf(0, Bernoulli(0.25))]
    builder.sum(leaves, [0.5, 0.5])
    sink = Sink()
    drawing = sink.require(drawing_of(builder.graph, name, sink))
    for text in (write_svg(drawing), write_dot(drawing)):
        assert "\u202e" not in text
    picture = ElementTree.fromstring(write_svg(drawing))
    tags = {e.tag.split("}")[1] for e in picture.iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "text", "tspan", "path", "g", "circle"}
    assert {a for e in picture.iter() for a in e.attrib if a.startswith("on")} == set()
    first = write_dot(drawing).splitlines()[4]
    strings = re.findall(r'"(?:[^"\\]|\\.)*"', first)
    assert re.sub(r'"(?:[^"\\]|\\.)*"', "", first).startswith("  n0 [label=, tooltip=, ")
    assert len(strings) >= 2


@pytest.mark.parametrize("name", EVIL)
def test_graphviz_reads_what_is_written(name: str, tmp_path) -> None:
    program = shutil.which("dot")
    if program is None:
        pytest.skip("Graphviz is not installed")
    graph = random_circuit(5)
    columns = [replace(c, name=f"{name}{i}") for i, c in enumerate(graph.graph["columns"])]
    graph.graph["columns"] = tuple(columns)
    drawing = drawn(graph, force=True)
    (tmp_path / "x.dot").write_text(write_dot(drawing), encoding="utf-8")
    done = subprocess.run(
        [program, "-Tplain", "x.dot"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    kinds = [line.split(" ", 1)[0] for line in done.stdout.splitlines()]
    assert kinds.count("node") == len(drawing.shapes)
    assert kinds.count("edge") == len(drawing.lines)


def test_titles_say_what_shapes_leave_out() -> None:
    builder = Builder([SPECIES, MASS])
    parts = [builder.leaf(0, Categorical((0.5, 0.25, 0.25))), builder.leaf(1, Gaussian(4e3, 600.0))]
    builder.product(parts)
    text = write_svg(drawn(builder.graph))
    assert "leaf #0: species ~ categorical(0.5, 0.25, 0.25)" in text
    assert "product #2 over 2 columns: species, mass" in text
