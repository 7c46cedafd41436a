"""Gaussians of low rank, beside SciPy's of full rank, and the grids that stand for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from spnc.common.arrays import Floats
from spnc.learners.support.factor_models import (
    FactorModel,
    Places,
    best_factor_model,
    factor_grid,
    improved,
    log_likelihoods,
    starting_model,
)


def drawn_model(rng: np.random.Generator, width: int, rank: int) -> FactorModel:
    loadings = rng.normal(size=(width, rank)) * rng.uniform(0.1, 1.0)
    return FactorModel(rng.normal(size=width), loadings, rng.uniform(0.02, 0.5, width))


def rows_of(model: FactorModel, count: int, rng: np.random.Generator) -> Floats:
    factors = rng.normal(size=(count, model.loadings.shape[1]))
    noise = rng.normal(size=(count, len(model.mean))) * np.sqrt(model.noise)
    return np.asarray(model.mean + factors @ model.loadings.T + noise)


def exact(model: FactorModel, rows: Floats) -> Floats:
    return np.asarray(multivariate_normal.logpdf(rows, model.mean, model.covariance)).reshape(-1)


MODELS = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(0, 2))


@given(MODELS)
@settings(max_examples=30)
def test_the_density_is_that_of_scipy_with_missing_cells_left_out(
    model_seed: tuple[int, int, int],
) -> None:
    seed, width, rank = model_seed
    rng = np.random.default_rng(seed)
    model = drawn_model(rng, width, rank)
    rows = rows_of(model, 8, rng)
    missing = rng.random(rows.shape) < 0.3
    found = log_likelihoods(model, Places.of(np.where(missing, np.nan, rows)))
    for row, gone, own in zip(rows, missing, found.tolist(), strict=True):
        known = np.flatnonzero(~gone)
        part = model.covariance[np.ix_(known, known)]
        wanted = (
            multivariate_normal.logpdf(row[known], model.mean[known], part) if len(known) else 0
        )
        assert own == pytest.approx(wanted, abs=1e-9)


@given(MODELS)
@settings(max_examples=30)
def test_a_grid_has_the_density_of_its_model(model_seed: tuple[int, int, int]) -> None:
    seed, width, rank = model_seed
    rng = np.random.default_rng(seed)
    model = drawn_model(rng, width, rank)
    grid, noise = factor_grid(model, 1_000_000)
    assert (noise == model.noise).all()
    assert grid.shares.sum() == pytest.approx(1.0, abs=1e-12)
    rows = rows_of(model, 20, rng)
    apart = (rows[:, None] - grid.means) ** 2 / noise + np.log(2 * np.pi * noise)
    found = logsumexp(np.log(grid.shares) - 0.5 * apart.sum(axis=2), axis=1)
    np.testing.assert_allclose(found, exact(model, rows), atol=0.005)


@pytest.mark.parametrize("noise", [1e-4, 1e-2])
def test_a_grid_that_would_be_too_large_is_that_of_a_model_nearby(noise: float) -> None:
    rng = np.random.default_rng(0)
    model = FactorModel(np.zeros(4), rng.normal(size=(4, 3)) * [1.0, 0.5, 0.02], np.full(4, noise))
    rows = rows_of(model, 1000, rng)
    lost = []
    for most in (50, 500, 5000):
        grid, own = factor_grid(model, most)
        assert len(grid.shares) <= most
        apart = (rows[:, None] - grid.means) ** 2 / own + np.log(2 * np.pi * own)
        found = logsumexp(np.log(grid.shares) - 0.5 * apart.sum(axis=2), axis=1)
        lost.append(float((exact(model, rows) - found).mean()))
    assert lost[0] > lost[1] > lost[2] > -0.01
    # Independent columns with the same variances would lose this.
    alone = FactorModel(np.zeros(4), np.empty((4, 0)), np.diag(model.covariance).copy())
    assert lost[1] < 0.75 * (exact(model, rows) - exact(alone, rows)).mean()


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_model_is_learned_from_its_rows(rank: int, missing: float) -> None:
    rng = np.random.default_rng(rank)
    model = FactorModel(np.zeros(6), rng.normal(size=(6, rank)) * 0.8, np.full(6, 0.1))
    rows = rows_of(model, 2000, rng)
    rows[rng.random(rows.shape) < missing] = np.nan
    found = best_factor_model(Places.of(rows), np.ones(len(rows)), 0.1, 3)
    later = rows_of(model, 4000, rng)
    lost = exact(model, later).mean() - exact(found, later).mean()
    # An estimate from n rows loses half a nat for each of its parameters, divided by n.
    assert lost < 2.0 * found.parameters / (len(rows) * (1.0 - missing))


def test_a_row_of_weight_two_is_two_rows() -> None:
    rng = np.random.default_rng(4)
    rows = rows_of(drawn_model(rng, 4, 1), 50, rng)
    weights = rng.integers(0, 3, len(rows)).astype(float)
    heavy = best_factor_model(Places.of(rows), weights, 0.1, 1)
    often = best_factor_model(
        Places.of(np.repeat(rows, weights.astype(int), axis=0)), np.ones(int(weights.sum())), 0.1, 1
    )
    np.testing.assert_allclose(heavy.covariance, often.covariance, rtol=1e-6)
    np.testing.assert_allclose(heavy.mean, often.mean, rtol=1e-6)


@given(MODELS)
@settings(max_examples=20)
def test_no_iteration_lowers_the_likelihood(model_seed: tuple[int, int, int]) -> None:
    seed, width, rank = model_seed
    rng = np.random.default_rng(seed)
    rows = rows_of(drawn_model(rng, width, rank), 40, rng)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    places, weights = Places.of(rows), rng.uniform(0.5, 2.0, len(rows))
    model = starting_model(places, weights, 0.0, min(rank, width - 1))
    before = -np.inf
    for _ in range(10):
        score = float(weights @ log_likelihoods(model, places))
        assert score >= before - 1e-9 * abs(score)
        before, model = score, improved(model, places, weights, 0.0)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows_and_cells_that_are_all_missing_have_a_model(rows: int) -> None:
    cells = np.arange(3.0 * rows).reshape(rows, 3) / 10
    cells[:, 1] = np.nan
    found = best_factor_model(Places.of(cells), np.ones(rows), 0.1, 2)
    assert np.isfinite(found.covariance).all()
    assert found.mean[1] == pytest.approx(0.0, abs=1e-9)
    assert found.covariance[1, 1] == pytest.approx(1.0)
