"""The reference distribution: independent columns, each with the frequencies of the table.

Engines compute with likelihood ratios to this distribution. The ratios stay near one where the
likelihoods themselves would leave the range of doubles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints


def reference_probabilities(
    codes: NDArray[np.integer], states: Ints, weights: Floats
) -> list[Floats]:
    """Return the probability of each state of every column, and 1 for a missing value.

    `codes[column, row]` is the state, or the column's number of states where it is missing.
    """
    found = []
    for own, count in zip(codes, states.tolist(), strict=True):
        totals = np.bincount(own, weights=weights, minlength=count + 1)[:count]
        # Add-one smoothing, so that no value in the table has a probability of zero or one.
        found.append(np.append((totals + 1.0) / (totals.sum() + count), 1.0))
    return found


def log_reference(codes: NDArray[np.integer], probabilities: list[Floats]) -> Floats:
    """Return the log-likelihood of every row under the reference distribution."""
    total = np.zeros(codes.shape[1])
    for own, p in zip(codes, probabilities, strict=True):
        total += np.log(p)[own]
    return total
