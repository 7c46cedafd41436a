"""What queries rely on in a leaf distribution: samples, modes, moments and probabilities."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves.fitting import fit_column
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import as_numeric
from spnc.testing.leaf_cases import LEAVES, Leaf, LeafCase, is_fixed, smooth_pieces
from spnc.testing.promises import FEW, Promise, expect, expect_close

_SAMPLES = 500
# Six standard errors: a right sample exceeds it in two of a billion cases.
_ERRORS = 6.0
_HEAVY = 8.0  # kurtosis of samples whose average square says little about the variance
_CELLS = 20_000  # of a numerical integral; at a jump it is off by one cell
_FEW_BREAKS = 20  # jumps of a density; with more, the integral is taken between them
_FAR = (-1e300, -1e9, -1.0, -1e-300, 0.0, 1e-300, 1e-9, 0.5, 1e9, 1e300)


def the_density_adds_up_to_the_probability(leaf: Leaf, seed: int) -> None:
    """Sums or integrals of the density between two values are what `interval` returns."""
    case = LeafCase.of(leaf, seed)
    ends = np.quantile(case.samples(50), [0.1, 0.9], axis=1)
    low, high = ends[0][:, None], ends[1][:, None]
    if leaf.is_finite or case.column.kind == "count":
        low, high = np.floor(low), np.ceil(high)
        steps = np.arange(np.max(high - low) + 1.0)
        grid, cell = np.minimum(low + steps, high), (low + steps <= high).astype(np.float64)
    elif len(as_numeric(leaf).breaks(case.table, case.columns)) > _FEW_BREAKS:
        _pieces_add_up(case, low.ravel(), high.ravel())
        return
    else:
        low, high = low - case.columns.resolution[:, None], high + case.columns.resolution[:, None]
        steps = (np.arange(_CELLS) + 0.5) / _CELLS
        grid, cell = low + (high - low) * steps, (high - low) / _CELLS
    density = np.exp(leaf.log_density(case.table, grid, case.columns))
    top = density.max(axis=1) * (0.0 if leaf.is_finite else 4.0) * np.max(cell)
    found = (density * cell).sum(axis=1)
    wanted = leaf.interval(case.table, low, high, case.columns)[:, 0]
    slack = 1e-6 if leaf.is_finite or case.column.kind == "count" else np.maximum(1e-3, top)
    expect(
        (np.abs(found - wanted) <= slack).all(),
        f"between {low.ravel()} and {high.ravel()} the density adds up to {found}, not {wanted}",
    )


def _pieces_add_up(case: LeafCase, low: Floats, high: Floats) -> None:
    """Check the same of a density with many jumps, piece by piece."""
    wanted = case.leaf.interval(case.table, low[:, None], high[:, None], case.columns)[:, 0]
    for i in range(len(low)):
        one = case.columns.take(slice(i, i + 1))
        at, weights = smooth_pieces(case.leaf, case.table[i : i + 1], one, low[i], high[i])
        density = np.exp(case.leaf.log_density(case.table[i : i + 1], at[None], one))[0]
        found = float(density @ weights)
        told = f"between {low[i]} and {high[i]} the density adds up to {found}, not {wanted[i]}"
        expect(abs(found - wanted[i]) <= 1e-6, told)


def all_values_have_probability_one(leaf: Leaf, seed: int) -> None:
    """The cdf rises from zero to one, and the interval of all numbers has probability one."""
    case = LeafCase.of(leaf, seed)
    ends = np.full((LEAVES, 1), -np.inf), np.full((LEAVES, 1), np.inf)
    everything = leaf.interval(case.table, *ends, case.columns)
    expect_close(everything, np.ones((LEAVES, 1)), "the probability of all numbers")
    values = np.sort(np.concatenate([*ends, case.some_values(20)], axis=1), axis=1)
    cdf = leaf.cdf(case.table, values, case.columns)
    expect_close(cdf[:, 0], np.zeros(LEAVES), "the cdf at minus infinity")
    expect_close(cdf[:, -1], np.ones(LEAVES), "the cdf at infinity")
    expect((np.diff(cdf, axis=1) >= -1e-12).all(), "the cdf falls")


def an_interval_is_the_difference_of_two_cdfs(leaf: Leaf, seed: int) -> None:
    """`interval` includes both ends; it is zero if they are in the wrong order."""
    case = LeafCase.of(leaf, seed)
    low, high = np.sort(np.stack([case.some_values(9), case.some_values(9)]), axis=0)
    found = leaf.interval(case.table, low, high, case.columns)
    whole = leaf.is_finite or case.column.kind == "count"
    below = leaf.cdf(case.table, low - 1.0 if whole else low, case.columns)
    wanted = leaf.cdf(case.table, high, case.columns) - below
    expect_close(found, wanted, "the probability of an interval", abs=1e-9)
    wrong = leaf.interval(case.table, high + 1.0, low, case.columns)
    expect((wrong == 0.0).all(), "an interval whose low end is above the high one is not empty")


def samples_follow_the_cdf(leaf: Leaf, seed: int) -> None:
    """The share of samples up to a value is the cdf there, and samples are possible values."""
    case = LeafCase.of(leaf, seed)
    drawn = case.samples(_SAMPLES)
    logs = leaf.log_density(case.table, drawn, case.columns)
    expect(np.isfinite(logs).all(), "a sample is impossible")
    low, high = leaf.support(case.table, case.columns)
    inside = (drawn >= low[:, None]) & (drawn <= high[:, None])
    expect(inside.all(), "a sample is outside the support")
    at = case.some_values(5)
    share = (drawn[:, :, None] <= at[:, None, :]).mean(axis=1)
    cdf = leaf.cdf(case.table, at, case.columns)
    error = np.sqrt(np.maximum(cdf * (1.0 - cdf), 0.0) / _SAMPLES) + 2.0 / _SAMPLES
    # A point draws the middle of its box: within the box, samples are not spread as the cdf is.
    inside_box = (np.ptp(drawn, axis=1) == 0.0)[:, None] & (cdf > 0.0) & (cdf < 1.0)
    expect(
        ((np.abs(share - cdf) <= _ERRORS * error) | inside_box).all(),
        f"the shares {share} of samples up to {at} are not the cdf {cdf}",
    )


def samples_have_the_mean_and_the_variance(leaf: Leaf, seed: int) -> None:
    """Averages of samples come close to `mean` and `variance`; heavy tails are left out."""
    case = LeafCase.of(leaf, seed)
    mean = leaf.mean(case.table, case.columns)[:, None]
    variance = leaf.variance(case.table, case.columns)
    drawn = case.samples(_SAMPLES)
    for i in np.flatnonzero(np.isfinite(variance)).tolist():
        apart = drawn[i] - mean[i]
        if variance[i] == 0.0:
            expect((apart == 0.0).all(), "samples of a leaf without variance differ")
            continue
        error = np.sqrt(variance[i] / _SAMPLES)
        told = f"the mean of samples is off by {apart.mean()!r}, the standard error is {error!r}"
        expect(abs(apart.mean()) <= _ERRORS * error + 1e-9 * abs(mean[i, 0]), told)
        if np.ptp(drawn[i]) == 0.0:
            continue  # a rare value was never drawn: its part of the variance cannot be seen
        wanted = float(variance[i])
        if not case.leaf.is_finite:
            centre, seen = _within_draws(case, i, drawn[i])
            if seen < 0.8 * wanted:  # the rest of it lies beyond all that was drawn
                apart, wanted = drawn[i] - centre, seen
        square = float(np.mean(apart**2))
        fourth = float(np.mean(apart**4)) / max(square**2, np.finfo(float).tiny)
        if fourth < _HEAVY:
            ratio = square / wanted
            told = f"the variance of samples is {ratio!r} times `variance`"
            expect(abs(ratio - 1.0) <= _ERRORS * np.sqrt(fourth / _SAMPLES) + 1e-6, told)


def _within_draws(case: LeafCase, i: int, drawn: Floats) -> tuple[float, float]:
    """Return mean and variance of a leaf between the least and the largest value drawn from it."""
    ends = np.array([drawn.min()]), np.array([drawn.max()])
    one = case.columns.take(slice(i, i + 1))
    mean, variance = case.leaf.moments_within(case.table[i : i + 1], *ends, one)
    return float(mean[0]), float(variance[0])


def the_mode_has_the_highest_density(leaf: Leaf, seed: int) -> None:
    """No value that the column can hold has a higher density than the mode."""
    case = LeafCase.of(leaf, seed)
    best = leaf.log_density(case.table, leaf.mode(case.table, case.columns)[:, None], case.columns)
    expect(np.isfinite(best).all(), "the mode is impossible")
    others = np.concatenate([case.some_values(9), _rounded(case, case.samples(50))], axis=1)
    found = leaf.log_density(case.table, others, case.columns)
    expect((found <= best + 1e-9).all(), "a value has a higher density than the mode")


def what_is_outside_the_support_is_impossible(leaf: Leaf, seed: int) -> None:
    """The density is zero there, and never NaN or infinite for any number."""
    if leaf.is_finite:
        return
    case = LeafCase.of(leaf, seed)
    low, high = (end[:, None] for end in leaf.support(case.table, case.columns))
    far = np.array(_FAR)
    if case.column.kind == "count":
        far = far[far == np.floor(far)]
    values = np.concatenate([np.tile(far, (LEAVES, 1)), case.some_values(5)], axis=1)
    found = leaf.log_density(case.table, values, case.columns)
    expect(not np.isnan(found).any(), "a log density is NaN")
    expect((found < np.inf).all(), "a density is infinite")
    expect(np.isneginf(found[(values < low) | (values > high)]).all(), "it is not zero")


def no_leaf_is_narrower_than_its_column(leaf: Leaf, seed: int) -> None:
    """Equal values do not make a spike: a density is at most one per resolution."""
    case = LeafCase.of(leaf, seed)
    one = case.some_values(1, rows=1)
    weights = np.ones((1, 1))
    if leaf.is_finite or is_fixed(leaf):
        return
    table = fit_column(leaf, case.column, one, weights, 0.0)
    expect(leaf.is_valid(table, _one(case.column)), "`is_valid` refuses a leaf fitted to one value")
    found = leaf.from_row(table[0]).problems(case.column)
    expect(not found, f"`problems` complains of a leaf fitted to one value: {found}")
    grid = case.values[None, :]
    top = float(leaf.log_density(table, grid, _one(case.column)).max())
    most = -float(np.log(case.columns.resolution[0]))
    expect(top <= most + 1e-6, f"the log density {top!r} is above {most!r}, one per resolution")


def _one(column: Column) -> LeafColumns:
    return LeafColumns.of([column], np.zeros(1, dtype=np.int64))


def _rounded(case: LeafCase, values: Floats) -> Floats:
    """Return values that the column can hold: whole numbers of resolutions."""
    if case.leaf.is_finite:
        return values
    unit = case.columns.resolution[:, None]
    return np.rint(values / unit) * unit


QUESTION_PROMISES = (
    *(
        Promise(check)
        for check in (
            all_values_have_probability_one,
            an_interval_is_the_difference_of_two_cdfs,
            what_is_outside_the_support_is_impossible,
            no_leaf_is_narrower_than_its_column,
        )
    ),
    *(
        Promise(check, FEW)
        for check in (
            the_density_adds_up_to_the_probability,
            samples_follow_the_cdf,
            samples_have_the_mean_and_the_variance,
            the_mode_has_the_highest_density,
        )
    ),
)
