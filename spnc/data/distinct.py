"""Finding equal rows quickly: rows are packed into small integers, and these are sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD_BITS = 16  # numpy sorts words of this size by counting, in linear time
_LARGEST = (1 << _WORD_BITS) - 2  # leaves room for one more code, that of missing values
_BLOCK_ROWS = 4096  # small enough for a copy to stay in the CPU cache


def distinct_rows(values: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the index of the first of each set of equal rows, and for every row its set.

    The sets are in lexicographic order of their rows. A missing value (NaN) equals itself and
    comes before all other values.
    """
    words = _packed(values)
    # lexsort is stable: the first of equal rows stays the first.
    order = np.lexsort(words[::-1])
    begins = np.zeros(len(values), dtype=np.bool_)
    begins[:1] = True
    for word in words:
        ordered = word[order]
        begins[1:] |= ordered[1:] != ordered[:-1]
    inverse = np.empty(len(values), dtype=np.intp)
    inverse[order] = np.cumsum(begins) - 1
    return order[begins], inverse


def _packed(values: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return each row as a few integers, most significant first, that compare as the rows do."""
    rows, width = values.shape
    if rows == 0 or width == 0:
        return [np.zeros(rows, dtype=np.uint8)]
    codes = _codes(values)
    bits = [int(top).bit_length() for top in codes.max(axis=0).tolist()]
    words: list[NDArray[Any]] = []
    first = 0
    while first < width:
        last, used = first + 1, bits[first]
        while last < width and used + bits[last] <= _WORD_BITS:
            used += bits[last]
            last += 1
        # Shift each column left past those after it: an exact product with powers of two.
        after = np.cumsum([0, *bits[last - 1 : first : -1]])[::-1]
        packed = codes[:, first:last] @ np.exp2(after)
        words.append(packed.astype(np.min_scalar_type((1 << used) - 1)))
        first = last
    return words


def _codes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return codes from zero that keep the order of the values in each column; NaN is least."""
    if _are_states(values):
        return values
    absent = np.isnan(values)
    codes = np.where(absent, 0.0, values)
    if _are_states(codes):
        codes += ~absent
        return codes
    # Any other numbers are replaced by their ranks.
    for column in range(values.shape[1]):
        present = ~absent[:, column]
        _, ranks = np.unique(values[present, column], return_inverse=True)
        codes[present, column] = ranks + 1.0
    return codes


def _are_states(values: NDArray[np.float64]) -> bool:
    """Whether all values are small whole numbers; False if one is NaN."""
    blocks = (values[i : i + _BLOCK_ROWS] for i in range(0, len(values), _BLOCK_ROWS))
    return all(
        bool(b.min() >= 0 and b.max() <= _LARGEST and (np.floor(b) == b).all()) for b in blocks
    )
