"""Special functions without a loss of digits, and roots of many equations at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spnc.common.arrays import Floats

_LARGE = 50.0  # from here on, the asymptotic series below are exact to about 1e-16
_NEAR = 0.2  # below, t - log(1 + t) is a series: the difference would lose digits
_STEPS = 200  # enough for bisection alone; Newton's method takes about five
_CLOSE = 1e-8  # size of the last step of Newton's method; the error is about its square


def log1p_deficit(t: Floats, log1p_t: Floats | None = None) -> Floats:
    """Return t - log(1 + t), which is about t²/2 for small t; `log1p_t` is log(1 + t) if known."""
    near = np.abs(t) < _NEAR
    if log1p_t is None:
        log1p_t = np.log1p(t)
    found: Floats = t - log1p_t
    if near.any():
        # log(1 + t) = 2 artanh(w) with w = t / (2 + t), and t - 2 w = t w.
        small = t[near]
        w = small / (2.0 + small)
        square = w * w
        tail = np.zeros_like(w)
        for power in range(19, 1, -2):
            tail = tail * square + 1.0 / power
        found[near] = small * w - 2.0 * w * square * tail
    return found


def log_minus_digamma(a: Floats) -> tuple[Floats, Floats]:
    """Return log(a) - digamma(a) for a > 0, and its derivative."""
    from scipy.special import digamma, zeta

    small, inverse = np.minimum(a, _LARGE), 1.0 / np.maximum(a, _LARGE)
    square = inverse * inverse
    far = inverse * (0.5 + inverse * (1 / 12 - square * (1 / 120 - square / 252)))
    far_slope = -square * (0.5 + inverse * (1 / 6 - square * (1 / 30 - square / 42)))
    near, near_slope = np.log(small) - digamma(small), 1.0 / small - zeta(2.0, small)
    return np.where(a < _LARGE, near, far), np.where(a < _LARGE, near_slope, far_slope)


def stirling_rest(a: Floats) -> Floats:
    """Return a log(a) - a - log Gamma(a) for a > 0."""
    from scipy.special import gammaln

    small, inverse = np.minimum(a, _LARGE), 1.0 / np.maximum(a, _LARGE)
    square = inverse * inverse
    far = -0.5 * np.log(2.0 * np.pi * inverse)
    far -= inverse * (1 / 12 - square * (1 / 360 - square / 1260))
    return np.where(a < _LARGE, small * np.log(small) - small - gammaln(small), far)


def gamma_shape(excess: Floats, least: float, most: float) -> Floats:
    """Return the a in [least, most] for which log(a) - digamma(a) is, or comes closest to, excess.

    This is the most likely shape of a gamma distribution, where `excess` is the logarithm of the
    mean minus the mean of the logarithms.
    """
    smallest, largest = log_minus_digamma(np.array([most, least]))[0]
    known = np.clip(excess, smallest, largest)

    def function(log_a: Floats) -> tuple[Floats, Floats]:
        found, slope = log_minus_digamma(np.exp(log_a))
        # The logarithm of the function is almost linear in log(a), so that few steps are enough.
        return np.log(known / found), -slope * np.exp(log_a) / found

    low, high = np.full(len(known), np.log(least)), np.full(len(known), np.log(most))
    # A rational approximation (Minka, "Estimating a Gamma distribution", 2002).
    start = (3.0 - known + np.sqrt((known - 3.0) ** 2 + 24.0 * known)) / (12.0 * known)
    found = np.clip(np.exp(increasing_root(function, low, high, np.log(start))), least, most)
    return np.where(excess <= smallest, most, np.where(excess >= largest, least, found))


def increasing_root(
    function: Callable[[Floats], tuple[Floats, Floats]], low: Floats, high: Floats, start: Floats
) -> Floats:
    """Return the roots between low and high of increasing functions, one per entry.

    `function` returns values and derivatives. This is Newton's method within brackets; where a
    step leaves the bracket, it is halved instead. Without a root, the nearer end is returned.
    """
    x = np.clip(start, low, high)
    for _ in range(_STEPS):
        value, slope = function(x)
        low, high = np.where(value <= 0.0, x, low), np.where(value >= 0.0, x, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            following = x - value / slope
        inside = (following >= low) & (following <= high)
        following = np.where(inside, following, 0.5 * (low + high))
        close = np.abs(following - x) <= _CLOSE * np.maximum(np.abs(x), 1.0)
        x = following
        if bool((close & (inside | (low == high))).all()):
            break
    return x
