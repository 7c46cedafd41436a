"""Facts about columns and pairs of columns, compared with counting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.columns import Column
from spnc.data.pairs import mutual_information, pair_counts
from spnc.data.table import Table
from spnc.graph.nodes import Builder
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.reports.facts.columns import columns_fit, kl
from spnc.reports.facts.pairs import pairs_fit
from spnc.reports.page import pairs
from spnc.reports.page.html import brief
from tests.circuits import random_rows
from tests.pages import opened


def test_frequencies_are_counted_among_the_rows_that_have_a_value() -> None:
    columns = [Column("a"), Column("b", "categorical", 3)]
    nan = math.nan
    table = Table(np.array([[0, 2], [1, 2], [nan, 0], [1, nan]]))
    model = [np.array([0.5, 0.5]), np.array([0.2, 0.3, 0.5])]
    found = columns_fit(columns, model, {"train": table})
    first, second = (c.observed["train"] for c in found.columns)
    assert first.frequencies.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert (first.rows, first.missing) == (3, 1)
    assert second.frequencies.tolist() == pytest.approx([1 / 3, 0, 2 / 3])
    expected = 1 / 3 * math.log(1 / 3 / 0.2) + 2 / 3 * math.log(2 / 3 / 0.5)
    assert second.divergence == pytest.approx(expected)


def test_what_the_model_rules_out_and_yet_came_diverges_without_end() -> None:
    assert kl(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == math.inf
    assert kl(np.array([1.0, 0.0]), np.array([1.0, 0.0])) == 0.0


def test_only_columns_that_are_off_are_beyond_chance() -> None:
    rng = np.random.default_rng(0)
    values = (rng.random((2000, 30)) < 0.3).astype(float)
    values[:, 7] = rng.random(2000) < 0.4
    columns = [Column(f"x{i}") for i in range(30)]
    model = [np.array([0.7, 0.3])] * 30
    found = columns_fit(columns, model, {"test": Table(values)})
    assert [i for i, c in enumerate(found.columns) if c.observed["test"].beyond_chance] == [7]


@pytest.mark.parametrize(
    ("states", "rows", "spread"), [(200, 300, 50.0), (40, 300, 0.5), (2, 50, 5)]
)
def test_columns_of_many_states_that_fit_are_rarely_beyond_chance(
    states: int, rows: int, spread: float
) -> None:
    rng = np.random.default_rng(1)
    columns = [Column("a", "categorical", states)]
    found = []
    for _ in range(400):
        model = rng.dirichlet([spread] * states)
        values = rng.choice(states, size=(rows, 1), p=model).astype(float)
        fit = columns_fit(columns, [model], {"test": Table(values)}).columns[0]
        found.append(fit.observed["test"].beyond_chance)
    assert 0.015 <= np.mean(found) <= 0.085
    other = rng.dirichlet([spread] * states)  # those of another model are nearly always
    values = rng.choice(states, size=(20 * rows, 1), p=other).astype(float)
    fit = columns_fit(columns, [model], {"test": Table(values)}).columns[0]
    assert fit.observed["test"].beyond_chance


def test_what_the_model_rules_out_is_beyond_chance() -> None:
    columns = [Column("a", "categorical", 3)]
    table = Table(np.array([[0.0]] * 50 + [[2.0]]))
    found = columns_fit(columns, [np.array([0.9, 0.1, 0.0])], {"test": table}).columns[0]
    assert found.observed["test"].beyond_chance


def test_independent_columns_are_scored_on_the_rows_that_averages_are_over() -> None:
    columns = [Column("a"), Column("b")]
    some = Table(np.array([[0, 1], [1, 1.0]]))
    rows = Table(np.array([[0, 1], [1, 1], [0, 0], [0, 0.0]]))
    model = [np.array([0.5, 0.5])] * 2
    found = columns_fit(columns, model, {"train": rows}, {"train": some})
    assert found.columns[1].observed["train"].frequencies.tolist() == [0.5, 0.5]  # of all rows
    expected = (math.log(4 / 6) + math.log(2 / 6)) / 2 + math.log(0.5)
    assert found.independent["train"] == pytest.approx(expected)
    none = columns_fit(columns, model, {"train": rows}, {"train": Table(np.zeros((0, 2)))})
    assert none.independent == {}


@given(seed=st.integers(0, 1000))
def test_the_score_of_independent_columns_is_that_of_a_product_of_leaves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [Column(f"x{i}") for i in range(4)]
    tables = {n: Table(random_rows(seed + k, tuple(columns), 12, 0.2)) for k, n in enumerate("ab")}
    splits = {"train": tables["a"], "test": tables["b"]}
    ones = np.array([(splits["train"].values[:, i] == 1).sum() for i in range(4)])
    seen = np.array([(~np.isnan(splits["train"].values[:, i])).sum() for i in range(4)])
    builder = Builder(columns)
    leaves = [builder.leaf(i, Bernoulli(float((ones[i] + 1) / (seen[i] + 2)))) for i in range(4)]
    builder.graph.graph["root"] = builder.product(leaves)
    model = opened(builder.graph)
    found = columns_fit(columns, [rng.dirichlet([1, 1]) for _ in columns], splits)
    for name, table in splits.items():
        expected = model.log_likelihood(table.values).mean()
        assert found.independent[name] == pytest.approx(expected)


def test_of_many_columns_those_with_the_strongest_pairs_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spnc.reports.facts.pairs.MOST", 3)
    rng = np.random.default_rng(0)
    values = rng.integers(2, size=(300, 6)).astype(float)
    values[:, 4] = values[:, 1]
    values[:, 5] = np.where(rng.random(300) < 0.8, values[:, 1], values[:, 5])
    builder = Builder([Column(f"x{i}") for i in range(6)])
    leaves = [builder.leaf(v, Bernoulli(0.5)) for v in range(6)]
    builder.graph.graph["root"] = builder.product(leaves)
    found = pairs_fit(opened(builder.graph), Table(values), 300)
    assert found is not None
    assert found.names == ["x1", "x4", "x5"]
    assert (found.columns, found.rows) == (6, 300)
    assert (found.strongest[0].first, found.strongest[0].second) == (0, 1)
    assert found.strongest[0].data == pytest.approx(math.log(2), abs=0.01)
    assert found.model.max() < 1e-12
    every = mutual_information(pair_counts(tuple(Column(f"x{i}") for i in range(6)), Table(values)))
    mean = every[np.triu_indices(6, k=1)].mean()
    assert found.mean_of_all == pytest.approx(mean)
    words = pairs._finding(found)
    assert words.startswith("Among the 3 columns with the strongest pairs, the average mutual")
    assert f"among all 6 columns {brief(mean)}" in words


def test_what_chance_makes_of_independent_columns_is_as_large_as_is_said() -> None:
    rng = np.random.default_rng(3)
    columns = [Column("a"), Column("b", "categorical", 4), Column("c", "categorical", 3)]
    builder = Builder(columns)
    leaves = [builder.leaf(0, Bernoulli(0.5))]
    for i in (1, 2):
        leaves.append(builder.leaf(i, Categorical(Categorical.default(columns[i]))))
    builder.graph.graph["root"] = builder.product(leaves)
    model = opened(builder.graph)
    found = []
    for _ in range(200):
        rows = np.stack([rng.integers(c.states, size=100) for c in columns], axis=1).astype(float)
        one = pairs_fit(model, Table(rows), 100)
        assert one is not None
        found.append(one.summary["mean_empirical"])
    assert one.by_chance == pytest.approx((3 + 2 + 6) / 3 / 200)
    assert np.mean(found) == pytest.approx(one.by_chance, rel=0.1)
