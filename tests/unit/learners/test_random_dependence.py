"""The randomised dependence coefficient sees functions, not chance, in few rows and in many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from spnc import checks
from spnc.data.columns import Column, Scale
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Builder, Graph, Leaf, Product, payloads
from spnc.learners import LearningTask
from spnc.learners.learn_spn import LearnSpn
from spnc.learners.support.independence import dependent_groups, groups
from spnc.learners.support.random_dependence import FEATURES, DependenceTest, Waves
from spnc.leaves.smoothing import Smoothing
from tests.circuits import random_columns, random_rows

SEEDS = st.integers(0, 10**6)


def real(count: int) -> list[Column]:
    return [Column(f"r{i}", "real", 0, scale=Scale()) for i in range(count)]


def labels(count: int, states: int) -> list[Column]:
    return [Column(f"c{i}", "categorical", states) for i in range(count)]


def dependence(
    columns: list[Column],
    values: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    correlation: float = 0.1,
    level: float = 0.001,
    seed: int = 0,
) -> DependenceTest:
    waves = Waves.draw(columns, np.random.default_rng(seed))
    table = Table(values.astype(float), weights)
    return DependenceTest(columns, table, waves, correlation=correlation, level=level)


def are_dependent(columns: list[Column], values: np.ndarray, **options: Any) -> bool:
    return bool(dependence(columns, values, **options).every_pair[0, 1])


def related(kind: str, rows: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng([rows, seed])
    x, noise = rng.uniform(-1.0, 1.0, rows), rng.normal(size=rows)
    side = np.sign(rng.random(rows) - 0.5)
    y = {
        "line": x + 0.5 * noise,
        "parabola": 2.0 * x**2 + 0.5 * noise,
        "wave": np.sin(6.0 * x) + 0.5 * noise,
        "circle": side * np.sqrt(1.0 - x**2) + 0.2 * noise,
        "spread": noise * (0.3 + np.abs(x)),
    }[kind]
    return np.stack([x, y], axis=1)


@pytest.mark.parametrize(
    ("kind", "rows"), [("line", 100), ("parabola", 200), ("wave", 400), ("circle", 300)]
)
def test_functions_are_seen(kind: str, rows: int) -> None:
    assert all(are_dependent(real(2), related(kind, rows, seed), seed=seed) for seed in range(10))


def test_a_spread_that_follows_a_column_is_seen() -> None:
    assert all(are_dependent(real(2), related("spread", 1000, seed)) for seed in range(10))


def made(kind: str, rows: int, seed: int) -> tuple[list[Column], np.ndarray]:
    """Return ten independent columns."""
    rng = np.random.default_rng([rows, seed])
    if kind == "real":
        return real(10), rng.normal(size=(rows, 10))
    if kind == "mostly zero":
        values = rng.normal(size=(rows, 10))
        return real(10), np.where(rng.random((rows, 10)) < 0.7, 0.0, values)
    if kind == "rare":
        return [Column(f"b{i}") for i in range(10)], rng.random((rows, 10)) < 0.02
    if kind == "skewed":
        return labels(10, 12), np.minimum(rng.geometric(0.3, (rows, 10)) - 1, 11)
    return labels(10, 3 * FEATURES), rng.integers(3 * FEATURES, size=(rows, 10))


@pytest.mark.parametrize("kind", ["real", "mostly zero", "rare", "skewed", "many states"])
@pytest.mark.parametrize("rows", [8, 50, 400])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_independent_columns_are_dependent_as_rarely_as_the_level_says(
    kind: str, rows: int, missing: float
) -> None:
    """At 1%, 900 pairs: 9 are expected, and more than 25 have a probability of one in 100,000."""
    found = 0
    for seed in range(20):
        columns, values = made(kind, rows, seed)
        hidden = np.random.default_rng(seed).random(values.shape) < missing
        values = np.where(hidden, np.nan, values)
        test = dependence(columns, values, correlation=0.0, level=0.01, seed=seed)
        found += int(test.every_pair.sum()) // 2
    assert found <= 25


@pytest.mark.parametrize("rows", [60, 2000])
def test_the_test_of_states_is_the_one_of_their_correlations(rows: int) -> None:
    """Of binary columns, Bartlett's statistic follows from the ordinary correlation."""
    rng = np.random.default_rng(rows)
    for strength in (0.0, 0.05, 0.1, 0.2, 0.4):
        one = rng.random(rows) < 0.4
        other = np.where(rng.random(rows) < strength, one, rng.random(rows) < 0.3)
        squared = np.corrcoef(one, other)[0, 1] ** 2
        chance = chi2.sf(-(rows - 2.5) * np.log1p(-squared), 1)
        columns, values = [Column("a"), Column("b")], np.stack([one, other], axis=1)
        for level in (0.8 * chance, 1.2 * chance):
            if 0.0 < level < 1.0:
                found = are_dependent(columns, values, correlation=0.0, level=level)
                assert found == (chance <= level)


