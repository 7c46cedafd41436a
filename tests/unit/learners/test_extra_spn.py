"""ExtraSPN builds valid, reproducible circuits of the size its options ask for."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc import checks
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Builder, Graph, Leaf, Product, Sum, payloads
from spnc.learners import LearningTask
from spnc.learners.extra_spn import ExtraSpn
from spnc.learners.support.leaf_choice import DEFAULT
from spnc.learners.support.leaf_fit import DataSlice, fit_leaves
from spnc.leaves.smoothing import Smoothing
from tests.circuits import random_columns, random_rows

SEEDS = st.integers(0, 10**6)


def learn(learner: ExtraSpn, values: np.ndarray, seed: int = 0, alpha: float = 0.1) -> Graph:
    kinds = []
    for i in range(values.shape[1]):
        states = max(2, int(np.nanmax(values[:, i])) + 1)
        kinds.append(Column(f"x{i}", "binary" if states == 2 else "categorical", states))
    builder = Builder(kinds)
    rng = np.random.default_rng(seed)
    prior = Smoothing.of(alpha)
    root = learner.learn(LearningTask(tuple(kinds), Table(values), prior, rng, builder, Sink()))
    builder.graph.graph["root"] = root
    return builder.graph


def random_values(seed: int, rows: int, columns: int, states: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).integers(states, size=(rows, columns)).astype(float)


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS,
    rows=st.sampled_from(["random", "kmeans"]),
    both=st.sampled_from(["retry", "factorise"]),
    missing=st.sampled_from([0.0, 0.2]),
    beta=st.sampled_from([0.0, 0.3, 0.9]),
    states=st.integers(2, 3),
)
def test_what_it_builds_is_a_valid_circuit(
    seed: int, rows: str, both: str, missing: float, beta: float, states: int
) -> None:
    values = random_values(seed, 60, 5, states)
    values[np.random.default_rng(seed).random(values.shape) < missing] = np.nan
    values[0] = states - 1
    learner = ExtraSpn(beta=beta, rows=rows, when_both_fail=both, clusters=3)  # type: ignore[arg-type]
    graph = learn(learner, values, seed)
    sink = Sink()
    checks.check(graph, sink)
    assert sink.diagnostics == []


def test_the_same_seed_gives_the_same_circuit_and_another_seed_another() -> None:
    values = random_values(1, 300, 8)
    for rows in ("random", "kmeans"):
        one, two, other = (learn(ExtraSpn(rows=rows), values, s) for s in (3, 3, 4))  # type: ignore[arg-type]
        assert list(one.edges(data=True)) == list(two.edges(data=True))
        assert payloads(one) == payloads(two)
        assert payloads(one) != payloads(other)


def test_global_random_state_is_left_alone() -> None:
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # type: ignore[index,union-attr]  # noqa: NPY002
    learn(ExtraSpn(rows="kmeans"), random_values(2, 200, 6))
    assert (np.random.get_state()[1] == before).all()  # type: ignore[index]  # noqa: NPY002


def test_splits_that_never_fail_give_a_product_of_leaves() -> None:
    graph = learn(ExtraSpn(beta=0.0, min_instances=1), random_values(3, 50, 8))
    kinds = {type(p) for p in payloads(graph).values()}
    assert kinds == {Product, Leaf}


def test_slices_below_the_minimum_are_factorised() -> None:
    graph = learn(ExtraSpn(min_instances=51), random_values(3, 50, 8))
    assert graph.number_of_nodes() == 9
    graph = learn(ExtraSpn(min_instances=50, beta=0.9), random_values(3, 50, 8))
    assert graph.number_of_nodes() > 9


def test_leaves_and_weights_are_the_smoothed_shares_of_their_rows() -> None:
    values = random_values(4, 50, 3)
    graph = learn(ExtraSpn(min_instances=51), values, alpha=0.5)
    for payload in payloads(graph).values():
        if isinstance(payload, Leaf):
            ones = values[:, payload.variable].sum()
            assert payload.distribution.row[0] == pytest.approx((ones + 0.5) / (50 + 1))
            assert payload.rows == 50


def test_rows_behind_the_children_of_a_sum_add_up() -> None:
    graph = learn(ExtraSpn(min_instances=5, beta=0.7), random_values(5, 400, 6))
    node = payloads(graph)
    sums = [n for n, p in node.items() if isinstance(p, Sum)]
    assert sums
    for n in sums:
        assert sum(node[c].rows for c in graph.succ[n]) == node[n].rows


def test_clustered_rows_separate_what_is_separate() -> None:
    """Two kinds of rows, all ones and all zeros: k-means finds them at the first row split."""
    values = np.repeat([[0.0] * 6, [1.0] * 6], [40, 60], axis=0)
    graph = learn(ExtraSpn(rows="kmeans", beta=0.99, min_instances=41), values, seed=1)
    top = graph.graph["root"]
    assert isinstance(graph.nodes[top]["node"], Sum)
    weights = sorted(d["weight"] for d in graph.succ[top].values())
    assert weights == pytest.approx([40.1 / 100.2, 60.1 / 100.2])


def test_sixty_thousand_nodes_are_built_without_recursion() -> None:
    learner = ExtraSpn(min_instances=10, beta=0.6, clusters=4)
    graph = learn(learner, random_values(6, 20_000, 100), seed=3)
    assert graph.number_of_nodes() > 60_000


@pytest.mark.parametrize("rows", ["random", "kmeans"])
def test_the_bits_do_not_depend_on_the_number_of_threads(rows: str) -> None:
    code = (
        "import hashlib, spnc\n"
        "from spnc.model import to_bytes\n"
        "m = spnc.compile('specs/quickstart.yaml', ['forest.0.count=1', "
        "'data.split=[0.2,0.1,0.7]', "
        f"'forest.0.rows={rows}'])\n"
        "print(hashlib.sha256(to_bytes(m)).hexdigest())\n"
    )
    found = set()
    for threads in ("1", "2", "8"):
        env = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "PATH": ""}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_gamma_bounds_the_smallest_slice_that_is_split() -> None:
    """With gamma equal to the rows the minimum is 1, and only single rows are factorised."""
    values = random_values(7, 64, 6)
    deep = [learn(ExtraSpn(gamma=64.0, beta=0.8), values, s).number_of_nodes() for s in range(20)]
    flat = [learn(ExtraSpn(gamma=1.0, beta=0.8), values, s).number_of_nodes() for s in range(20)]
    assert np.mean(deep) > 2 * np.mean(flat)


def test_row_splits_fail_with_probability_beta() -> None:
    """From a slice of two columns: product first with 0.1, else rows with 0.1, in turn."""
    values = random_values(8, 200, 2)
    learner = ExtraSpn(beta=0.9, min_instances=200)
    roots = [learn(learner, values, s) for s in range(400)]
    sums = sum(isinstance(g.nodes[g.graph["root"]]["node"], Sum) for g in roots)
    # Columns are tried first, so that a sum is a little rarer than a product: 0.9 / 1.9.
    assert 0.38 < sums / 400 < 0.57


def test_a_slice_that_could_not_be_split_is_factorised_if_asked() -> None:
    values = random_values(9, 200, 4)
    learner = ExtraSpn(beta=0.9, min_instances=2, when_both_fail="factorise")
    sizes = [learn(learner, values, s).number_of_nodes() for s in range(300)]
    flat = sizes.count(5) / 300  # a product of four leaves at once
    assert 0.6 < flat < 0.85  # 0.9 to the power of three, and columns split into single ones


def blocks_over(table: Table, rng: np.random.Generator) -> list[DataSlice]:
    """Slices of many sizes, some of them alike, one without rows."""
    found = []
    for size in (1, 1, 2, 2, 2, 7, 30, 0):
        rows = np.sort(rng.choice(table.rows, size, replace=False))
        columns = rng.choice(table.values.shape[1], int(rng.integers(1, 5)), replace=False)
        found.append(DataSlice(rows, columns, float(table.weights[rows].sum())))
    return found


@given(seed=SEEDS, alpha=st.sampled_from([0.0, 0.1, 2.0]))
def test_leaves_fitted_together_are_the_shares_of_each_block(seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, 6)
    values = random_rows(seed, tuple(columns), 40, missing=0.2)
    table = Table(values, rng.integers(3, size=40).astype(float))
    blocks = blocks_over(table, rng)
    fitted = list(fit_leaves(columns, table, blocks, Smoothing.of(alpha), DEFAULT))
    assert [len(leaves) for leaves in fitted] == [len(part.columns) for part in blocks]
    for part, leaves in zip(blocks, fitted, strict=True):
        for v, model in zip(part.columns, leaves, strict=True):
            (leaf,) = model.parts
            states = columns[v].states
            weights, cells = table.weights[part.rows], values[part.rows, v]
            counts = np.array([weights[cells == s].sum() + alpha for s in range(states)])
            shares = counts / counts.sum() if counts.sum() > 0 else np.full(states, 1 / states)
            assert leaf.row == pytest.approx(shares if len(leaf.row) > 1 else shares[1:])


def test_fitting_in_small_portions_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = random_values(1, 300, 8)
    whole = learn(ExtraSpn(min_instances=5), values)
    monkeypatch.setattr("spnc.learners.support.leaf_fit._CELLS_AT_ONCE", 10)
    portions = learn(ExtraSpn(min_instances=5), values)
    assert payloads(portions) == payloads(whole)


def test_min_instances_takes_the_place_of_gamma() -> None:
    assert ExtraSpn(min_instances=5).gamma is None
    assert ExtraSpn().gamma == 5.0
