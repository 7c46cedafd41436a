"""What queries rely on in a leaf distribution that is given to lie in an interval."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from spnc.common.arrays import Floats
from spnc.leaves.numeric import as_numeric
from spnc.testing.leaf_cases import LEAVES, Leaf, LeafCase, smooth_pieces
from spnc.testing.promises import FEW, Promise, expect, expect_close

_TAIL = 8.0  # standard deviations from the mean, where differences of probabilities lose digits
_SLACK = 1e-6  # relative error of a probability
_PIECES = 200  # of a numerical integral


def moments_within_an_interval_are_those_of_the_density(leaf: Leaf, seed: int) -> None:
    """Sums or integrals of the density give the same, also in tails and in narrow intervals."""
    case = LeafCase.of(leaf, seed)
    for low, high in _intervals(case):
        found = leaf.moments_within(case.table, low, high, case.columns)
        mass = leaf.interval(case.table, low[:, None], high[:, None], case.columns)[:, 0]
        for i in range(LEAVES):
            place = f"given {low[i]!r} to {high[i]!r}"
            if mass[i] == 0.0:
                expect(np.isnan(found[0][i]), f"the mean {place}, which is impossible, is not NaN")
                expect(np.isnan(found[1][i]), f"the variance {place} is not NaN")
                continue
            mean, variance = _moments(case, i, float(low[i]), float(high[i]))
            sd = float(np.sqrt(variance))
            slack = 1e-6 * sd + 1e-12 * abs(mean)
            expect_close(found[0][i], mean, f"the mean {place}", rel=0.0, abs=slack)
            expect_close(found[1][i], variance, f"the variance {place}", abs=slack**2)


def two_halves_have_the_moments_of_the_whole(leaf: Leaf, seed: int) -> None:
    """Moments below and above a value make up `mean` and `variance`; so does the whole line."""
    case = LeafCase.of(leaf, seed)
    mean, variance = leaf.mean(case.table, case.columns), leaf.variance(case.table, case.columns)
    below, above = np.full(LEAVES, -np.inf), np.full(LEAVES, np.inf)
    whole = leaf.moments_within(case.table, below, above, case.columns)
    for what, found, wanted in zip(("mean", "variance"), whole, (mean, variance), strict=True):
        same = np.isnan(found) & np.isnan(wanted)
        text = f"the {what} given all numbers"
        expect_close(np.where(same, 0.0, found), np.where(same, 0.0, wanted), text)
    middle = case.some_values(1)[:, 0]
    after = middle + 1.0 if _is_whole(case) else middle
    parts = [(below, middle), (after, above)]
    mass = [leaf.interval(case.table, a[:, None], b[:, None], case.columns)[:, 0] for a, b in parts]
    own = [leaf.moments_within(case.table, a, b, case.columns) for a, b in parts]
    for i in np.flatnonzero(np.isfinite(variance) & (mass[0] > 0.0) & (mass[1] > 0.0)):
        shares = np.array([m[i] for m in mass])
        means, variances = np.array([[o[0][i], o[1][i]] for o in own]).T
        square = shares @ (variances + (means - mean[i]) ** 2)
        slack = 1e-6 * float(np.sqrt(variance[i]))
        expect_close(shares @ (means - mean[i]), 0.0, "the mean of two halves", abs=slack)
        expect_close(square, variance[i], "the variance of two halves", abs=1e-12 * variance[i])


def an_empty_interval_has_no_moments(leaf: Leaf, seed: int) -> None:
    """Mean and variance are NaN where the low end is above the high one."""
    case = LeafCase.of(leaf, seed)
    low = case.some_values(1)[:, 0]
    for moments in leaf.moments_within(case.table, low + 1.0, low, case.columns):
        expect(np.isnan(moments).all(), "moments given an empty interval are not NaN")


def a_quantile_is_the_inverse_of_the_cdf(leaf: Leaf, seed: int) -> None:
    """It is the least value whose cdf is at least the share; 0 and 1 give the support's ends."""
    case = LeafCase.of(leaf, seed)
    low, high = leaf.support(case.table, case.columns)
    for share, end in ((0.0, low), (1.0, high)):
        found = leaf.quantile(case.table, np.full(LEAVES, share), case.columns)
        expect_close(found, end, f"the quantile of {share:g}")
    for shares in (case.rng.random(LEAVES), 10.0 ** -case.rng.uniform(2.0, 6.0, size=LEAVES)):
        found = leaf.quantile(case.table, shares, case.columns)
        before, cdf = leaf.cdf(case.table, _around(case, found), case.columns).T
        expect((cdf >= shares * (1.0 - _SLACK)).all(), "the cdf of a quantile is below the share")
        told = "a value below a quantile is enough"
        expect((before <= shares * (1.0 + _SLACK)).all(), told)
        if leaf.is_finite:
            continue
        found = as_numeric(leaf).upper_quantile(case.table, shares, case.columns)
        before, above = as_numeric(leaf).above(case.table, _around(case, found), case.columns).T
        told = "an upper quantile is exceeded more often than its share says"
        expect((above <= shares * (1.0 + _SLACK)).all(), told)
        told = "a value below an upper quantile is enough"
        expect((before >= shares * (1.0 - _SLACK)).all(), told)


