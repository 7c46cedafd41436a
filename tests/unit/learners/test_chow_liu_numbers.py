"""Chow-Liu trees over columns of numbers: ranges with leaves of their own, one below another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.parted import PartedTable, partitioned
from spnc.data.scales import scale_of
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.forest.grow import grow
from spnc.graph.nodes import Graph, Leaf, payloads
from spnc.learners.chow_liu import ChowLiu
from spnc.learners.learn_spn import LearnSpn
from spnc.learners.support.chow_liu_trees import MOST_RANGES, most_ranges
from spnc.learners.support.leaf_choice import LeafOptions
from spnc.leaves.smoothing import Smoothing
from spnc.model import Model
from spnc.program.lower import lower
from spnc.registry import BACKENDS
from spnc.spec.recipe import Component
from spnc.testing.forests import drawing
from spnc.training.m_step import m_step
from tests.learning_tasks import learn
from tests.mixed import mixed_dataset

PRIOR = Smoothing.of(0.1)
EVERY = 10**9  # rows; slices of fewer are products of independent columns


def with_scales(columns: tuple[Column, ...], values: Floats) -> list[Column]:
    """Return columns that know where their numbers lie."""
    ones = np.ones(len(values))
    return [
        column if column.is_finite else replace(column, scale=scale_of(values[:, i], ones))
        for i, column in enumerate(columns)
    ]


def held_out(
    learner: Any, columns: list[Column], rows: Floats, others: Floats, steps: int
) -> float:
    """Return the average log-likelihood of other rows after a few steps of EM."""
    program, parameters = lower(learn(learner, columns, Table(rows)))
    engine = BACKENDS["numpy"]().open(program)
    for _ in range(steps):
        counts = engine.expected_counts(parameters, Table(rows))
        parameters = m_step(program, parameters, counts, PRIOR)
    return engine.score(parameters, Table(others)).average


def log_density(graph: Graph, rows: Floats) -> Floats:
    program, parameters = lower(graph)
    return BACKENDS["numpy"]().open(program).log_likelihood(parameters, Table(rows))


def three_columns(rng: np.random.Generator, rows: int) -> Floats:
    """A real number that depends on a label, and a count that depends on the number."""
    label = rng.integers(3, size=rows)
    number = rng.normal(2.0 * label, 0.7)
    count = rng.poisson(np.exp(0.4 * number))
    return np.stack([label, number, count], axis=1).astype(float)


THREE = (
    Column("label", "categorical", 3),
    Column("number", "real", 0),
    Column("count", "count", 0),
)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_tree_with_numbers_integrates_to_one(missing: float) -> None:
    rng = np.random.default_rng(1)
    values = three_columns(rng, 400)
    values[rng.random(values.shape) < missing] = np.nan
    graph = learn(ChowLiu(), with_scales(THREE, values), Table(values))
    numbers, step = np.linspace(-25.0, 30.0, 1200, retstep=True)
    grid = np.meshgrid(np.arange(3.0), numbers, np.arange(120.0), indexing="ij")
    found = log_density(graph, np.stack([axis.ravel() for axis in grid], axis=1))
    assert np.exp(found).sum() * step == pytest.approx(1.0, abs=2e-3)


def test_the_density_is_the_sum_over_ranges_that_the_tree_says() -> None:
    """Two real columns, by hand: p(x, y) is the sum over ranges a, b of p(a) p(b | a) f(x) g(y)."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=300)
    values = np.stack([x, x + 0.5 * rng.normal(size=300)], axis=1)
    columns = with_scales((Column("x", "real", 0), Column("y", "real", 0)), values)
    plain = LeafOptions(real="gaussian", points="none")
    graph = learn(ChowLiu(leaves=plain), columns, Table(values), alpha=1e-9)
    count = most_ranges(300)
    assert count == 6
    codes = np.argsort(np.argsort(values, axis=0), axis=0) * count // 300  # equal numbers of rows
    joint = np.zeros((count, count))
    np.add.at(joint, (codes[:, 0], codes[:, 1]), 1.0 / 300)
    parts = []
    for column in range(2):
        own = [values[codes[:, column] == k, column] for k in range(count)]
        parts.append(
            norm.logpdf(values[:, column], [[o.mean()] for o in own], [[o.std()] for o in own])
        )
    with np.errstate(divide="ignore"):
        terms = np.log(joint)[:, :, None] + parts[0][:, None] + parts[1][None]
    expected = logsumexp(terms.reshape(-1, 300), axis=0)
    np.testing.assert_allclose(log_density(graph, values), expected, atol=1e-4)


def test_a_number_that_depends_on_a_label_is_known_given_the_label() -> None:
    rng = np.random.default_rng(3)
    label = rng.integers(2, size=3000).astype(float)
    values = np.stack([label, rng.normal(np.where(label == 1.0, 4.0, -1.0), 1.0)], axis=1)
    columns = with_scales((Column("label"), Column("number", "real", 0)), values)
    model = Model("tree", *lower(learn(ChowLiu(), columns, Table(values))))
    low, high = (model.query(f"E[number | label = {state}]").value for state in (0, 1))
    assert (low, high) == pytest.approx((-1.0, 4.0), abs=0.15)
    reached = held_out(ChowLiu(), columns, values[:2000], values[2000:], 5)
    truth = (
        np.log(0.5) + norm.logpdf(values[2000:, 1], np.where(values[2000:, 0], 4.0, -1.0)).mean()
    )
    assert reached > truth - 0.05


