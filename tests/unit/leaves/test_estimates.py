"""Weighted estimates against brute force, digits of large values, and collapse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from spnc.common.arrays import Floats
from spnc.data.columns import Column, Scale
from spnc.leaves import Distribution
from spnc.leaves.fitting import fit_column
from spnc.leaves.leaf_columns import LeafColumns
from spnc.registry import LEAVES
from spnc.testing.leaf_cases import scale_of_values

OVER_NUMBERS = [name for name in LEAVES if not LEAVES[name].is_finite]


def column_of(values: Floats, resolution: float, kind: str = "real") -> Column:
    return Column("x", kind, 0, scale=scale_of_values(values, resolution))  # type: ignore[arg-type]


def objective(leaf: type[Distribution], column: Column, values: Floats, w: Floats, alpha: float):  # type: ignore[no-untyped-def]
    """Return the log-likelihood plus log prior of a row of parameters."""
    own = LeafColumns.of([column], np.zeros(1, dtype=np.int64))

    def value(row: Floats) -> float:
        table = np.asarray(row)[None, :]
        logs = leaf.log_density(table, values, own)
        return float((w * logs).sum()) + leaf.log_prior(table, alpha, own)

    return value


def brute_force(function, start: Floats, positive: list[bool]) -> float:  # type: ignore[no-untyped-def]
    """Return the highest value that simplex searches find, from the start and from afar."""

    def row(x: Floats) -> Floats:
        return np.where(positive, np.exp(np.clip(x, -30, 30)), x)

    best = -np.inf
    begin = np.where(positive, np.log(np.where(positive, start, 1.0)), start)
    for shift in (0.0, 0.5, -0.7):
        found = optimize.minimize(
            lambda x: -function(row(x)),
            begin + shift,
            method="Nelder-Mead",
            options={"maxiter": 2000, "xatol": 1e-9, "fatol": 1e-11},
        )
        best = max(best, -found.fun)
    return best


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6))
def test_no_search_finds_a_better_gamma(alpha: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.gamma(rng.uniform(0.3, 30.0), 2.0, size=(1, 30)), 4) + 1e-4
    w = rng.random((1, 30))
    column, leaf = column_of(values, 1e-4), LEAVES["gamma"]
    found = fit_column(leaf, column, values, w, alpha)[0]
    value = objective(leaf, column, values, w, alpha)
    assert value(found) >= brute_force(value, found, [True, True]) - 1e-7


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@settings(max_examples=6)
@given(seed=st.integers(0, 10**6))
def test_a_negative_binomial_comes_close_to_the_best(alpha: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rate = rng.gamma(rng.uniform(0.3, 5.0), 4.0, size=(1, 60))
    values = rng.poisson(rate).astype(float)
    w = rng.random((1, 60))
    column, leaf = column_of(values, 1.0, "count"), LEAVES["negative-binomial"]
    found = fit_column(leaf, column, values, w, alpha)[0]
    value = objective(leaf, column, values, w, alpha)

    def by_mean(x: Floats) -> float:
        size, mean = x
        return value(np.array([min(size, 1e6), min(size, 1e6) / (min(size, 1e6) + mean)]))

    start = np.array([found[0], found[0] * (1 - found[1]) / found[1] + 1e-9])
    best = brute_force(by_mean, start, [True, True])
    assert value(found) >= best - 1e-3 * w.sum()


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@settings(max_examples=6)
@given(seed=st.integers(0, 10**6))
def test_a_student_t_comes_close_to_the_best(alpha: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = 5.0 + rng.standard_t(rng.uniform(1.5, 10.0), size=(1, 80)) * 3.0
    w = rng.random((1, 80))
    column, leaf = column_of(values, 1e-6), LEAVES["student-t"]
    found = fit_column(leaf, column, values, w, alpha)[0]
    value = objective(leaf, column, values, w, alpha)

    def bounded(row: Floats) -> float:
        return value(row) if 1.0 <= row[2] <= 1000.0 else -1e9

    best = brute_force(bounded, found, [False, True, True])
    assert value(found) >= best - 0.01 * w.sum()  # EM is slow where many df are almost the same


@pytest.mark.parametrize("name", ["gaussian", "student-t", "gamma", "log-normal"])
def test_a_mean_of_a_billion_keeps_the_digits_of_the_spread(name: str) -> None:
    rng = np.random.default_rng(7)
    small = np.round(rng.normal(0.0, 1.0, size=4000), 3)
    values = (1e9 + small)[None, :]
    column, leaf = column_of(values, 1e-3), LEAVES[name]
    table = fit_column(leaf, column, values, np.ones_like(values), 0.1)
    own = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
    assert leaf.mean(table, own)[0] - 1e9 == pytest.approx(small.mean(), abs=0.02)
    assert np.sqrt(leaf.variance(table, own)[0]) == pytest.approx(small.std(), rel=0.02)
    normal = -0.5 * ((small - small.mean()) / small.std()) ** 2 - np.log(small.std())
    wanted = normal - 0.5 * np.log(2 * np.pi)
    found = leaf.log_density(table, values, own)[0]
    assert found.mean() == pytest.approx(wanted.mean(), abs=0.005)
    if name != "student-t":  # its tails differ
        assert found == pytest.approx(wanted, abs=0.01)


NARROW = ["gaussian", "student-t", "gamma", "log-normal", "exponential", "histogram"]


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("resolution", [1.0, 0.1, 1e-6])
def test_equal_values_do_not_make_a_spike(name: str, resolution: float) -> None:
    rng = np.random.default_rng(3)
    values = (np.rint(rng.gamma(3.0, 5.0, size=200) / resolution) + 1.0) * resolution
    column, leaf = column_of(values, resolution), LEAVES[name]
    own = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
    for at in (values.min(), np.sort(values)[100], values.max()):
        equal = np.full((1, 20), at)
        table = fit_column(leaf, column, equal, np.ones_like(equal), 0.0)
        top = leaf.log_density(table, values[None, :], own).max()
        assert top <= -np.log(resolution) + 1e-6
        if name in ("gaussian", "gamma", "log-normal"):  # and yet they come close to it
            assert top >= -np.log(resolution) - 0.2


@pytest.mark.parametrize("name", ["gamma", "log-normal"])
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_the_maximum_on_the_bound_is_a_maximum(name: str, seed: int) -> None:
    """Values that nearly repeat: no wider leaf within the bound explains them better."""
    rng = np.random.default_rng(seed)
    at = float(rng.integers(1, 50))
    values = at + rng.integers(0, 2, size=(1, 12)) * 1.0 * (rng.random() < 0.3)
    w = rng.random((1, 12))
    column, leaf = column_of(np.array([1.0, 60.0]), 1.0), LEAVES[name]
    found = fit_column(leaf, column, values, w, 0.0)[0]
    value = objective(leaf, column, values, w, 0.0)

    def bounded(row: Floats) -> float:
        return -np.inf if leaf.from_row(row).problems(column) else value(row)

    best = max(
        bounded(found * np.exp(rng.normal(size=2) * size))
        for size in (0.3, 0.01)
        for _ in range(200)
    )
    assert bounded(found) > -np.inf
    assert value(found) >= best - 1e-9 * abs(best)


@pytest.mark.parametrize("name", OVER_NUMBERS)
def test_tiny_flows_and_huge_values_give_valid_leaves(name: str) -> None:
    leaf = LEAVES[name]
    kind = "count" if leaf.kinds[0] == "count" else "real"
    values = np.array([[1.0, 3.0, 1e12]])
    column = column_of(values, 1.0, kind)
    own = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
    for flows in (np.full((1, 3), 1e-12), np.array([[1e-300, 0.0, 0.0]]), np.zeros((1, 3))):
        for alpha in (0.0, 0.1):
            table = fit_column(leaf, column, values, flows, alpha)
            assert leaf.is_valid(table, own)
            assert not np.isnan(leaf.log_density(table, values, own)).any()


@pytest.mark.parametrize("name", ["poisson", "negative-binomial"])
def test_only_zeros_make_a_leaf_of_zeros(name: str) -> None:
    leaf, column = LEAVES[name], column_of(np.array([0.0, 5.0]), 1.0, "count")
    table = fit_column(leaf, column, np.zeros((1, 4)), np.ones((1, 4)), 0.0)
    own = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
    assert leaf.log_density(table, np.array([[0.0, 1.0]]), own).tolist() == [[0.0, -np.inf]]


def test_a_column_of_one_value_can_be_fitted_by_every_leaf() -> None:
    for name in LEAVES:
        leaf = LEAVES[name]
        if leaf.is_finite:
            continue
        column = Column(
            "x", leaf.kinds[-1], 0, scale=Scale(1.0, 4.0, 4.0, 4.0, 0.0, np.log(4.0), 0.0)
        )
        table = fit_column(leaf, column, np.full((1, 5), 4.0), np.ones((1, 5)), 0.1)
        assert leaf.from_row(table[0]).problems(column) == []
        own = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
        assert leaf.log_density(table, np.array([[4.0]]), own)[0, 0] <= 1e-9
