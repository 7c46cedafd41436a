"""Steps of Adam: Kingma & Ba, "Adam: a method for stochastic optimization" (2015)."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats
from spnc.training import Memory

MOMENTUM = 0.9  # default decay of the gradients, as in Kingma & Ba
SQUARES = 0.999  # default decay of the squared gradients, as in Kingma & Ba
_EPSILON = 1e-8  # added to the root of the mean squared gradient, as in Kingma & Ba


def adam_direction(
    t: int, gradient: Floats, memory: Memory, momentum: float = MOMENTUM, squared: float = SQUARES
) -> tuple[Floats, Memory]:
    """Return the direction of step t, counted from 0, and the new averages for the memory.

    `memory` has the exponential moving averages "mean" and "squares", which start at zero; the
    direction is corrected for that.
    """
    mean = momentum * memory["mean"] + (1.0 - momentum) * gradient
    unbiased = mean / (1.0 - momentum ** (t + 1))
    squares = squared * memory["squares"] + (1.0 - squared) * gradient**2
    scale = np.sqrt(squares / (1.0 - squared ** (t + 1))) + _EPSILON
    return unbiased / scale, {"mean": mean, "squares": squares}