def test_a_number_that_depends_on_a_number_is_found_where_no_line_fits() -> None:
    """A wave, which has no correlation: most of what there is to gain is gained."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-np.pi, np.pi, 4000)
    values = np.stack([x, np.cos(2.0 * x) + 0.2 * rng.normal(size=4000)], axis=1)
    columns = with_scales((Column("x", "real", 0), Column("y", "real", 0)), values)
    rows, others = values[:3000], values[3000:]
    tree = held_out(ChowLiu(), columns, rows, others, 10)
    alone = held_out(LearnSpn(min_instances=EVERY), columns, rows, others, 0)
    conditional = norm.logpdf(others[:, 1], np.cos(2.0 * others[:, 0]), 0.2).mean()
    truth = conditional - np.log(2.0 * np.pi)
    assert alone < truth - 1.3
    assert tree > truth - 0.25


def test_a_mixed_table_gains_over_independent_columns() -> None:
    dataset = mixed_dataset(1500, missing=0.1)
    columns, rows = list(dataset.columns), dataset.train.values
    others = dataset.splits["test"].values
    tree = held_out(ChowLiu(), columns, rows, others, 5)
    alone = held_out(LearnSpn(min_instances=EVERY), columns, rows, others, 0)
    assert tree > alone + 1.0


def test_ranges_follow_the_rows() -> None:
    assert [most_ranges(rows) for rows in (0, 10, 100, 400, 2500)] == [1, 1, 4, 8, 20]
    assert most_ranges(1e9) == MOST_RANGES
    values = three_columns(np.random.default_rng(5), 9)
    graph = learn(ChowLiu(), with_scales(THREE, values), Table(values))
    over = [n.variable for n in payloads(graph).values() if isinstance(n, Leaf)]
    assert over.count(2) <= 2  # a single range, whose leaf may have a point beside it


def test_a_row_of_weight_two_counts_twice() -> None:
    values = three_columns(np.random.default_rng(6), 300)
    columns = with_scales(THREE, values)
    twice = learn(ChowLiu(), columns, Table(np.repeat(values, 2, axis=0)))
    weighted = learn(ChowLiu(), columns, Table(values, np.full(300, 2.0)))
    np.testing.assert_allclose(log_density(weighted, values), log_density(twice, values))


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_few_rows_are_enough(rows: int) -> None:
    values = three_columns(np.random.default_rng(7), rows)
    graph = learn(ChowLiu(), with_scales(THREE, values), Table(values))
    assert np.isfinite(log_density(graph, np.concatenate([values, values + 1.0]) % 3.0)).all()


def test_a_state_without_rows_has_the_numbers_of_all() -> None:
    rng = np.random.default_rng(8)
    values = np.stack([rng.integers(2, size=200), rng.normal(50.0, 3.0, 200)], axis=1)
    columns = with_scales((Column("label", "categorical", 3), Column("x", "real", 0)), values)
    found = log_density(learn(ChowLiu(), columns, Table(values)), np.array([[2.0, 50.0]]))
    assert found[0] > np.log(0.1 / 200) + norm.logpdf(0.0, 0.0, 3.0) - 1.0


def test_a_label_of_many_states_does_not_hide_what_a_number_depends_on() -> None:
    """By plain mutual information, each number is nearest to the label, which says nothing."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=400)
    values = np.stack([rng.integers(60, size=400), x, 0.5 * x + rng.normal(size=400)], axis=1)
    columns = with_scales(
        (Column("label", "categorical", 60), Column("x", "real", 0), Column("y", "real", 0)), values
    )
    rows = rng.permutation(values[:, 1]), rng.permutation(values[:, 2])
    others = values[:, 0], *(values[:, 1:].T)
    apart = np.stack([values[:, 0], *rows], axis=1)
    graph = learn(ChowLiu(), columns, Table(values))
    related = log_density(graph, np.stack(others, axis=1)).mean()
    assert related > log_density(graph, apart).mean() + 0.05


def _grown(dataset: Dataset) -> Graph:
    forest = grow([Component(learner=ChowLiu())], dataset, smoothing=PRIOR, seed=3, sink=Sink())
    assert len(forest.roots) == 1
    forest.builder.graph.graph["root"] = forest.roots[0]
    return forest.builder.graph


def test_in_partitions_ranges_are_those_of_a_sample_of_as_many_rows() -> None:
    values = three_columns(np.random.default_rng(10), 900)
    columns = tuple(with_scales(THREE, values))
    rows = partitioned(Table(values), 150, 0, "train")
    assert isinstance(rows, PartedTable)
    parts = _grown(Dataset("parts", columns, {"train": rows}))
    root = payloads(parts)[parts.graph["root"]]
    assert root.rows == pytest.approx(900.0)
    whole = _grown(Dataset("whole", columns, {"train": Table(values)}))
    others = three_columns(np.random.default_rng(11), 500)
    near = log_density(whole, others).mean()
    assert log_density(parts, others).mean() == pytest.approx(near, abs=0.25)
    assert drawing(parts) == drawing(_grown(Dataset("again", columns, {"train": rows})))
