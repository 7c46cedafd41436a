"""Moments of leaves within intervals, against integrals and sums with forty digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.common.arrays import Floats
from spnc.data.columns import Column, Scale
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.quadrature import numerical_moments
from spnc.registry import LEAVES
from spnc.testing.leaf_cases import LEAVES as LEAF_COUNT
from spnc.testing.leaf_cases import LeafCase

INF = float("inf")
DIGITS = 40
REAL = Column("x", "real", 0, scale=Scale(resolution=1e-6))
COUNT = Column("n", "count", 0, scale=Scale())
# Ends of intervals in standard deviations from the centre.
ENDS = [(-INF, INF), (-1, 1), (0, 1e-6), (-3, 5), (1, 1.5), (3, INF), (-INF, -1), (8, INF), (8, 9)]
STEPS = (-12, -8, -4, -2, -1, 0, 0.5, 1, 2, 4, 6, 8, 8.1, 8.5, 9, 10, 12, 15, 20, 30, 60)


def found_moments(
    name: str, row: Sequence[float], low: float, high: float, column: Column = REAL
) -> tuple[float, float]:
    columns = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
    ends = np.array([low], dtype=np.float64), np.array([high], dtype=np.float64)
    mean, variance = LEAVES[name].moments_within(np.array([row], dtype=float), *ends, columns)
    return float(mean[0]), float(variance[0])


def integrals(
    log_density: Callable[[Any], Any], low: float, high: float, points: Sequence[Any]
) -> tuple[float, float]:
    with mp.workdps(DIGITS):
        inner = [p for p in points if low < p < high]
        grid = [mp.mpf(low), *inner, mp.mpf(high)]
        known = [p for p in grid if mp.isfinite(p) and p != 0]
        top = max(log_density(p) for p in known)
        start = known[len(known) // 2]

        def integral(weight: Callable[[Any], Any]) -> Any:
            return mp.quad(lambda x: weight(x - start) * mp.exp(log_density(x) - top), grid)

        mass = integral(lambda _: 1)
        mean = integral(lambda d: d) / mass
        return float(start + mean), float(integral(lambda d: (d - mean) ** 2) / mass)


def expect_moments(found: tuple[float, float], wanted: tuple[float, float]) -> None:
    assert found[1] == pytest.approx(wanted[1], rel=1e-9)
    # Relative to the spread: a mean is exact to the last digits of the interval, not of its place.
    assert found[0] == pytest.approx(wanted[0], rel=1e-15, abs=1e-9 * wanted[1] ** 0.5)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("row", [(0.0, 1.0), (1e9, 2.0), (5.0, 0.1)])
def test_gaussian(row: tuple[float, float], ends: tuple[float, float]) -> None:
    m, s = row
    low, high = m + s * ends[0], m + s * ends[1]
    points = [m + mp.mpf(d) * s for d in STEPS]
    wanted = integrals(lambda x: -(((x - m) / s) ** 2) / 2, low, high, points)
    expect_moments(found_moments("gaussian", row, low, high), wanted)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("row", [(0.0, 1.0), (3.0, 0.01), (-2.0, 2.5)])
def test_log_normal(row: tuple[float, float], ends: tuple[float, float]) -> None:
    m, s = row
    low, high = (float(np.exp(m + s * end)) for end in ends)
    points = [mp.e ** (m + mp.mpf(d) * s) for d in (-30, *STEPS)]
    wanted = integrals(lambda x: -(((mp.log(x) - m) / s) ** 2) / 2 - mp.log(x), low, high, points)
    expect_moments(found_moments("log-normal", row, low, high), wanted)


@pytest.mark.parametrize("ends", [*ENDS, (-100.0, -0.9), (-0.999, -0.998)])
@pytest.mark.parametrize("row", [(1.0, 2.0), (0.7, 1.0), (4.0, 1e-9), (1e4, 10.0), (1e8, 1.0)])
def test_gamma(row: tuple[float, float], ends: tuple[float, float]) -> None:
    k, r = row
    centre, sd = k / r, k**0.5 / r
    low, high = max(centre + sd * ends[0], 0.0), centre + sd * ends[1]
    if low >= high:
        return
    near = [mp.mpf(centre) * mp.mpf(4) ** -j for j in range(60, 0, -1)] if k < 10 else []
    points = sorted([*near, *(p for d in STEPS if (p := centre + mp.mpf(d) * sd) > 0)])
    wanted = integrals(lambda x: (k - 1) * mp.log(x) - r * x, low, high, points)
    found = found_moments("gamma", row, low, high)
    expect_moments(found, wanted)
    if k == 1.0:
        expect_moments(found_moments("exponential", (r,), low, high), wanted)


def test_a_gamma_with_almost_all_mass_at_zero() -> None:
    # Within [0, b] and for rate · b near zero, x / b has the density k x^(k - 1).
    for k in (0.3, 0.01, 1e-4):
        b = 1e-12
        mean, variance = found_moments("gamma", (k, 2.0), -INF, b)
        assert mean == pytest.approx(b * k / (k + 1), rel=1e-9)
        assert variance == pytest.approx(b * b * k / (k + 2) / (k + 1) ** 2, rel=1e-9)


@pytest.mark.parametrize("df", [1.0, 1.0001, 1.5, 2.0, 2.001, 2.3, 3.0, 5.0, 30.0, 1000.0])
@pytest.mark.parametrize(
    "ends", [(-1, 1.5), (0, 1e-6), (8, 9), (-50, 30), (1, 1e6), (-1e6, 1e7), (8, INF), (-INF, -20)]
)
def test_student_t(df: float, ends: tuple[float, float]) -> None:
    low, high = ends
    if df < 2.3 and abs(high - low) == INF:
        return  # moments that are infinite, or that no quadrature finds: see below
    points = sorted([*STEPS, *(s * mp.mpf(10) ** j for s in (-1, 1) for j in range(2, 8))])
    wanted = integrals(
        lambda x: -(mp.mpf(df) + 1) / 2 * mp.log(1 + x * x / mp.mpf(df)), low, high, points
    )
    expect_moments(found_moments("student-t", (0.0, 1.0, df), low, high), wanted)
    moved = found_moments("student-t", (7.0, 2.0, df), 7.0 + 2.0 * low, 7.0 + 2.0 * high)
    assert moved == pytest.approx((7.0 + 2.0 * wanted[0], 4.0 * wanted[1]), rel=1e-8)


def test_moments_of_heavy_tails_are_infinite() -> None:
    def found(df: float, low: float, high: float) -> tuple[float, float]:
        return found_moments("student-t", (0.0, 1.0, df), low, high)

    assert found(1.0, 3.0, INF) == (INF, INF)
    assert found(1.0, -INF, 3.0) == (-INF, INF)
    assert np.isnan(found(1.0, -INF, INF)).all()
    assert found(2.0, -INF, INF) == (0.0, INF)
    # E[Z; Z > a] = density(a) (1 + a²/df) df / (df - 1), and df = 2 has a simple cdf.
    mean, variance = found(2.0, 1.0, INF)
    assert variance == INF
    assert mean == pytest.approx(3.0**-1.5 * 1.5 * 2.0 / (0.5 - 0.5 / 3.0**0.5), rel=1e-12)


@pytest.mark.parametrize(
    "row", [(0.3,), (20.0,), (5000.0,), (0.4, 0.2), (30.0, 0.9), (5.0, 0.01), (1e4, 0.5)]
)
@pytest.mark.parametrize("ends", [*ENDS, (0.2, 0.2)])
def test_counts(row: tuple[float, ...], ends: tuple[float, float]) -> None:
    leaf = LEAVES["poisson" if len(row) == 1 else "negative-binomial"]
    columns = LeafColumns.of([COUNT], np.zeros(1, dtype=np.int64))
    table = np.array([row])
    centre, sd = leaf.mean(table, columns)[0], leaf.variance(table, columns)[0] ** 0.5
    low, high = max(centre + sd * ends[0], 0.0), centre + sd * ends[1]
    found = found_moments(leaf.plugin_name, row, low, high, COUNT)
    first, last = int(np.ceil(low)), int(np.floor(min(high, low + 80.0 * sd + 200.0)))
    if first > last:
        assert np.isnan(found).all()
        return
    with mp.workdps(DIGITS):
        terms = list(_pmf(row, first, last))
        mass = mp.fsum(terms)
        mean = mp.fsum(x * p for x, p in enumerate(terms)) / mass
        variance = mp.fsum((x - mean) ** 2 * p for x, p in enumerate(terms)) / mass
    assert found[0] == pytest.approx(float(first + mean), rel=1e-9)
    assert found[1] == pytest.approx(float(variance), rel=1e-9, abs=1e-12)


def _pmf(row: Sequence[float], first: int, last: int) -> Any:
    """Yield the probabilities of whole numbers, up to a common factor."""
    p = mp.mpf(1)
    for x in range(first, last + 1):
        yield p
        if len(row) == 1:
            p *= mp.mpf(row[0]) / (x + 1)
        else:
            p *= (x + mp.mpf(row[0])) / (x + 1) * (1 - mp.mpf(row[1]))


def test_boxes() -> None:
    assert found_moments("uniform", (2.0, 6.0), -INF, 3.0) == pytest.approx((2.5, 1 / 12))
    assert found_moments("uniform", (1e9, 1e9 + 4), 1e9 + 1, INF) == (1e9 + 2.5, 0.75)
    assert np.isnan(found_moments("uniform", (2.0, 6.0), 7.0, 8.0)).all()
    assert found_moments("point", (5.0, 2.0), 5.0, INF) == pytest.approx((5.5, 1 / 12))
    assert found_moments("point", (5.0, 1.0), 5.0, INF, COUNT) == (5.0, 0.0)
    assert np.isnan(found_moments("point", (5.0, 1.0), 5.5, INF, COUNT)).all()
    row = (0.0, 0.25, 1.0, 0.5, 2.0, 0.25, 6.0)
    # What is left of the bins has the masses 0.25 and 0.0625, and the centres 1.5 and 2.5.
    found = found_moments("histogram", row, 1.5, 3.0)
    assert found == pytest.approx((0.8 * 1.75 + 0.2 * 2.5, 0.8 * 0.25 / 12 + 0.2 / 12 + 0.09))
    whole = tuple(x - 0.5 if i % 2 == 0 else x for i, x in enumerate(row))
    # 1 has the probability 0.5, and 2 has 0.0625.
    found = found_moments("histogram", whole, 0.7, 2.9, COUNT)
    assert found == pytest.approx((10 / 9, 8 / 81))


@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.0, 0.2, 0.8]))
@pytest.mark.parametrize(
    "name", ["gaussian", "log-normal", "gamma", "exponential", "uniform", "poisson", "student-t"]
)
def test_the_default_finds_the_closed_form(name: str, seed: int, share: float) -> None:
    leaf = LEAVES[name]
    case = LeafCase.of(leaf, seed)
    if name == "student-t":
        case.table[:, 2] += 8.0  # the default is for tails that are not too heavy
    if name == "log-normal":
        case.table[:, 1] = np.minimum(case.table[:, 1], 0.5)
    if name == "gamma":
        case.table[:, 0] += 1.0  # and for densities without a singularity
    low: Floats = np.quantile(case.samples(20), share, axis=1)
    low = np.where(share > 0.0, low, -np.inf)
    high = np.full(LEAF_COUNT, np.inf)
    wanted = leaf.moments_within(case.table, low, high, case.columns)
    found = numerical_moments(leaf, case.table, low, high, case.columns)
    for a, b in zip(found, wanted, strict=True):
        assert a == pytest.approx(b, rel=1e-8, nan_ok=True)
