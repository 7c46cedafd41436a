"""Gaussian leaves: densities and questions against scipy.stats, digits and collapse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from spnc.data.columns import Column, Scale
from spnc.leaves.fitting import fit_column
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.leaf_columns import LeafColumns


def real(scale: Scale) -> Column:
    return Column("x", "real", 0, scale=scale)


def columns(scale: Scale, leaves: int = 1) -> LeafColumns:
    return LeafColumns.of([real(scale)], np.zeros(leaves, dtype=np.int64))


@given(seed=st.integers(0, 10**6))
def test_density_and_questions_agree_with_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mean, sd = rng.normal(0, 100, size=3), rng.gamma(2.0, size=3)
    table, own = np.stack([mean, sd], axis=1), columns(Scale(), 3)
    values = rng.normal(0, 100, size=(3, 5))
    truth = stats.norm(mean[:, None], sd[:, None])
    assert Gaussian.log_density(table, values, own) == pytest.approx(truth.logpdf(values))
    assert Gaussian.cdf(table, values, own) == pytest.approx(truth.cdf(values))
    assert Gaussian.above(table, values, own) == pytest.approx(truth.sf(values))
    assert Gaussian.mean(table, own) == pytest.approx(truth.mean()[:, 0])
    assert Gaussian.variance(table, own) == pytest.approx(truth.var()[:, 0])


def test_an_interval_far_in_the_upper_tail_keeps_its_digits() -> None:
    table = np.array([[0.0, 1.0]])
    found = Gaussian.interval(table, np.array([[10.0]]), np.array([[11.0]]), columns(Scale()))
    assert found[0, 0] == pytest.approx(stats.norm.sf(10) - stats.norm.sf(11), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_a_mean_of_a_billion_keeps_the_digits_of_the_spread(alpha: float) -> None:
    rng = np.random.default_rng(4)
    small = np.round(rng.normal(0.0, 1.0, size=1000), 3)
    values = 1e9 + small
    scale = Scale(1e-3, values.min(), values.max(), values.mean(), values.std())
    table = fit_column(Gaussian, real(scale), values[None, :], np.ones((1, 1000)), alpha)
    assert table[0, 0] - 1e9 == pytest.approx((values - 1e9).mean(), abs=2e-7)
    assert table[0, 1] == pytest.approx(values.std(), rel=1e-9)


def test_equal_values_do_not_make_a_spike() -> None:
    scale = Scale(0.1, 0.0, 10.0, 5.0, 2.0)
    values = np.full((1, 50), 3.2)
    table = fit_column(Gaussian, real(scale), values, np.ones((1, 50)), 0.0)
    assert table[0, 0] == pytest.approx(3.2)
    top = Gaussian.log_density(table, values, columns(scale)).max()
    assert top == pytest.approx(-np.log(0.1))


def test_a_constant_column_can_be_fitted() -> None:
    scale = Scale(1.0, 7.0, 7.0, 7.0, 0.0)
    table = fit_column(Gaussian, real(scale), np.full((1, 5), 7.0), np.ones((1, 5)), 1.0)
    assert table[0] == pytest.approx([7.0, 1 / np.sqrt(2 * np.pi)])


def test_what_is_wrong_is_said_in_words() -> None:
    found = Gaussian(float("nan"), -1.0).problems(real(Scale()))
    assert found == ["mean = nan is not finite", "sd = -1 is not a finite number above 0"]
    assert Gaussian(0.0, 0.01).problems(real(Scale(resolution=1.0))) == [
        "sd = 0.01 is narrower than the column's resolution 1 allows: at least 0.3989"
    ]
    assert Gaussian(0.0, 0.01).problems(Column("x", "real", 0)) == []
