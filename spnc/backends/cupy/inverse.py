"""Inverses of maps: for each number, the list of entries that a map sends to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Ints

LIST = 64  # entries; a number with more entries has several lists of about this length,
MOST_LISTS = 32  # but at most this many; chunks are multiples of it, and so start at list 0


class Inverse(NamedTuple):
    """The entries sent to number i are order[starts[i]:starts[i+1]], ascending."""

    starts: NDArray[np.int32]
    order: NDArray[np.uint16]


def inverse(numbers: NDArray[np.integer], size: int) -> Inverse:
    """Return the inverse of a map to 0 … size-1, which has at most 65,536 entries."""
    starts = np.zeros(size + 1, dtype=np.int32)
    np.cumsum(np.bincount(numbers, minlength=size), out=starts[1:])
    keys = numbers.astype(np.uint16 if size <= 1 << 16 else np.uint32)  # 16 bits are sorted fast
    return Inverse(starts, np.argsort(keys, kind="stable").astype(np.uint16))


def dealt(numbers: NDArray[np.uint16], size: int) -> Ints:
    """Deal entries out to lists: return the first list of every number, and the end of the last.

    A number has one list, or a power of two of them if many entries are sent to it.
    """
    wanted = np.maximum(1, np.bincount(numbers, minlength=size) // LIST)
    lists = np.minimum(MOST_LISTS, 2 ** np.log2(wanted).astype(np.int64))
    return np.concatenate([[0], np.cumsum(lists)])


def list_numbers(numbers: NDArray[np.uint16], firsts: Ints) -> Ints:
    """Return the list of every entry: entry k goes to list k mod n of its number's n lists."""
    return firsts[numbers] + np.arange(len(numbers)) % np.diff(firsts)[numbers]
