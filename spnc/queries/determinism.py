"""Whether a circuit is deterministic: at every sum, a row is possible below one child only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from spnc.leaves.finite import as_finite
from spnc.program.program import Parameters, Program

# The states that are possible below a node, as bits, by column with finitely many states.
Support = dict[int, int]


def is_deterministic(program: Program, parameters: Sequence[Parameters]) -> bool:
    """Whether a circuit is deterministic, with all of these parameters at once.

    A state counts as possible at a leaf if it is so with any of them. Two children of a sum exclude
    each other if they have no state of some column in common. A circuit whose children exclude each
    other in another way is not recognised.
    """
    supports: list[Support] = [{} for _ in range(program.leaves[-1].last)]
    for place, leaf in enumerate(program.leaves):
        if not leaf.kind.is_finite:
            continue
        kind = as_finite(leaf.kind)
        each = [kind.probabilities(own.tables[place], leaf.states) for own in parameters]
        chances = np.max(each, axis=0)
        for n, (column, possible) in enumerate(
            zip(leaf.variables.tolist(), chances.tolist(), strict=True)
        ):
            bits = sum(1 << state for state, some in enumerate(possible) if some > 0.0)
            supports[leaf.first + n] = {column: bits}
    for segment in program.segments:
        children = segment.children.tolist()
        for a, b in pairwise(segment.starts.tolist()):
            own = [supports[child] for child in children[a:b]]
            if segment.is_sum:
                if any(not _exclude(x, y) for x, y in combinations(own, 2)):
                    return False
                supports.append(_union(own))
            else:
                supports.append({c: bits for part in own for c, bits in part.items()})
    return True


def _exclude(first: Support, second: Support) -> bool:
    return any(column in second and not bits & second[column] for column, bits in first.items())


def _union(parts: Sequence[Support]) -> Support:
    found = dict(parts[0])
    for part in parts[1:]:
        for column, bits in part.items():
            found[column] = found.get(column, 0) | bits
    return found
