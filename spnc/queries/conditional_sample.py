"""Rows drawn from a model, given an event."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spnc.common.arrays import Floats
from spnc.program.program import Parameters, Program
from spnc.queries.events import Box
from spnc.queries.sample import sample


def sample_given(
    program: Program,
    parameters: Parameters,
    boxes: Sequence[Box],
    rows: int,
    rng: np.random.Generator,
) -> Floats:
    """Draw rows that are in one of these disjoint boxes, `[row, column]`.

    Raises `ImpossibleError` if the boxes have probability zero.
    """
    if any(not box for box in boxes):
        return sample(program, parameters, rows, rng)
    from spnc.program.lower import lower  # with networkx: rows without an event do without
    from spnc.queries.condition import conditioned

    return sample(*lower(conditioned(program, parameters, boxes)), rows, rng)
