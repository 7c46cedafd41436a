"""Special functions against scipy and high precision; roots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special as scipy_special

from spnc.leaves.special import (
    gamma_shape,
    increasing_root,
    log1p_deficit,
    log_minus_digamma,
    stirling_rest,
)


@given(st.floats(-0.999, 1e6))
def test_the_deficit_of_log1p_keeps_its_digits(t: float) -> None:
    found = float(log1p_deficit(np.array([t]))[0])
    if abs(t) < 1e-3:  # three terms of the series
        assert found == pytest.approx(t**2 / 2 - t**3 / 3 + t**4 / 4 - t**5 / 5, rel=1e-11)
    else:
        assert found == pytest.approx(t - np.log1p(t), rel=1e-8)


@given(st.floats(1e-3, 1e4))
def test_series_of_large_shapes_agree_with_scipy(a: float) -> None:
    found, slope = (float(x[0]) for x in log_minus_digamma(np.array([a])))
    assert found == pytest.approx(np.log(a) - scipy_special.digamma(a), rel=1e-9)
    assert slope == pytest.approx(1 / a - scipy_special.polygamma(1, a), rel=1e-7)
    wanted = a * np.log(a) - a - scipy_special.gammaln(a)
    assert float(stirling_rest(np.array([a]))[0]) == pytest.approx(wanted, rel=1e-9, abs=1e-10)


@given(st.floats(-18.0, 3.0))
def test_a_shape_solves_its_equation(log_excess: float) -> None:
    excess = np.array([10.0**log_excess])
    shape = gamma_shape(excess, 1e-4, 1e32)
    assert log_minus_digamma(shape)[0] == pytest.approx(excess, rel=1e-9)


def test_shapes_stay_in_their_range() -> None:
    assert gamma_shape(np.array([-1.0, 0.0, 1e9]), 0.5, 500.0).tolist() == [500.0, 500.0, 0.5]


def test_roots_without_a_root_inside_are_the_nearer_end() -> None:
    found = increasing_root(
        lambda x: (x**3 - np.array([8.0, -5.0, 1e9]), 3 * x**2),
        np.zeros(3),
        np.full(3, 9.0),
        np.ones(3),
    )
    assert found == pytest.approx([2.0, 0.0, 9.0], abs=1e-7)