def _around(case: LeafCase, values: Floats) -> Floats:
    """Return the whole numbers before and at values; or numbers a few last digits apart."""
    digits = 4.0 * np.spacing(np.abs(values))
    apart = (1.0, 0.0) if _is_whole(case) else (digits, digits)
    return np.stack([values - apart[0], values + apart[1]], axis=1)


def _is_whole(case: LeafCase) -> bool:
    return case.leaf.is_finite or case.column.kind == "count"


def _intervals(case: LeafCase) -> list[tuple[Floats, Floats]]:
    """Return bounded intervals: between values, around one, and in both tails."""
    one, other = case.some_values(1)[:, 0], case.some_values(1)[:, 0]
    unit = np.ones(LEAVES) if _is_whole(case) else case.columns.resolution
    sd = np.sqrt(case.leaf.variance(case.table, case.columns))
    mean = case.leaf.mean(case.table, case.columns)
    known = np.isfinite(sd) & (sd > 0.0)
    sd, mean = np.where(known, sd, unit), np.where(known, mean, one)
    return [
        (np.minimum(one, other), np.maximum(one, other)),
        (one - 0.01 * unit, one + 0.01 * unit),
        (mean + _TAIL * sd, mean + (_TAIL + 1.0) * sd + unit),
        (mean - (_TAIL + 1.0) * sd - unit, mean - _TAIL * sd),
    ]


def _moments(case: LeafCase, i: int, low: float, high: float) -> tuple[float, float]:
    """Return mean and variance of one leaf within a bounded interval, from its density."""
    table, known = case.table[i : i + 1], case.columns.take(slice(i, i + 1))
    if _is_whole(case):
        last = case.column.states - 1.0 if case.leaf.is_finite else np.inf
        grid = np.arange(max(np.ceil(low), 0.0), min(np.floor(high), last) + 1.0)
        density = np.exp(case.leaf.log_density(table, grid[None], known)[0])
        share = density / density.sum()
        mean = float(share @ grid)
        return mean, float(share @ (grid - mean) ** 2)
    ends = case.leaf.support(table, known)
    low, high = max(low, float(ends[0][0])), min(high, float(ends[1][0]))
    breaks = as_numeric(case.leaf).breaks(table, known)
    if ((low < breaks) & (breaks < high)).any():
        at, weights = smooth_pieces(case.leaf, table, known, low, high)
        logs = case.leaf.log_density(table, at[None], known)[0]
        share = np.exp(logs - logs.max()) * weights
        share /= share.sum()
        mean = low + float(share @ (at - low))
        return mean, float(share @ (at - mean) ** 2)
    grid = np.linspace(low, high, _PIECES + 1)[None]
    top = float(case.leaf.log_density(table, grid, known).max())

    def integral(weight: Callable[[float], float]) -> float:
        def integrand(t: float) -> float:
            at = np.array([[low + t]])
            return weight(t) * float(np.exp(case.leaf.log_density(table, at, known)[0, 0] - top))

        return _integral(integrand, high - low)

    mass = integral(lambda _: 1.0)
    mean = integral(lambda t: t) / mass
    return low + mean, integral(lambda t: (t - mean) ** 2) / mass


def _integral(integrand: Callable[[float], float], width: float) -> float:
    from scipy.integrate import IntegrationWarning, quad

    with warnings.catch_warnings():
        # Densities with jumps do not reach the precision asked for, but come close enough.
        warnings.simplefilter("ignore", IntegrationWarning)
        return float(quad(integrand, 0.0, width, epsabs=0.0, epsrel=1e-9, limit=_PIECES)[0])


INTERVAL_PROMISES = (
    *(
        Promise(check)
        for check in (
            two_halves_have_the_moments_of_the_whole,
            an_empty_interval_has_no_moments,
            a_quantile_is_the_inverse_of_the_cdf,
        )
    ),
    Promise(moments_within_an_interval_are_those_of_the_density, FEW),
)
