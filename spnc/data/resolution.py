"""The resolution of a column: the unit to which its numbers are rounded."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.dates import MONTHS, PER_SECOND

_STEPS = (1.0, 2.0, 2.5, 5.0)  # times a power of ten
_TIMES = (86_400.0, 3_600.0, 1_800.0, 900.0, 600.0, 300.0, 60.0, 30.0, 15.0, 10.0, 5.0, 1.0)
_NATURAL = {  # units of dates, largest first
    "days": (365.0, 30.0, 7.0, 1.0),
    MONTHS: (12.0, 6.0, 3.0, 1.0),
    **{unit: tuple(each * step for step in _TIMES) for unit, each in PER_SECOND.items()},
}
_PROPOSING = 256  # values that propose a step, which all values then confirm
_UNMISTAKABLE = 64  # different values that are on a grid by no chance
_DIGITS = 15  # decimal digits that a double keeps
_TOLERANCE = 1e-14  # relative error of values, some times that of one rounding
_OWN_NOISE = 1e-12  # relative to the value itself
_SHARED_NOISE = 1e-14  # relative to the largest value, for what is left when large ones cancel
SMALLEST = 1e-150  # a resolution whose square is still a double
_BLOCK = 1 << 16  # values confirmed at a time, so that a wrong step is dropped early


def resolution_of(values: Floats, unit: str = "") -> float:
    """Return the rounding unit of numbers, which have no NaN among them. It is never 0.

    That is the largest of 1, 2, 2.5 or 5 times a power of ten (for dates first the natural units)
    of which all values are multiples, within the accuracy of doubles; for values on no such grid,
    the smallest difference between distinct values that is not noise.
    """
    if not len(values):
        return 1.0
    largest = float(max(values.max(), -values.min()))
    if largest == 0.0:
        return 1.0
    if largest < SMALLEST:
        return SMALLEST
    some = values[:: max(1, len(values) // _PROPOSING)][:_PROPOSING]
    # At the last two digits every tenth number or so is on a grid: a few values say nothing then.
    digits = _DIGITS - (2 if len(np.unique(some)) >= _UNMISTAKABLE else 4)
    for step in (*_NATURAL.get(unit, ()), *_steps(largest, digits)):
        if _on_grid(some, step) and all(
            _on_grid(values[i : i + _BLOCK], step) for i in range(0, len(values), _BLOCK)
        ):
            return step
    return max(_smallest_gap(values, largest), SMALLEST)


def _steps(largest: float, digits: int) -> list[float]:
    """Return the candidates, from the size of the largest value down by this number of digits."""
    top = int(np.floor(np.log10(largest)))
    powers = range(top, top - digits, -1)
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


def _smallest_gap(values: Floats, largest: float) -> float:
    """Return the smallest difference between values that is more than the noise of computing them.

    The same number computed in two ways differs in its last digits.
    """
    distinct = np.unique(values)
    gaps = np.diff(distinct)
    size = np.maximum(np.abs(distinct[1:]), np.abs(distinct[:-1]))
    true = gaps[gaps > np.maximum(_OWN_NOISE * size, _SHARED_NOISE * largest)]
    return float(true.min()) if len(true) else largest * _SHARED_NOISE
