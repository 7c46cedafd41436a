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
    mean, sd = _moments(values, weights)
    positive = values > 0
    log_mean, log_sd = 0.0, 1.0
    if positive.any():
        logs = np.log(values if positive.all() else values[positive])
        log_mean, log_sd = _moments(logs, weights if positive.all() else weights[positive])
        if log_sd == 0.0:
            log_sd = min(1.0, step / float(np.exp(log_mean)))
    return Scale(
        resolution=step,
        low=float(values.min()),
        high=float(values.max()),
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
    shift = float((centred * weights).sum()) / total
    centred -= shift
    return origin + shift, float(np.sqrt((centred * centred * weights).sum() / total))
