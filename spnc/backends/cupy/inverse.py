"""Maps turned round: from which entries does a map lead to each number?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Ints

LIST = 64  # entries; a number that more lead to has several lists of about as many,
MOST_LISTS = 32  # but no more than these; chunks have a multiple of it, and start at list 0


class Inverse(NamedTuple):
    """To number i lead the entries order[starts[i]:starts[i+1]], ascending."""

    starts: NDArray[np.int32]
    order: NDArray[np.uint16]


def inverse(numbers: NDArray[np.integer], size: int) -> Inverse:
    """The inverse of a map to 0 … size-1, of no more than 65,536 entries."""
    starts = np.zeros(size + 1, dtype=np.int32)
    np.cumsum(np.bincount(numbers, minlength=size), out=starts[1:])
    keys = numbers.astype(np.uint16 if size <= 1 << 16 else np.uint32)  # 16 bits are sorted fast
    return Inverse(starts, np.argsort(keys, kind="stable").astype(np.uint16))


def dealt(numbers: NDArray[np.uint16], size: int) -> Ints:
    """The first list of every number 0 … size-1, and the end of the last.

    A number has one list, or a power of two of them if many entries lead to it.
    """
    wanted = np.maximum(1, np.bincount(numbers, minlength=size) // LIST)
    lists = np.minimum(MOST_LISTS, 2 ** np.log2(wanted).astype(np.int64))
    return np.concatenate([[0], np.cumsum(lists)])


def list_numbers(numbers: NDArray[np.uint16], firsts: Ints) -> Ints:
    """The list of every entry: entry k goes to list k mod n of the n lists of its number."""
    return firsts[numbers] + np.arange(len(numbers)) % np.diff(firsts)[numbers]
