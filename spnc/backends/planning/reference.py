"""The reference: every column on its own, its values as frequent as in the table.

The engine computes with likelihood ratios to this distribution, which stay near one where the
likelihoods themselves would leave the range of doubles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints


def marginals(codes: NDArray[np.integer], states: Ints, weights: Floats) -> list[Floats]:
    """For every column, the probability of each state; a missing value has one."""
    found = []
    for own, count in zip(codes, states.tolist(), strict=True):
        totals = np.bincount(own, weights=weights, minlength=count + 1)[:count]
        # One more of each, so that no value in the table has a probability of zero or one.
        found.append(np.append((totals + 1.0) / (totals.sum() + count), 1.0))
    return found


def log_reference(codes: NDArray[np.integer], probabilities: list[Floats]) -> Floats:
    """The log-likelihood of every row under the reference."""
    total = np.zeros(codes.shape[1])
    for own, p in zip(codes, probabilities, strict=True):
        total += np.log(p)[own]
    return total