def test_a_weak_dependence_is_below_the_threshold_however_many_rows_show_it() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=20_000)
    values = np.stack([one, 0.15 * one + rng.normal(size=20_000)], axis=1)
    assert are_dependent(real(2), values, correlation=0.1)
    assert not are_dependent(real(2), values, correlation=0.3)


def test_numbers_and_labels_are_compared() -> None:
    rng = np.random.default_rng(1)
    kind = rng.integers(3, size=300)
    values = np.stack([kind, rng.normal(size=300) + np.array([0.0, 2.0, 0.0])[kind]], axis=1)
    columns = [Column("c", "categorical", 3), *real(1)]
    assert are_dependent(columns, values)
    many = [Column("c", "categorical", 50), Column("d", "categorical", 50)]
    codes = rng.integers(50, size=1000)
    assert are_dependent(many, np.stack([codes, (codes * 7 + rng.integers(3, size=1000)) % 50], 1))


def test_only_ranks_count() -> None:
    values = related("wave", 300, 0)
    stretched = np.stack([np.exp(5.0 * values[:, 0]), values[:, 1] ** 3], axis=1)
    one, two = (
        dependence(real(2), v)._correlations(*[np.arange(2)] * 2) for v in (values, stretched)
    )
    assert one[0] == pytest.approx(two[0])


def test_a_row_of_weight_two_is_two_rows() -> None:
    values = related("parabola", 120, 3)
    values[:40, 1] = np.nan
    weights = np.random.default_rng(0).integers(1, 4, size=120)
    whole = np.arange(2), np.arange(2)
    weighted = dependence(real(2), values, weights=weights.astype(float))._correlations(*whole)
    repeated = dependence(real(2), np.repeat(values, weights, axis=0))._correlations(*whole)
    for one, two in zip(weighted, repeated, strict=True):
        assert one == pytest.approx(two)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_constant_and_empty_columns_depend_on_nothing(missing: float) -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(200, 4))
    values[:, 1] = values[:, 0]
    values[:, 2] = 7.0
    values[:, 3] = np.nan if missing else 7.0
    values[rng.random((200, 4)) < missing] = np.nan
    found = dependence(real(4), values).every_pair
    assert found.sum() == 2
    assert found[0, 1]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_few_rows_show_no_dependence(rows: int) -> None:
    values = np.repeat(np.arange(rows)[:, None], 3, axis=1)
    assert not dependence(real(3), values).every_pair.any()
    assert not dependence(labels(3, 3), values).every_pair.any()


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, missing=st.sampled_from([0.0, 0.2]))
def test_parts_of_many_columns_have_the_same_groups(seed: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, 6) + real(4)
    values = np.concatenate(
        [random_rows(seed, tuple(columns[:6]), 90, missing), rng.normal(size=(90, 4))], 1
    )
    values[:, 7] = np.where(rng.random(90) < missing, np.nan, values[:, 6] ** 2)
    values[:, 1] = np.minimum(values[:, 0], columns[1].states - 1)
    test = dependence(columns, values, seed=seed)
    expected = groups(test.every_pair)
    test.most_at_once = 1
    assert [g.tolist() for g in dependent_groups(test)] == [g.tolist() for g in expected]


def learn(columns: list[Column], values: np.ndarray, seed: int = 0, **options: Any) -> Graph:
    builder = Builder(columns)
    rng = np.random.default_rng(seed)
    smoothing = Smoothing.of(0.1)
    task = LearningTask(tuple(columns), Table(values), smoothing, rng, builder, Sink())
    builder.graph.graph["root"] = LearnSpn(test="rdc", **options).learn(task)
    sink = Sink()
    checks.check(builder.graph, sink)
    assert sink.diagnostics == []
    return builder.graph


def test_learning_separates_what_is_independent_and_nothing_else() -> None:
    rng = np.random.default_rng(5)
    values = np.concatenate([related("circle", 600, 1), rng.normal(size=(600, 1))], axis=1)
    graph = learn(real(3), values)
    node, root = payloads(graph), graph.graph["root"]
    assert isinstance(node[root], Product)
    assert [type(node[n]) is Leaf for n in graph.succ[root]].count(True) == 1


def test_the_seed_of_the_component_decides() -> None:
    columns = random_columns(np.random.default_rng(3), 5) + real(2)
    states = random_rows(3, tuple(columns[:5]), 200, 0.1)
    values = np.concatenate([states, related("wave", 200, 2)], axis=1)
    one, two = (learn(columns, values, 7, leaves=LearnSpn().leaves) for _ in range(2))
    assert payloads(one) == payloads(two)
    assert list(one.edges(data=True)) == list(two.edges(data=True))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"independence": 3.0}, []),
        ({"test": "rdc", "correlation": 0.2, "level": 0.05}, []),
    ],
)
def test_options_of_the_chosen_test_are_kept(given: dict[str, Any], wanted: list[str]) -> None:
    learner = LearnSpn(**given)
    assert [conflict.message for conflict in learner.conflicts()] == wanted
    assert (learner.independence is None) == (learner.test == "rdc")
    assert (learner.correlation is None) == (learner.level is None) == (learner.test == "g")
