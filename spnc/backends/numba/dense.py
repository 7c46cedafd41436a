"""Dense blocks: groups of sums that share all their children, computed as matrix products.

Tensorised structures (RAT-SPNs, hidden Chow-Liu trees) are full of them. They are found in the
circuit itself, so learners need not declare them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from spnc.backends.planning.kinds import SUM
from spnc.program.program import Program

# Smaller blocks are not worth a matrix product: hidden Chow-Liu trees gain from ten states on.
MIN_SUMS = 8
MIN_WEIGHTS = 100


def dense_blocks(
    kinds: Sequence[int], children: Sequence[Sequence[int]]
) -> list[tuple[list[int], list[int]]]:
    """Return the sums and the children of every block, both ascending."""
    sharing: dict[tuple[int, ...], list[int]] = {}
    for n, kind in enumerate(kinds):
        if kind == SUM:
            sharing.setdefault(tuple(sorted(children[n])), []).append(n)
    return [
        (sums, list(below)) for below, sums in sharing.items() if _is_block(len(sums), len(below))
    ]


def _is_block(sums: int, fan: int) -> bool:
    return sums >= MIN_SUMS and sums * fan >= MIN_WEIGHTS


def has_dense_blocks(program: Program) -> bool:
    """Whether a layout of the program will have dense blocks."""
    sharing: Counter[bytes] = Counter()
    for segment in program.segments:
        if segment.is_sum:
            for start, stop in pairwise(segment.starts.tolist()):
                sharing[np.sort(segment.children[start:stop]).tobytes()] += 1
    return any(_is_block(sums, len(key) // 8) for key, sums in sharing.items())
