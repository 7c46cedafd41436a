"""Floats of 16 and 32 bits as the decimals that they were rounded from.

The 32-bit float nearest to 0.1 is 0.10000000149 as a double. Such digits would hide the unit to
which a column is rounded, and the same table would have other values in another file. So a narrow
float becomes the double of its shortest decimal, as it is printed: 0.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats

# Decimals of the first number of digits survive being rounded to such a float; with the second
# number of digits, every float has a decimal of its own.
_DIGITS = {2: (3, 5), 4: (6, 9)}  # by bytes
_BLOCK = 1 << 16  # values at a time, which stay in the processor's cache


def widened(values: NDArray[Any]) -> Floats:
    """Return floats as doubles; those of 16 and 32 bits as the double of their shortest decimal."""
    found: Floats = values.astype(np.float64)
    if values.dtype.itemsize not in _DIGITS or values.ndim != 1:
        return found
    for begin in range(0, len(found), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        _shorten(found[part], values[part])
    return found


def _shorten(doubles: Floats, narrow: NDArray[Any]) -> None:
    """Replace doubles, in place, by the shortest decimals that round to the narrow floats."""
    finite = np.flatnonzero(np.isfinite(doubles))
    open_places = finite[doubles[finite] % 1.0 != 0.0]  # whole numbers stay what they are
    least, most = _DIGITS[narrow.dtype.itemsize]
    for digits in range(least, most + 1):
        if not len(open_places):
            return
        own = doubles[open_places]
        power = digits - 1 - np.floor(np.log10(np.abs(own)))
        # Powers of ten with a positive exponent are exact doubles, and so are the whole numbers.
        scale = 10.0 ** np.abs(power)
        whole = np.rint(np.where(power >= 0.0, own * scale, own / scale))
        decimals = np.where(power >= 0.0, whole / scale, whole * scale)
        fits = decimals.astype(narrow.dtype) == narrow[open_places]
        doubles[open_places[fits]] = decimals[fits]
        open_places = open_places[~fits]
