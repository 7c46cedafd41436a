"""ONNX files, run by ONNX Runtime, compute what the model computes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spnc
from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.warp import Warp
from spnc.diagnostics import InputError, Sink
from spnc.exports.onnx import INPUT, OUTPUT, write_onnx
from spnc.exports.onnx.densities import DENSITIES, base_of
from spnc.graph.nodes import Builder, Graph
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.leaves.gamma import Gamma
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.histogram import Histogram
from spnc.leaves.negative_binomial import NegativeBinomial
from spnc.leaves.poisson import Poisson
from spnc.leaves.warp_fit import fitted_warp
from spnc.leaves.warped_gaussian import WarpedGaussian
from spnc.model import Model
from spnc.program.lower import lower
from spnc.registry import BACKENDS, LEAVES
from tests.circuits import hidden_tree, random_circuit, random_columns, random_rows
from tests.engines import log_likelihood as engine_values
from tests.leaf_circuits import KINDS, leaf_circuit
from tests.places import ROOT

runtime = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

TOLERANCE = 1e-6
SEEDS = st.integers(0, 10**6)


def opened(content: bytes) -> Callable[[Floats], Floats]:
    """The function that a file computes."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(content, options)

    def run(rows: Floats) -> Floats:
        found: Floats = session.run([OUTPUT], {INPUT: rows})[0]
        return found

    return run


def computed(graph: Graph, rows: Floats) -> Floats:
    sink = Sink()
    return opened(sink.require(write_onnx(graph, "circuit", sink)))(rows)


def log_likelihood(graph: Graph, rows: Floats) -> Floats:
    return engine_values("numpy", graph, rows)


def agree(found: Floats, expected: Floats) -> None:
    assert found.dtype == np.float64
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=TOLERANCE)


@settings(max_examples=40)
@given(seed=SEEDS, share=st.sampled_from([0.0, 0.4]), numeric=st.sampled_from([0.0, 0.5]))
def test_trees_and_dags_with_missing_cells_and_impossible_rows(
    seed: int, share: float, numeric: float
) -> None:
    graph = random_circuit(seed, share=share, numeric=numeric, extremes=True)
    rows = random_rows(seed, graph.graph["columns"], 40, 0.3)
    rows[0] = np.nan
    agree(computed(graph, rows), log_likelihood(graph, rows))


@settings(max_examples=25)
@given(seed=SEEDS)
def test_every_kind_of_leaf(seed: int) -> None:
    graph, rows = leaf_circuit(seed)
    agree(computed(graph, rows), log_likelihood(graph, rows))


def test_warps_of_different_sizes_are_bisected() -> None:
    """One of thousands of pieces beside one of two, and values beyond all knots."""
    rng = np.random.default_rng(3)
    written = rng.choice(rng.integers(0, 10**6, 2000), 5000).astype(np.float64)
    large = fitted_warp(written, np.ones(5000), 1.0)
    assert large is not None
    assert len(large.values) > 2000
    small = Warp((0.0, 1.0, 3.0), (-1.0, 0.0, 0.5))
    columns = [Column(name, "real", 0, warp=w) for name, w in (("a", large), ("b", small))]
    builder = Builder(columns)
    leaves = [builder.leaf(i, WarpedGaussian(0.3, 0.6)) for i in range(2)]
    builder.graph.graph["root"] = builder.product(leaves)
    rows = np.stack([rng.choice(written, 50) + rng.uniform(-1, 1, 50), rng.normal(1, 2, 50)], 1)
    rows[:4, 0] = np.nan, -1e7, 1e7, large.values[7]
    agree(computed(builder.graph, rows), log_likelihood(builder.graph, rows))


def test_every_built_in_leaf_over_numbers_has_an_expression() -> None:
    numeric = {base_of(LEAVES[name]).plugin_name for name in KINDS if not LEAVES[name].is_finite}
    assert set(DENSITIES) == numeric


def one_leaf(kind: str, leaf: object, states: int = 0) -> Graph:
    builder = Builder([Column("x", kind, states)])  # type: ignore[arg-type]
    builder.leaf(0, leaf)  # type: ignore[arg-type]
    return builder.graph


@pytest.mark.parametrize(
    ("kind", "leaf", "values"),
    [
        ("count", Poisson(0.0), [0, 1, 5]),
        ("count", Poisson(1e6), [0, 999_000, 1_000_000, 1_002_000]),
        ("count", Poisson(3.0), [0, 1, 7, 8, 9, 170, 171, 10_000]),
        ("count", NegativeBinomial(1e-3, 0.2), [0, 1, 2, 40]),
        ("count", NegativeBinomial(1e6, 0.5), [0, 999_000, 1_000_000]),
        ("count", NegativeBinomial(2.5, 1.0), [0, 1]),
        ("real", Gamma(1e12, 1e6), [999_999.0, 1_000_000.0, 1_000_002.5, 1.0]),
        ("real", Gamma(1e-3, 1e-3), [1e-300, 1e-5, 1.0, 1e300]),
        ("real", Gaussian(1e9, 1e-6), [1e9, 1e9 + 1e-6, 0.0]),
        ("real", Histogram((0.0, 0.25, 1.0, 0.0, 2.0, 0.75, 5.0)), [-1, 0, 1, 1.5, 2, 5, 5.1]),
    ],
    ids=str,
)
def test_extreme_parameters_and_values(kind: str, leaf: object, values: list[float]) -> None:
    graph = one_leaf(kind, leaf)
    rows = np.array([*values, np.nan], dtype=float)[:, None]
    expected = log_likelihood(graph, rows)
    np.testing.assert_allclose(computed(graph, rows), expected, rtol=1e-12, atol=TOLERANCE)


