"""The inverse of a cdf by bisection, for many leaves at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.leaves import Distribution
from spnc.leaves.leaf_columns import LeafColumns

Mask = NDArray[np.bool_]
_STEPS = 2200  # doublings and halvings over all doubles


def inverse_cdf(
    kind: type[Distribution],
    is_enough: Callable[[Floats], Mask],
    table: Floats,
    columns: LeafColumns,
) -> Floats:
    """Return the least values of leaves that are enough, from a start near their means."""
    ends = kind.support(table, columns)
    mean, sd = kind.mean(table, columns), np.sqrt(kind.variance(table, columns))
    known = np.isfinite(mean) & np.isfinite(sd) & (sd > 0.0)
    start = np.where(known, mean, columns.mean)
    scale = np.where(known, sd, np.maximum(columns.sd, columns.resolution))
    return _least_value(is_enough, ends, start, scale, columns.is_count)


def _least_value(
    is_enough: Callable[[Floats], Mask],
    support: tuple[Floats, Floats],
    start: Floats,
    scale: Floats,
    is_count: Mask,
) -> Floats:
    """Return the least value of each leaf for which `is_enough`, which is monotone, is true.

    The search begins at `start` with steps of `scale`. Counts are exact; other numbers are exact
    to double precision, relative to themselves or to `scale`. The upper end of the support is
    returned where nothing is enough.
    """
    low, high = _bracket(is_enough, support, start, scale, is_count)
    for _ in range(_STEPS):
        with np.errstate(invalid="ignore", over="ignore"):
            width = high - low
            close = np.spacing(np.maximum(np.maximum(np.abs(low), np.abs(high)), scale))
            active = width > np.where(is_count, 1.0, close)
            active &= np.isfinite(width)
            middle = low + 0.5 * width
        middle = np.where(active, np.where(is_count, np.floor(middle), middle), high)
        if not active.any():
            break
        enough = is_enough(middle)
        high = np.where(active & enough, middle, high)
        low = np.where(active & ~enough, middle, low)
    return high


def _bracket(
    is_enough: Callable[[Floats], Mask],
    support: tuple[Floats, Floats],
    start: Floats,
    scale: Floats,
    is_count: Mask,
) -> tuple[Floats, Floats]:
    """Return a value that is not enough and one that is; equal at the lower end of the support."""
    step = np.where(is_count, np.maximum(np.ceil(scale), 1.0), scale)
    low = high = np.clip(np.where(is_count, np.floor(start), start), *support)
    enough = is_enough(high)
    rising, falling = ~enough, enough
    for _ in range(_STEPS):
        if not (rising.any() or falling.any()):
            break
        with np.errstate(over="ignore"):
            up, down = np.minimum(high + step, support[1]), np.maximum(low - step, support[0])
            step = 2.0 * step
        low, high = (
            np.where(rising, high, np.where(falling, down, low)),
            np.where(rising, up, np.where(falling, low, high)),
        )
        enough = is_enough(np.where(rising, high, low))
        rising = rising & ~enough & (high < support[1])
        ended = falling & enough & (low <= support[0])
        high = np.where(ended, low, high)
        falling = falling & enough & ~ended
    return low, high
