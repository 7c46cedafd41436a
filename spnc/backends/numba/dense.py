"""Dense blocks: sums that share all their children, which are matrix products then.

Tensorised structures (RAT-SPNs, hidden Chow-Liu trees) are full of them. They are found in the
graph; no learner has to promise them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from spnc.backends.planning.plan import SUM
from spnc.program.program import Program

SUMS = 8  # a block of fewer sums is not worth a matrix product,
EDGES = 100  # nor one of fewer weights: hidden Chow-Liu trees gain from ten states on


def dense_blocks(
    kinds: Sequence[int], children: Sequence[Sequence[int]]
) -> list[tuple[list[int], list[int]]]:
    """The blocks: their sums and the children of each, all ascending."""
    sharing: dict[tuple[int, ...], list[int]] = {}
    for n, kind in enumerate(kinds):
        if kind == SUM:
            sharing.setdefault(tuple(sorted(children[n])), []).append(n)
    return [
        (sums, list(below)) for below, sums in sharing.items() if _is_block(len(sums), len(below))
    ]


def _is_block(sums: int, fan: int) -> bool:
    return sums >= SUMS and sums * fan >= EDGES


def has_dense_blocks(program: Program) -> bool:
    """Whether a plan for the program will have any."""
    sharing: Counter[bytes] = Counter()
    for segment in program.segments:
        if segment.is_sum:
            for start, stop in pairwise(segment.starts.tolist()):
                sharing[np.sort(segment.children[start:stop]).tobytes()] += 1
    return any(_is_block(sums, len(key) // 8) for key, sums in sharing.items())