def test_values_that_no_column_has_are_impossible() -> None:
    """A model refuses such rows with a message, which an ONNX file cannot."""
    finite = one_leaf("categorical", Categorical((0.25, 0.25, 0.5)), 3)
    odd = np.array([[3.0], [-1.0], [0.5], [np.inf], [-np.inf], [1e300]])
    assert (computed(finite, odd) == -np.inf).all()
    assert (computed(one_leaf("count", Poisson(2.0)), odd[1:5]) == -np.inf).all()


def test_rows_far_below_the_range_of_doubles() -> None:
    columns = [Column(f"x{i}") for i in range(400)]
    builder = Builder(columns)
    parts = [
        builder.product([builder.leaf(i, Bernoulli(p)) for i in range(400)]) for p in (1e-3, 1e-5)
    ]
    builder.graph.graph["root"] = builder.sum(parts, [1e-9, 1.0 - 1e-9])
    rows = np.ones((1, 400))
    found = computed(builder.graph, rows)
    assert found[0] < -2000.0
    agree(found, log_likelihood(builder.graph, rows))


def test_dense_blocks_and_sums_of_many_different_sizes() -> None:
    dense = hidden_tree(random_columns(np.random.default_rng(1), 8, True), 5, 2)
    rows = random_rows(3, dense.graph["columns"], 50, 0.2)
    agree(computed(dense, rows), log_likelihood(dense, rows))
    builder = Builder([Column("a"), Column("b")])
    rng, sums = np.random.default_rng(0), []
    for size in (1, 2, 3, 5, 9, 17):
        leaves = [builder.leaf(0, Bernoulli(float(rng.random()))) for _ in range(size)]
        sums.append(builder.sum(leaves, rng.dirichlet(np.ones(size)).tolist()))
    other = builder.leaf(1, Bernoulli(0.3))
    products = [builder.product([s, other]) for s in sums]
    builder.graph.graph["root"] = builder.sum(products, [1 / 6] * 6)
    rows = np.array([[0, 0], [0, 1], [1, np.nan], [np.nan, np.nan]], dtype=float)
    agree(computed(builder.graph, rows), log_likelihood(builder.graph, rows))


def test_no_rows_and_one_row() -> None:
    graph = random_circuit(4, numeric=0.5)
    width = len(graph.graph["columns"])
    assert computed(graph, np.zeros((0, width))).shape == (0,)
    # Exactly 0, although the weights of this circuit add up to one only up to rounding.
    assert computed(graph, np.full((1, width), np.nan)).tolist() == [0.0]


def test_a_trained_model_of_a_mixed_table_takes_the_same_arrays(tmp_path: Path) -> None:
    table = {
        "tea": ["green", "black", "green", None, "white"] * 30,
        "sugar": [2, 0, 4, 4, 2] * 30,
        "price": [2.5, 3.0, 2.0, None, 9.5] * 30,
        "cups": [1, 0, 3, 12, 2] * 30,
    }
    spec = {
        "model": "tea",
        "data": {"columns": {"sugar": "categorical"}},
        "forest": [{"learner": "learn-spn"}],
        "optimizer": {"max_iterations": 3},
        "backend": "numpy",
    }
    model = spnc.train(spec, data=table).model
    labels = {c.name: c.array_labels for c in model.columns}
    assert labels["sugar"] == (0, 2, 4)  # numbers of the table, not codes
    model.export(tmp_path / "tea.onnx")
    rows = np.array([[0, 2, 2.5, 1], [1, 4, np.nan, 12], [np.nan, 0, 3.0, np.nan]], dtype=float)
    content = (tmp_path / "tea.onnx").read_bytes()
    agree(opened(content)(rows), model.log_likelihood(rows))
    about = {p.key: p.value for p in onnx.load_from_string(content).metadata_props}
    assert about["spnc.name"] == "tea"
    columns = json.loads(about["spnc.columns"])
    assert [c["name"] for c in columns] == list(table)
    assert columns[0]["labels"] == list(model.columns[0].labels or ())


def test_leaves_that_only_python_knows_are_refused_with_their_columns(monkeypatch) -> None:
    for name in ("gaussian", "poisson"):
        monkeypatch.delitem(DENSITIES, name)  # as if they came from a plug-in
    builder = Builder([Column("mass", "real", 0), Column("cups", "count", 0), Column("rain")])
    leaves = [Gaussian(0.0, 1.0), Poisson(1.0), Bernoulli(0.5)]
    builder.product([builder.leaf(i, leaf) for i, leaf in enumerate(leaves)])
    sink = Sink()
    assert write_onnx(builder.graph, "x", sink) is None
    assert [(d.code, d.notes) for d in sink.diagnostics] == [
        ("E864", ("over mass",)),
        ("E864", ("over cups",)),
    ]


def test_the_same_model_gives_the_same_bytes() -> None:
    graph = spnc.compile(ROOT / "specs/circuits/asia.spn").graph()
    assert write_onnx(graph, "asia", Sink()) == write_onnx(graph, "asia", Sink())


def test_without_the_package_the_message_says_what_to_install(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    graph = random_circuit(0)
    model = Model("x", *lower(graph), backend=BACKENDS["numpy"]())
    (tmp_path / "x.onnx").write_text("old")
    with pytest.raises(InputError, match=r"E863.*onnx is needed[\s\S]*spnc-forest\[onnx\]"):
        model.export(tmp_path / "x.onnx")
    assert (tmp_path / "x.onnx").read_text() == "old"
