"""Finding equal rows quickly: rows are packed into small integers, and these are sorted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD_BITS = 16  # numpy sorts words of this size by counting, in linear time
_LARGEST = (1 << _WORD_BITS) - 2  # leaves room for one more code, that of missing values
_BLOCK_ROWS = 4096  # small enough for a copy to stay in the CPU cache


def distinct_rows(
    columns: Iterable[NDArray[Any]], rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the index of the first of each set of equal rows, and for every row its set.

    `columns` are the ranks of each column's cells. The sets are in lexicographic order of their
    rows.
    """
    words = _packed(columns, rows)
    # lexsort is stable: the first of equal rows stays the first.
    order = np.lexsort(words[::-1])
    begins = np.zeros(rows, dtype=np.bool_)
    begins[:1] = True
    for word in words:
        ordered = word[order]
        begins[1:] |= ordered[1:] != ordered[:-1]
    inverse = np.empty(rows, dtype=np.intp)
    inverse[order] = np.cumsum(begins) - 1
    return order[begins], inverse


@cache
def _multipliers(columns: int) -> NDArray[np.uint64]:
    """Return a fixed random odd number for each column."""
    numbers = np.random.default_rng(0).integers(1 << 63, size=columns, dtype=np.uint64)
    return numbers * np.uint64(2) + np.uint64(1)


def row_hashes(cells: NDArray[Any], columns: NDArray[np.intp], width: int) -> NDArray[np.uint64]:
    """Return a number for each row of `cells[place, row]`, equal for equal bits.

    `columns` are those of the places, out of `width`: the numbers of several blocks can be added.
    """
    bits = cells.view(np.uint64) if cells.dtype.kind == "f" else cells.astype(np.uint64)
    found: NDArray[np.uint64] = (bits * _multipliers(width)[columns, None]).sum(axis=0)
    return found


def ranked(cells: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers from 0 on that compare as the cells do; a missing cell is the least.

    Cells are doubles, NaN where missing, or unsigned integers, where the largest that fits is
    missing.
    """
    if cells.dtype.kind != "f":
        # The code of a missing cell overflows to zero.
        missing = bool((cells == np.iinfo(cells.dtype).max).any())
        return cells + cells.dtype.type(1) if missing else cells
    absent = np.isnan(cells)
    holed = bool(absent.any())
    if _are_states(cells) or (holed and _are_states(np.where(absent, 0.0, cells))):
        found = np.where(absent, -1.0, cells) + 1.0 if holed else cells
        return found.astype(np.uint16)
    ranks = np.zeros(len(cells), dtype=np.uint32)
    present = ~absent
    ranks[present] = np.unique(cells[present], return_inverse=True)[1] + holed
    return ranks


def _packed(columns: Iterable[NDArray[Any]], rows: int) -> list[NDArray[Any]]:
    """Return each row as a few integers, most significant first, that compare as the rows do."""
    words: list[NDArray[Any]] = [np.zeros(rows, dtype=np.uint8)]
    used = _WORD_BITS  # in the last word: no column fits into the first one
    for ranks in columns:
        bits = int(ranks.max(initial=0)).bit_length()
        if used + bits <= _WORD_BITS:
            used += bits
            wide = words[-1].astype(np.min_scalar_type((1 << used) - 1), copy=False)
            words[-1] = (wide << bits) | ranks.astype(wide.dtype, copy=False)
        else:
            used = bits
            words.append(ranks.astype(np.min_scalar_type((1 << bits) - 1), copy=False))
    return words[1:] or words


def _are_states(values: NDArray[np.float64]) -> bool:
    """Whether all values are small whole numbers; False if one is NaN."""
    blocks = (values[i : i + _BLOCK_ROWS] for i in range(0, len(values), _BLOCK_ROWS))
    return all(
        bool(b.min() >= 0 and b.max() <= _LARGEST and (np.floor(b) == b).all()) for b in blocks
    )
