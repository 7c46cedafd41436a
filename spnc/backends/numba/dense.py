"""Dense blocks: groups of sums that share all their children, computed as matrix products.

Tensorised structures (RAT-SPNs, hidden Chow-Liu trees) are full of them. They are found in the
circuit itself, so learners need not declare them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Ints
from spnc.common.equal_lists import number_sets
from spnc.common.ragged_array import RaggedArray
from spnc.program.program import Program

# Smaller blocks are not worth a matrix product: hidden Chow-Liu trees gain from ten states on.
MIN_SUMS = 8
MIN_WEIGHTS = 100


class Block(NamedTuple):
    """Sums over the same children, and where these are among the children of each."""

    sums: Ints  # ascending
    children: Ints  # ascending
    places: Ints  # `[sum, child]`


def dense_blocks(sums: Ints, below: RaggedArray) -> list[Block]:
    """Return the dense blocks among sums, which are ascending, given the children of each."""
    numbers = number_sets(below).numbers
    blocks = np.flatnonzero(_is_block(np.bincount(numbers), below.counts, numbers))
    chosen = np.flatnonzero(np.isin(numbers, blocks))
    chosen = chosen[np.argsort(numbers[chosen], kind="stable")]
    found = []
    for own in np.split(chosen, np.flatnonzero(np.diff(numbers[chosen])) + 1):
        if len(own):
            children = below.at(own).reshape(len(own), -1)
            places = np.argsort(children, axis=1)
            found.append(Block(sums[own], children[0, places[0]], places))
    return found


def has_dense_blocks(program: Program) -> bool:
    """Whether a layout of the program will have dense blocks."""
    sums = [segment for segment in program.segments if segment.is_sum]
    if not sums:
        return False
    counts = np.concatenate([np.diff(segment.starts) for segment in sums])
    below = RaggedArray.of(counts, np.concatenate([segment.children for segment in sums]))
    numbers = number_sets(below).numbers
    return bool(_is_block(np.bincount(numbers), counts, numbers).any())


def _is_block(sums: Ints, counts: Ints, numbers: Ints) -> NDArray[np.bool_]:
    """Return which numbers are those of a block: of `sums[number]` lists of the same length."""
    fans = np.zeros(len(sums), dtype=np.int64)
    fans[numbers] = counts
    found: NDArray[np.bool_] = (sums >= MIN_SUMS) & (sums * fans >= MIN_WEIGHTS)
    return found
