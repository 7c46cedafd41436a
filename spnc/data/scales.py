"""The scale of a numeric column: where its training values lie, and how finely."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Scale
from spnc.data.resolution import resolution_of


def scale_of(
    values: Floats, weights: Floats, *, unit: str = "", resolution: float | None = None
) -> Scale:
    """Return the scale of values, NaN where missing, each with its weight.

    `resolution` is that of the values unless it is given. The standard deviation of a constant
    column is its resolution. A column without values has the default scale.
    """
    present = ~np.isnan(values)
    if not present.all():
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
        log_mean, log_sd = _moments(np.log(values), weights)
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


def _moments(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return weighted mean and standard deviation; exact digits also far from zero."""
    # Sums of numpy, not products of BLAS, whose bits depend on the number of threads.
    total = float(weights.sum())
    origin = float(values[0])  # differences keep the digits that squares of large values lose
    centred = values - origin
    # Most tables have no weights: then these products only take time.
    alike = bool((weights == 1.0).all())
    shift = float((centred if alike else centred * weights).sum()) / total
    centred -= shift
    centred *= centred
    return origin + shift, float(np.sqrt((centred if alike else centred * weights).sum() / total))
