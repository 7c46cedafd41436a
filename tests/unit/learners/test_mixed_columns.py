"""Learners on tables with categories, counts, real numbers and missing cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.common.mixed_network import MixedNetwork
from spnc import checks
from spnc.data.binning import binned, ranges
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.scales import scale_of
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.forest.grow import add_top_sum, grow
from spnc.graph.nodes import Builder, Graph, Leaf, Sum, payloads
from spnc.learners import LearningTask
from spnc.learners.chow_liu import ChowLiu
from spnc.learners.continuous_mixture.learner import ContinuousMixture
from spnc.learners.decision_tree import DecisionTree
from spnc.learners.extra_spn import ExtraSpn
from spnc.learners.factor_mixture import FactorMixture
from spnc.learners.hclt import HiddenChowLiu
from spnc.learners.kernel_density import KernelDensity
from spnc.learners.learn_spn import LearnSpn
from spnc.learners.rat_spn import RatSpn
from spnc.learners.support.leaf_choice import LeafOptions, SliceOptions
from spnc.leaves.smoothing import Smoothing
from spnc.model import Model
from spnc.program.lower import lower
from spnc.registry import BACKENDS, LEAVES
from spnc.spec.recipe import Component
from spnc.testing.forests import drawing
from spnc.training.m_step import m_step
from tests.mixed import mixed_dataset

PRIOR = Smoothing.of(0.1)
TREES = SliceOptions(model="chow-liu")
LEARNERS = {
    "chow-liu": ChowLiu(),
    "continuous-mixture": ContinuousMixture(points=8, latent=2, width=4, steps=12, settling=6),
    "hclt": HiddenChowLiu(states=4),
    "rat-spn": RatSpn(splits=2, repetitions=2, sums=3, inputs=3),
    "extra-spn": ExtraSpn(min_instances=100),
    "extra-spn, trees": ExtraSpn(min_instances=100, leaves=TREES),
    "extra-spn, kmeans": ExtraSpn(min_instances=100, rows="kmeans"),
    "decision-tree": DecisionTree(),
    "decision-tree, inputs too": DecisionTree(input_prior=3.0),
    "kernel-density": KernelDensity(),
    "kernel-density, few": KernelDensity(scales=1, centres=50),
    "factor-mixture": FactorMixture(groups=4, factors=1, iterations=5),
    "joint-gaussian, extra-spn": ExtraSpn(
        min_instances=100, rows="kmeans", leaves=SliceOptions(model="joint-gaussian")
    ),
    "joint-gaussian, learn-spn": LearnSpn(
        min_instances=100, leaves=SliceOptions(model="joint-gaussian", real="gaussian")
    ),
    "learn-spn": LearnSpn(min_instances=100),
    "learn-spn, trees": LearnSpn(min_instances=100, leaves=TREES),
    "learn-spn, kmeans": LearnSpn(min_instances=100, rows="kmeans"),
}


def learned(learner: Any, dataset: Dataset, seed: int = 0) -> Graph:
    builder = Builder(dataset.columns)
    rng = np.random.default_rng(seed)
    task = LearningTask(dataset.columns, dataset.by_columns, PRIOR, rng, builder, Sink())
    builder.graph.graph["root"] = learner.learn(task)
    return builder.graph


@pytest.mark.parametrize("missing", [0.0, 0.5])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_circuit_is_valid_and_explains_every_row(name: str, missing: float) -> None:
    dataset = mixed_dataset(400, missing)
    graph = learned(LEARNERS[name], dataset)
    sink = Sink()
    checks.check(graph, sink)
    sink.stop()
    program, parameters = lower(graph)
    engine = BACKENDS["numpy"]().open(program)
    unknown = Table(np.full((1, len(dataset.columns)), np.nan))
    assert engine.log_likelihood(parameters, unknown) == pytest.approx(0.0, abs=1e-9)
    before = engine.score(parameters, dataset.train)
    assert before.impossible == 0
    counts = engine.expected_counts(parameters, dataset.train)
    after = engine.score(m_step(program, parameters, counts, PRIOR), dataset.train)
    # Kernels are narrower than smoothing leaves them; points of a grid are not on their own.
    if not name.startswith(("kernel-density", "factor-mixture", "joint-gaussian")):
        assert after.average >= before.average - 0.01


@pytest.mark.parametrize("name", LEARNERS)
def test_the_same_seed_gives_the_same_circuit(name: str) -> None:
    dataset = mixed_dataset(300, 0.2)
    assert drawing(learned(LEARNERS[name], dataset)) == drawing(learned(LEARNERS[name], dataset))


@pytest.mark.parametrize("name", LEARNERS)
def test_constant_and_empty_columns_are_learned(name: str) -> None:
    dataset = mixed_dataset(200)
    values = dataset.train.values.copy()
    values[:, 7], values[:, 8] = 2.5, np.nan
    columns = list(dataset.columns)
    for i in (7, 8):
        columns[i] = replace(columns[i], scale=scale_of(values[:, i], np.ones(len(values))))
    changed = Dataset("mixed", tuple(columns), {"train": Table(values)})
    program, parameters = lower(learned(LEARNERS[name], changed))
    score = BACKENDS["numpy"]().open(program).score(parameters, changed.train)
    assert score.impossible == 0
    assert np.isfinite(score.average)


def leaves_over(graph: Graph, variable: int) -> list[str]:
    nodes = payloads(graph).values()
    own = [n for n in nodes if isinstance(n, Leaf) and n.variable == variable]
    return [leaf.distribution.plugin_name for leaf in own]


def one_column(values: np.ndarray[Any, Any], kind: Any) -> Dataset:
    column = Column("x", kind, 0, scale=scale_of(values, np.ones(len(values))))
    return Dataset("one", (column,), {"train": Table(values[:, None].copy())})


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("normal", "gaussian"),
        ("heavy", "student-t"),
        ("skewed", "log-normal"),
        ("waiting", "exponential"),
        ("rare", "poisson"),
        ("bursts", "negative-binomial"),
    ],
)
def test_auto_finds_the_distribution_that_made_the_values(kind: str, wanted: str) -> None:
    rng = np.random.default_rng(5)
    values = {
        "normal": rng.normal(20.0, 3.0, 3000),
        "heavy": rng.standard_t(2.5, 3000),
        "skewed": rng.lognormal(0.0, 1.0, 3000),
        "waiting": rng.exponential(4.0, 3000),
        "rare": rng.poisson(3.0, 3000).astype(float),
        "bursts": rng.negative_binomial(2, 0.2, 3000).astype(float),
    }[kind]
    dataset = one_column(values, "count" if kind in ("rare", "bursts") else "real")
    graph = learned(LearnSpn(), dataset)
    assert leaves_over(graph, 0)[0] == wanted
    program, parameters = lower(graph)
    later = Table(np.array([[0.0], [3.0 * values.max()]]))
    assert (BACKENDS["numpy"]().open(program).log_likelihood(parameters, later) > -np.inf).all()


@pytest.mark.parametrize("learner", [LearnSpn(), HiddenChowLiu(states=2)])
def test_a_value_that_many_rows_share_gets_a_point_mass(learner: Any) -> None:
    rng = np.random.default_rng(6)
    values = np.where(rng.random(2000) < 0.4, 0.0, rng.normal(50.0, 9.0, 2000))
    dataset = one_column(values, "real")
    graph = learned(learner, dataset)
    assert "point" in leaves_over(graph, 0)
    if isinstance(learner, LearnSpn):
        (top,) = (n for n, node in payloads(graph).items() if isinstance(node, Sum))
        weights = [edge["weight"] for edge in graph.succ[top].values()]
        assert weights[0] == pytest.approx((values == 0.0).mean(), abs=0.01)
    none = replace(learner, leaves=replace(learner.leaves, points="none"))
    assert "point" not in leaves_over(learned(none, dataset), 0)


def test_missing_cells_do_not_lessen_the_share_of_a_point() -> None:
    rng = np.random.default_rng(8)
    values = np.where(rng.random(4000) < 0.4, 0.0, rng.normal(50.0, 9.0, 4000))
    values[rng.random(4000) < 0.5] = np.nan
    graph = learned(LearnSpn(), one_column(values, "real"))
    (top,) = (n for n, node in payloads(graph).items() if isinstance(node, Sum))
    first = next(iter(graph.succ[top].values()))["weight"]
    assert first == pytest.approx((values == 0.0).sum() / (~np.isnan(values)).sum(), abs=0.01)


def test_samples_of_rain_are_zero_as_often_as_the_rain() -> None:
    """The other values are positive, and so are the leaves beside the point at zero."""
    rng = np.random.default_rng(9)
    values = np.where(rng.random(3000) < 0.4, 0.0, rng.lognormal(0.0, 1.0, 3000))
    graph = learned(LearnSpn(), one_column(values, "real"))
    assert {"point", "log-normal"} <= set(leaves_over(graph, 0))
    program, parameters = lower(graph)
    drawn = Model("rain", program, parameters).sample(2000, seed=1).values[:, 0]
    assert (drawn == 0.0).mean() == pytest.approx(0.4, abs=0.05)
    assert (drawn < 0.0).mean() < 0.01


def test_missing_cells_add_nothing_to_the_rows_of_a_leaf() -> None:
    """The share of the wide leaf beside a positive one depends on the known values alone."""
    known = np.random.default_rng(3).lognormal(0.0, 1.0, 200)
    weights = []
    for values in (known, np.append(known, np.full(1800, np.nan))):
        graph = learned(LearnSpn(), one_column(values, "real"))
        (top,) = (n for n, node in payloads(graph).items() if isinstance(node, Sum))
        weights.append(min(edge["weight"] for edge in graph.succ[top].values()))
    assert weights[0] == pytest.approx(weights[1])


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("learner", [LearnSpn(), ExtraSpn()])
def test_a_single_real_column_is_a_circuit_of_one_leaf(learner: Any, backend: str) -> None:
    dataset = one_column(np.random.default_rng(0).normal(size=300), "real")
    program, parameters = lower(learned(learner, dataset))
    engine = BACKENDS[backend]().open(program)
    found = engine.expected_counts(parameters, engine.load(dataset.train))
    assert np.isfinite(found.score.average)


def test_histograms_of_columns_may_have_different_numbers_of_bins() -> None:
    dataset = mixed_dataset(200)
    values = dataset.train.values.copy()
    values[:, 7] = np.round(values[:, 7] / 20.0)
    columns = list(dataset.columns)
    columns[7] = replace(columns[7], scale=scale_of(values[:, 7], np.ones(len(values))))
    changed = Dataset("mixed", tuple(columns), {"train": Table(values)})
    chosen = SliceOptions(real="histogram", count="histogram", points="none")
    graph = learned(LearnSpn(min_instances=50, leaves=chosen), changed)
    assert set(leaves_over(graph, 6)) == set(leaves_over(graph, 7)) == {"histogram", "gaussian"}
    program, parameters = lower(graph)
    assert BACKENDS["numpy"]().open(program).score(parameters, changed.train).impossible == 0


@pytest.mark.parametrize("learner", [LearnSpn(), HiddenChowLiu(states=2)])
@pytest.mark.parametrize("kind", ["real", "count"])
def test_a_value_beyond_the_bins_of_a_histogram_is_unlikely_not_impossible(
    learner: Any, kind: str
) -> None:
    values = np.round(np.random.default_rng(9).gamma(2.0, 20.0, 2000))
    options = type(learner.leaves)(real="histogram", count="histogram", points="none")
    graph = learned(replace(learner, leaves=options), one_column(values, kind))
    program, parameters = lower(graph)
    later = Table(np.array([[np.median(values)], [values.max() + 20.0], [3.0 * values.max()]]))
    usual, beyond, far = BACKENDS["numpy"]().open(program).log_likelihood(parameters, later)
    assert usual - 5.0 > beyond > far > -np.inf


def test_the_bins_of_a_histogram_follow_the_values_of_its_column() -> None:
    """Of a skewed column, most bins are where most values are."""
    rng = np.random.default_rng(10)
    values = rng.lognormal(0.0, 1.5, 4000)
    options = SliceOptions(real="histogram", points="none")
    graph = learned(LearnSpn(leaves=options), one_column(values, "real"))
    leaves = [n.distribution for n in payloads(graph).values() if isinstance(n, Leaf)]
    (histogram,) = (leaf for leaf in leaves if leaf.plugin_name == "histogram")
    edges = np.array(histogram.row[0::2])
    assert (edges < np.quantile(values, 0.9)).sum() > len(edges) / 2
    program, parameters = lower(graph)
    later = rng.lognormal(0.0, 1.5, (4000, 1))
    reached = BACKENDS["numpy"]().open(program).score(parameters, Table(later)).average
    entropy = 0.5 * np.log(2.0 * np.pi * np.e * 1.5**2)
    assert reached > -entropy - 0.1


def test_a_spec_may_name_the_distribution_of_a_kind() -> None:
    dataset = mixed_dataset(200)
    chosen = LeafOptions(real="student-t", count="negative-binomial", points="none")
    graph = learned(HiddenChowLiu(states=2, leaves=chosen), dataset)
    assert set(leaves_over(graph, 6)) == {"student-t"}
    assert set(leaves_over(graph, 4)) == {"negative-binomial"}
    (problem,) = LeafOptions(real="poisson").conflicts()
    assert "`poisson` is not a leaf for real columns" in problem.message
    assert set(LEAVES) >= {"poisson", "student-t"}


def test_ranges_hold_about_equal_weight_and_never_separate_equal_values() -> None:
    rng = np.random.default_rng(7)
    values = np.round(rng.gamma(2.0, 5.0, 5000))
    weights = rng.random(5000)
    found = ranges(values, weights, 5)
    assert set(found) == set(range(5))
    held = np.bincount(found.astype(int), weights=weights)
    assert held == pytest.approx(np.full(5, weights.sum() / 5), rel=0.4)
    for value in np.unique(values):
        assert len(set(found[values == value])) == 1
    assert (np.diff(found[np.argsort(values)]) >= 0).all()


def test_a_table_of_states_is_not_binned() -> None:
    columns = (Column("a"), Column("b", "categorical", 3))
    table = Table(np.array([[0.0, 2.0], [1.0, np.nan]]))
    assert binned(columns, table) == (columns, table)


def test_a_plain_forest_comes_within_five_percent_of_the_true_entropy() -> None:
    """A known network, 20,000 rows, a fifth of the cells missing; test rows are complete."""
    dataset = mixed_dataset(20_000, missing=0.2)
    component = Component(learner=HiddenChowLiu(states=8), count=3)
    forest = grow([component], dataset, smoothing=PRIOR, seed=0, sink=Sink())
    program, parameters = lower(add_top_sum(forest))
    engine = BACKENDS["auto"]().open(program)
    batch = engine.load(dataset.distinct["train"])
    for _ in range(20):
        counts = engine.expected_counts(parameters, batch)
        parameters = m_step(program, parameters, counts, PRIOR)
    reached = engine.score(parameters, engine.load(dataset.splits["test"])).average
    assert -reached < 1.05 * MixedNetwork.of(0).entropy()
