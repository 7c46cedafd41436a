"""Dense blocks: sums that share all their children, which are matrix products then.

Tensorised structures (RAT-SPNs, hidden Chow-Liu trees) are full of them. They are found in the
graph; no learner has to promise them.
"""

from __future__ import annotations

from collections.abc import Sequence

from spnc.engine.plan import SUM

SUMS = 8  # a block of fewer sums is not worth a matrix product,
EDGES = 256  # nor one of fewer weights


def dense_blocks(
    kinds: Sequence[int], children: Sequence[Sequence[int]]
) -> list[tuple[list[int], list[int]]]:
    """The blocks: their sums and the children of each, all ascending."""
    sharing: dict[tuple[int, ...], list[int]] = {}
    for n, kind in enumerate(kinds):
        if kind == SUM:
            sharing.setdefault(tuple(sorted(children[n])), []).append(n)
    return [
        (sums, list(below))
        for below, sums in sharing.items()
        if len(sums) >= SUMS and len(sums) * len(below) >= EDGES
    ]
