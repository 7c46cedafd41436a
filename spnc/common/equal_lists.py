"""Equal lists of numbers, found among many with NumPy.

Lists with different hashes are different; those with the same hash are compared number by number.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Ints
from spnc.common.ragged_array import RaggedArray

# The constants of splitmix64 (Steele, Lea & Flood 2014), which spreads numbers over 64 bits.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
_PLACE = np.int64(0x632BE59BD9B4E019)  # odd: tells a number from the same number further on


class ListNumbers(NamedTuple):
    """The distinct lists among many, numbered in the order in which they first appear."""

    numbers: Ints  # by list
    firsts: Ints  # by number: the first of the lists that are equal


def number_lists(lists: RaggedArray) -> ListNumbers:
    """Number lists by their content. None may be empty."""
    starts, members = lists.starts, lists.members
    places = np.arange(len(members)) - np.repeat(starts[:-1], lists.counts)
    found = _by_first(_totals(_spread(members + places * _PLACE), starts))
    same = found.firsts[found.numbers]
    if (lists.counts[same] == lists.counts).all() and (lists.at(same) == members).all():
        return found
    return _by_content(lists)  # two different lists have the same hash


def number_sets(lists: RaggedArray) -> ListNumbers:
    """Number lists by their content in any order. None may be empty, or have a number twice."""
    hashes = _totals(_spread(lists.members), lists.starts)
    _, own, times = np.unique(hashes, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(times[own.reshape(-1)] > 1)
    numbers = np.arange(len(hashes))
    if len(shared):
        found = number_lists(lists.take(shared).ascending())
        numbers[shared] = shared[found.firsts[found.numbers]]
    return _by_first(numbers)


def _by_first(keys: NDArray[np.integer]) -> ListNumbers:
    """Number keys in the order in which they first appear."""
    _, firsts, numbers = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return ListNumbers(rank[numbers.reshape(-1)], firsts[order])


def _by_content(lists: RaggedArray) -> ListNumbers:
    known: dict[bytes, int] = {}
    numbers = [
        known.setdefault(lists.members[start:stop].tobytes(), len(known))
        for start, stop in pairwise(lists.starts.tolist())
    ]
    return _by_first(np.array(numbers, dtype=np.int64))


def _spread(numbers: Ints) -> NDArray[np.uint64]:
    found = numbers.astype(np.uint64)
    found += _STEP
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        found ^= found >> shift
        found *= factor
    found ^= found >> _SHIFTS[-1]
    return found


def _totals(values: NDArray[np.uint64], starts: Ints) -> NDArray[np.uint64]:
    if len(starts) == 1:
        return values
    return np.add.reduceat(values, starts[:-1])
