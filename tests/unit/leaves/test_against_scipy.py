"""Densities, moments and probabilities of leaves over numbers, against scipy.stats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from spnc.common.arrays import Floats
from spnc.data.columns import Column, Scale
from spnc.leaves.leaf_columns import LeafColumns
from spnc.registry import LEAVES

REAL = Column("x", "real", 0, scale=Scale(resolution=1e-6))
COUNT = Column("n", "count", 0, scale=Scale())
LEAF_COUNT = 3


def positive(rng: np.random.Generator) -> Floats:
    return rng.gamma(1.5, 3.0, size=(LEAF_COUNT, 1)) + 0.05


def chance(rng: np.random.Generator) -> Floats:
    return rng.uniform(0.05, 0.95, size=(LEAF_COUNT, 1))


def real(rng: np.random.Generator) -> Floats:
    return rng.normal(0.0, 3.0, size=(LEAF_COUNT, 1))


# For each leaf: how its parameters are drawn, and the same distribution in scipy.
TRUTH: dict[str, tuple[list[Callable[[np.random.Generator], Floats]], Callable[..., Any]]] = {
    "gaussian": ([real, positive], lambda m, s: stats.norm(m, s)),
    "log-normal": ([real, chance], lambda m, s: stats.lognorm(s, scale=np.exp(m))),
    "gamma": ([positive, positive], lambda a, b: stats.gamma(a, scale=1.0 / b)),
    "exponential": ([positive], lambda b: stats.expon(scale=1.0 / b)),
    "poisson": ([positive], stats.poisson),
    "negative-binomial": ([positive, chance], stats.nbinom),
    "student-t": (
        [real, positive, lambda rng: 1.0 + positive(rng)],
        lambda m, s, v: stats.t(v, m, s),
    ),
    "uniform": ([real, lambda rng: real(rng) + 20.0], lambda a, b: stats.uniform(a, b - a)),
    "point": ([real, positive], lambda v, w: stats.uniform(v - w / 2, w)),
}


@pytest.mark.parametrize("name", TRUTH)
@given(seed=st.integers(0, 10**6))
def test_a_leaf_is_the_distribution_of_its_name(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaf, (draw, made) = LEAVES[name], TRUTH[name]
    parameters = [one(rng) for one in draw]
    table, truth = np.concatenate(parameters, axis=1), made(*parameters)
    column = REAL if "real" in leaf.kinds else COUNT
    columns = LeafColumns.of([column], np.zeros(LEAF_COUNT, dtype=np.int64))
    assert leaf.is_valid(table, columns)
    values = truth.rvs(size=(LEAF_COUNT, 6), random_state=rng)
    values[:, 5] = -7.0  # below the support of some
    density = truth.logpdf if column is REAL else truth.logpmf
    found = leaf.log_density(table, values, columns)
    assert found == pytest.approx(density(values), rel=1e-9, abs=1e-9)
    assert leaf.cdf(table, values, columns) == pytest.approx(truth.cdf(values), rel=1e-7, abs=1e-13)
    assert leaf.mean(table, columns) == pytest.approx(truth.mean()[:, 0], nan_ok=True)
    assert leaf.variance(table, columns) == pytest.approx(truth.var()[:, 0], nan_ok=True)
    if hasattr(leaf, "above"):
        above = leaf.above(table, values, columns)
        assert above == pytest.approx(truth.sf(values), rel=1e-7, abs=1e-13)
    low, high = leaf.support(table, columns)
    wanted = truth.support()
    assert low == pytest.approx(np.broadcast_to(wanted[0], (LEAF_COUNT, 1))[:, 0])
    assert high == pytest.approx(np.broadcast_to(wanted[1], (LEAF_COUNT, 1))[:, 0])


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["real", "count"]))
def test_a_histogram_is_the_one_of_scipy(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    bins = int(rng.integers(1, 6))
    steps = rng.integers(1, 4, size=(LEAF_COUNT, bins + 1)).astype(float)
    edges = np.cumsum(steps, axis=1) - 0.5
    chances = rng.dirichlet(np.ones(bins), size=LEAF_COUNT)
    leaf = LEAVES["histogram"]
    table = np.stack([leaf.row_of(*pair) for pair in zip(edges, chances, strict=True)])
    column = Column("x", kind, 0, scale=Scale())  # type: ignore[arg-type]
    columns = LeafColumns.of([column], np.zeros(LEAF_COUNT, dtype=np.int64))
    assert leaf.is_valid(table, columns)
    values = rng.integers(-1, 25, size=(LEAF_COUNT, 9)).astype(float)
    for i in range(LEAF_COUNT):
        truth = stats.rv_histogram((chances[i], edges[i]), density=False)
        with np.errstate(divide="ignore"):
            density = truth.logpdf(values[i])
        assert leaf.log_density(table, values, columns)[i] == pytest.approx(density)
        at = values[i] if kind == "real" else values[i] + 0.5
        assert leaf.cdf(table, values, columns)[i] == pytest.approx(truth.cdf(at))
        assert leaf.mean(table, columns)[i] == pytest.approx(truth.mean())
        if kind == "real":
            assert leaf.variance(table, columns)[i] == pytest.approx(truth.var())
        else:
            whole = np.arange(edges[i, 0] + 0.5, edges[i, -1])
            p = truth.pdf(whole)
            variance = (p * whole**2).sum() - (p * whole).sum() ** 2
            assert leaf.variance(table, columns)[i] == pytest.approx(variance, abs=1e-9)
