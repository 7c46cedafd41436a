"""Gaussians of low rank over several columns, and mixtures of independent Gaussians like them.

In a factor model, a row of places is `mean + loadings @ factors + noise`: the factors are
independent and standard normal, and so is the noise of each column, up to its variance. The
covariance is a matrix of as low a rank as there are factors, plus a diagonal one.

Given the factors, columns are independent. So a sum over a grid of factors, whose steps are small
compared with what is known of the factors from a row, has nearly the same density: the trapezoidal
rule converges exponentially for such integrals. Such a sum is an ordinary circuit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats

ITERATIONS = 200  # of EM, at most
LEAST_GAIN = 1e-6  # nats a row; an iteration that gains less is the last
LEAST_VARIANCE = 1e-4  # of the noise, in squares of a column's standard deviation
# Of a grid, in standard deviations of a factor given a row. The density then has a relative error
# of 2 exp(-2 pi² / STEP²), or 0.0003.
STEP = 1.5
REACH = 5.0  # of a grid, in standard deviations of the factors
_START_NOISE = 0.05  # the least share of a column's variance that is noise at first
_WIDER = 1.2  # by which the variance of the noise grows until a grid is small enough
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class FactorModel:
    """A Gaussian over several columns: mean, loadings `[column, factor]`, variance of the noise."""

    mean: Floats
    loadings: Floats
    noise: Floats

    @property
    def covariance(self) -> Floats:
        """The covariance of the columns."""
        found: Floats = self.loadings @ self.loadings.T + np.diag(self.noise)
        return found

    @property
    def parameters(self) -> int:
        """The number of free parameters: factors can be rotated without a change."""
        width, rank = self.loadings.shape
        return int(2 * width + width * rank - rank * (rank - 1) // 2)


@dataclass(frozen=True, eq=False)
class FactorGrid:
    """A mixture of independent Gaussians, nearly the same distribution as a factor model."""

    shares: Floats  # of the points
    means: Floats  # `[point, column]`


@dataclass(frozen=True, eq=False)
class Places:
    """Cells of rows, in standard deviations from the mean of each column; 0 where missing."""

    values: Floats  # `[row, column]`
    known: NDArray[np.float64]  # 1 where there is a value, 0 where it is missing

    @staticmethod
    def of(values: Floats) -> Places:
        """Return the places of rows in which missing cells are NaN."""
        known = ~np.isnan(values)
        return Places(np.where(known, values, 0.0), known.astype(np.float64))


def best_factor_model(
    places: Places, weights: Floats, prior: float, most_factors: int
) -> FactorModel:
    """Return the model that is best by Akaike's criterion: the log-likelihood minus parameters.

    `prior` is a number of pseudo-rows in which columns are independent and standard normal.
    """
    best: FactorModel | None = None
    best_score = -np.inf
    for rank in range(min(most_factors, places.values.shape[1] - 1) + 1):
        model, log_likelihood = _fitted(places, weights, prior, rank)
        score = log_likelihood - model.parameters
        if best is None or score > best_score:
            best, best_score = model, score
    assert best is not None
    return best


def _fitted(places: Places, weights: Floats, prior: float, rank: int) -> tuple[FactorModel, float]:
    """Return the most likely model with this many factors, and its log-likelihood, by EM."""
    model = starting_model(places, weights, prior, rank)
    enough, before = LEAST_GAIN * float(weights.sum()), -np.inf
    for _ in range(ITERATIONS):
        found = float(weights @ log_likelihoods(model, places))
        if found - before <= enough:
            break
        before = found
        model = improved(model, places, weights, prior)
    return model, before


def starting_model(places: Places, weights: Floats, prior: float, rank: int) -> FactorModel:
    """Return a model with the principal axes of rows whose missing cells are filled with means."""
    held = places.known * weights[:, None]
    total = np.maximum(held.sum(axis=0) + prior, _TINY)
    mean = (held * places.values).sum(axis=0) / total
    apart = places.known * (places.values - mean)
    square = (held * apart**2).sum(axis=0) + prior * (1.0 + mean**2)
    variance = np.maximum(square / total, LEAST_VARIANCE)
    scaled = (
        apart / np.sqrt(variance) * np.sqrt(weights / max(float(weights.sum()), _TINY))[:, None]
    )
    values, axes = np.linalg.eigh(scaled.T @ scaled)
    chosen = axes[:, ::-1][:, :rank] * np.sqrt(np.maximum(values[::-1][:rank], 0.0))
    explained = (chosen**2).sum(axis=1)
    most = np.minimum(1.0, (1.0 - _START_NOISE) / np.maximum(explained, _TINY))
    loadings = chosen * np.sqrt(most * variance)[:, None]
    noise = np.maximum(variance - (loadings**2).sum(axis=1), LEAST_VARIANCE)
    return FactorModel(mean, loadings, noise)


def log_likelihoods(model: FactorModel, places: Places) -> Floats:
    """Return the log density of each row's known cells."""
    precision, apart, pull = _pulled(model, places)
    first = np.linalg.solve(precision, pull[:, :, None])[:, :, 0]
    found: Floats = -0.5 * (
        places.known @ np.log(2.0 * np.pi * model.noise)
        + apart**2 @ (1.0 / model.noise)
        + np.linalg.slogdet(precision)[1]
        - (pull * first).sum(axis=1)
    )
    return found


