"""Ancestral sampling: from the root down, one child at each sum, one value at each leaf."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats
from spnc.program.program import Parameters, Program
from spnc.queries.drawing import drawing


def sample(program: Program, parameters: Parameters, rows: int, rng: np.random.Generator) -> Floats:
    """Draw independent rows from the model's distribution, `[row, column]`; no cell is missing.

    A sum passes a row to one child with the probability of its weight, a product to all of its
    children, and a leaf draws the value of its column. What has probability zero is never drawn.
    The rows do not depend on the number of threads.
    """
    with drawing(program, parameters) as found:
        return found.rows(rows, rng)
