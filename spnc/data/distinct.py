"""Which rows of a table are equal, found by sorting machine words in place of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD_BITS = 16  # numpy sorts words of this size by counting, in linear time
_LARGEST = (1 << _WORD_BITS) - 2  # so that one more, for missing values, fits into a word
_BLOCK_ROWS = 4096  # a copy of so many rows stays in the cache


def distinct_rows(values: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first of each set of equal rows, and for every row which of these it is equal to.

    The distinct rows are in lexicographic order. A missing value (NaN) equals itself and comes
    before all others.
    """
    words = _packed(values)
    # The sort is stable, so the first of equal rows remains the first.
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
    """Every row as a few whole numbers: rows compare as their numbers do, the first one first."""
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
        # Each column moved up past those after it: a product with powers of two, which is exact.
        after = np.cumsum([0, *bits[last - 1 : first : -1]])[::-1]
        packed = codes[:, first:last] @ np.exp2(after)
        words.append(packed.astype(np.min_scalar_type((1 << used) - 1)))
        first = last
    return words


def _codes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whole numbers from zero on in the order of the values, column by column, NaN the least."""
    if _are_states(values):
        return values
    absent = np.isnan(values)
    codes = np.where(absent, 0.0, values)
    if _are_states(codes):
        codes += ~absent
        return codes
    # Any other numbers are counted through in their order.
    for column in range(values.shape[1]):
        present = ~absent[:, column]
        _, ranks = np.unique(values[present, column], return_inverse=True)
        codes[present, column] = ranks + 1.0
    return codes


def _are_states(values: NDArray[np.float64]) -> bool:
    """Whether all are small whole numbers; also False if one is NaN."""
    blocks = (values[i : i + _BLOCK_ROWS] for i in range(0, len(values), _BLOCK_ROWS))
    return all(
        bool(b.min() >= 0 and b.max() <= _LARGEST and (np.floor(b) == b).all()) for b in blocks
    )
