"""The resolution of a column: the unit to which its numbers are rounded."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats

_STEPS = (1.0, 2.0, 2.5, 5.0)  # times a power of ten
_NATURAL = {  # units of dates, largest first
    "days": (365.0, 30.0, 7.0, 1.0),
    "seconds": (86_400.0, 3_600.0, 1_800.0, 900.0, 600.0, 300.0, 60.0, 30.0, 15.0, 10.0, 5.0, 1.0),
}
_PROPOSING = 256  # values that propose a step, which all values then confirm
_DIGITS = 15  # decimal digits that a double keeps
_TOLERANCE = 1e-14  # relative error of values, some times that of one rounding
_BLOCK = 1 << 16  # values confirmed at a time, so that a wrong step is dropped early


def resolution_of(values: Floats, unit: str = "") -> float:
    """Return the rounding unit of numbers, which have no NaN among them. It is never 0.

    That is the largest of 1, 2, 2.5 or 5 times a power of ten (for dates first the natural units)
    of which all values are multiples, within the accuracy of doubles; for values on no such grid,
    the smallest difference between distinct values.
    """
    if not len(values):
        return 1.0
    largest = float(max(values.max(), -values.min()))
    if largest == 0.0:
        return 1.0
    some = values[:: max(1, len(values) // _PROPOSING)][:_PROPOSING]
    for step in (*_NATURAL.get(unit, ()), *_steps(largest)):
        if _on_grid(some, step) and all(
            _on_grid(values[i : i + _BLOCK], step) for i in range(0, len(values), _BLOCK)
        ):
            return step
    return _smallest_gap(values)


def _steps(largest: float) -> list[float]:
    """Return the candidates from the largest value's own size down to the accuracy of doubles."""
    top = int(np.floor(np.log10(largest)))
    # Multiples of a step below the fourth digit from the end of a double are not a visible grid.
    powers = range(top, top - _DIGITS + 4, -1)
    return [
        round(m * 10.0**k, -k + 1) if -300 < k < 0 else m * 10.0**k
        for k in powers
        for m in reversed(_STEPS)
        if -300 < k < 300
    ]


def _on_grid(values: Floats, step: float) -> bool:
    """Whether all values are multiples of a step."""
    multiples = values / step
    return bool((np.abs(multiples - np.rint(multiples)) <= _TOLERANCE * np.abs(multiples)).all())


def _smallest_gap(values: Floats) -> float:
    distinct = np.unique(values)
    if len(distinct) < 2:
        return float(max(abs(distinct[0]) * 2.0**-52, np.finfo(np.float64).tiny))
    return float(np.diff(distinct).min())
