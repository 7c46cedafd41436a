"""Poisson leaves against scipy.stats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from spnc.data.columns import Column, Scale
from spnc.leaves.fitting import fit_column
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.poisson import Poisson

COUNT = Column("n", "count", 0, scale=Scale(mean=4.0, sd=2.0, high=12.0))


def columns(leaves: int) -> LeafColumns:
    return LeafColumns.of([COUNT], np.zeros(leaves, dtype=np.int64))


@given(seed=st.integers(0, 10**6))
def test_density_and_questions_agree_with_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rate = rng.gamma(0.7, 20.0, size=4)
    table, own = rate[:, None], columns(4)
    values = rng.integers(0, 60, size=(4, 6)).astype(float)
    truth = stats.poisson(table)
    assert Poisson.log_density(table, values, own) == pytest.approx(truth.logpmf(values))
    assert Poisson.cdf(table, values, own) == pytest.approx(truth.cdf(values), abs=1e-15)
    low, high = values - 0.3, values + 4.7
    among = sum(truth.pmf(values + step) for step in range(5))
    assert Poisson.interval(table, low, high, own) == pytest.approx(among, rel=1e-6, abs=1e-12)


def test_what_is_no_count_is_impossible() -> None:
    values = np.array([[-1.0, 1.5, np.nan, 0.0, 3.0]])
    found = Poisson.log_density(np.array([[2.0], [0.0]]), values, columns(2))
    assert np.isneginf(found[:, :2]).all()
    assert (found[:, 2] == 0).all()
    assert found[1, 3] == 0
    assert np.isneginf(found[1, 4])


def test_smoothing_adds_rows_like_the_column() -> None:
    values = np.array([[0.0, 1.0, np.nan]])
    table = fit_column(Poisson, COUNT, values, np.ones((1, 3)), 2.0)
    assert table[0, 0] == pytest.approx((0 + 1 + 2 * 4) / 4)


def test_what_is_wrong_is_said_in_words() -> None:
    assert Poisson(-1.0).problems(COUNT) == ["rate = -1 is not a finite number of at least 0"]
