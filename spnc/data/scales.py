"""The scale of a numeric column: where its training values lie, and how finely."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Scale
from spnc.data.resolution import resolution_of

_PIECE = 1 << 15  # values at a time, so that what is computed from them stays in the cache


def scale_of(
    values: Floats, weights: Floats, *, unit: str = "", resolution: float | None = None
) -> Scale:
    """Return the scale of values, NaN where missing, each with its weight.

    `resolution` is that of the values unless it is given. The standard deviation of a constant
    column is its resolution. A column without values has the default scale.
    """
    if len(values) and np.isnan(values.min()):
        present = np.flatnonzero(~np.isnan(values))
        values, weights = values[present], weights[present]
    if not len(values):
        return Scale(resolution=resolution or 1.0)
    step = resolution or resolution_of(values, unit)
    low, high = float(values.min()), float(values.max())
    mean, sd = _moments(values, weights)
    log_mean, log_sd = 0.0, 1.0
    if high > 0.0:
        if low <= 0.0:
            positive = np.flatnonzero(values > 0.0)  # much faster than a mask where signs vary
            values, weights = values[positive], weights[positive]
        log_mean, log_sd = _moments(values, weights, np.log)
        if log_sd == 0.0:
            log_sd = min(1.0, step / float(np.exp(log_mean)))
    return Scale(
        resolution=step,
        low=low,
        high=high,
        mean=mean,
        sd=sd or step,
        log_mean=log_mean,
        log_sd=log_sd,
    )


def _moments(
    values: Floats, weights: Floats, of: Callable[[Floats], Floats] = np.positive
) -> tuple[float, float]:
    """Return weighted mean and standard deviation of a function of the values.

    They have all their digits also far from zero.
    """
    # Sums of numpy, not products of BLAS, whose bits depend on the number of threads.
    total = float(weights.sum())
    origin = of(values[:1])  # differences keep the digits that squares of large values lose
    # Most tables have no weights, but ones in one place: then products only take time.
    alike = weights.strides == (0,) and float(weights[0]) == 1.0

    def mean(power: int, shift: float) -> float:
        """Return the mean power of the differences from the origin and the shift."""
        found = 0.0
        for begin in range(0, len(values), _PIECE):
            piece = slice(begin, begin + _PIECE)
            centred = of(values[piece]) - origin
            centred -= shift
            if power == 2:
                centred *= centred
            if not alike:
                centred *= weights[piece]
            found += float(centred.sum())
        return found / total

    shift = mean(1, 0.0)
    return float(origin[0]) + shift, float(np.sqrt(mean(2, shift)))