def _pulled(model: FactorModel, places: Places) -> tuple[Floats, Floats, Floats]:
    """Return, by row, the precision of the factors, the distances from the mean, and the pull.

    The mean of the factors given a row is the inverse of the precision times the pull.
    """
    width, rank = model.loadings.shape
    precise = model.loadings / model.noise[:, None]
    outer = (precise[:, :, None] * model.loadings[:, None, :]).reshape(width, rank * rank)
    count = len(places.values)
    precision = (places.known @ outer).reshape(count, rank, rank) + np.eye(rank)
    apart = places.known * (places.values - model.mean)
    return precision, apart, apart @ precise


def improved(model: FactorModel, places: Places, weights: Floats, prior: float) -> FactorModel:
    """Return the model after an iteration of EM on weighted rows.

    The columns are regressed on the factors. Then the factors are given mean zero and unit
    covariance again, which changes the loadings and the mean alone: with such an expansion of the
    parameters, EM needs far fewer iterations (Liu, Rubin & Wu 1998).
    """
    width, rank = model.loadings.shape
    precision, _, pull = _pulled(model, places)
    covariance = np.linalg.inv(precision)
    first = (covariance @ pull[:, :, None])[:, :, 0]
    regressors = np.concatenate([first, np.ones((len(first), 1))], axis=1)
    moments = regressors[:, :, None] * regressors[:, None, :]
    moments[:, :rank, :rank] += covariance
    held = places.known * weights[:, None]
    size = rank + 1
    gram = (held.T @ moments.reshape(len(first), size * size)).reshape(width, size, size)
    gram += (prior + _TINY) * np.eye(size)  # pseudo-rows have mean zero and know no factors
    right = (held * places.values).T @ regressors
    found = np.linalg.solve(gram, right[:, :, None])[:, :, 0]
    squares = (held * places.values**2).sum(axis=0) + prior - (found * right).sum(axis=1)
    noise = squares / np.maximum(held.sum(axis=0) + prior, _TINY)
    every = (weights @ moments.reshape(len(first), size * size)).reshape(size, size)
    total = float(weights.sum()) + prior + _TINY
    shift = every[:rank, rank] / total
    spread = (every[:rank, :rank] + (prior + _TINY) * np.eye(rank)) / total - np.outer(shift, shift)
    return FactorModel(
        found[:, rank] + found[:, :rank] @ shift,
        found[:, :rank] @ np.linalg.cholesky(spread),
        np.maximum(noise, LEAST_VARIANCE),
    )


# ---- the grid ----------------------------------------------------------------------------------


def factor_grid(model: FactorModel, most: int) -> tuple[FactorGrid, Floats]:
    """Return at most this many points of the factors, and the variances of the noise.

    The points are within reach, with the normal density as shares. If they would be too many, the
    grid is that of the nearest model that has fewer factors, more noise, or both.
    """
    ranks = range(model.loadings.shape[1], -1, -1)
    small = [_with_small_grid(_with_fewer_factors(model, rank), most) for rank in ranks]
    chosen = min((m for m in small if m is not None), key=lambda m: _divergence(model, m))
    loadings, counts = _axes(chosen)
    factors = _ball(counts)
    shares = np.exp(-0.5 * (factors**2).sum(axis=1))
    grid = FactorGrid(shares / shares.sum(), chosen.mean + factors @ loadings.T)
    return grid, chosen.noise


def _axes(model: FactorModel) -> tuple[Floats, list[int]]:
    """Return loadings of factors that are independent given a row, and their numbers of points."""
    information, axes = np.linalg.eigh(model.loadings.T @ (model.loadings / model.noise[:, None]))
    return model.loadings @ axes, [_points(1.0 + own) for own in information.tolist()]


def _with_fewer_factors(model: FactorModel, rank: int) -> FactorModel:
    """Return the model with the factors that a row says most about; the others become noise."""
    if rank == model.loadings.shape[1]:
        return model
    loadings, _ = _axes(model)  # the last ones are known best
    rest, kept = np.split(loadings, [loadings.shape[1] - rank], axis=1)
    return FactorModel(model.mean, kept, model.noise + (rest**2).sum(axis=1))


def _with_small_grid(model: FactorModel, most: int) -> FactorModel | None:
    """Return the model with as much more noise as makes its grid small enough, if any does."""
    while True:
        counts = _axes(model)[1]
        # A ball fills more than half of its cube, and three quarters of its square.
        if np.prod([float(c) for c in counts]) <= 2.0 * most and len(_ball(counts)) <= most:
            return model
        if max(counts) == _points(1.0):
            return None
        model = replace(model, noise=_WIDER * model.noise)


def _divergence(model: FactorModel, other: FactorModel) -> float:
    """Return the Kullback-Leibler divergence of another model with the same mean; 0 of itself."""
    if other is model:
        return 0.0
    ratio = np.linalg.solve(other.covariance, model.covariance)
    return float(0.5 * (np.trace(ratio) - len(ratio) - np.linalg.slogdet(ratio)[1]))


def _points(precision: float) -> int:
    """Return the number of points along a factor: odd, so that one is in the middle."""
    return 2 * int(np.ceil(REACH * np.sqrt(precision) / STEP)) + 1


def _ball(counts: list[int]) -> Floats:
    """Return the points of a grid that are within reach of its middle."""
    found = np.zeros((1, 0))
    for count in counts:
        line = np.linspace(-REACH, REACH, count)
        found = np.concatenate(
            [np.repeat(found, count, axis=0), np.tile(line, len(found))[:, None]], axis=1
        )
        found = found[(found**2).sum(axis=1) <= REACH**2 * (1.0 + 1e-9)]
    return found
