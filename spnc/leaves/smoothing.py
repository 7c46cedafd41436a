"""Smoothing: the only place where learners and optimisers turn counts into probabilities.

`smoothing: a` in a spec is a symmetric Dirichlet prior with parameter 1 + a on the weights of
every sum and on the outcomes of every leaf: `a` pseudo-rows are added to each alternative. A leaf
over numbers gets `a` pseudo-rows in all, distributed like its column: see `spnc.leaves.numeric`.
`smoothing: {weights: a, leaves: b}` sets one number for sums and another for leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.registry import Options, option

SUM_TOLERANCE = 1e-9  # how far from one a sum of probabilities may be
# Checks add up exactly, NumPy does not: a total this near to one passes surely.
SURE_TOLERANCE = SUM_TOLERANCE / 2


@dataclass(frozen=True, kw_only=True)
class Smoothing(Options):
    """Pseudo-rows added to every alternative; a bare number sets both."""

    one_value_for: ClassVar[tuple[str, ...]] = ("weights", "leaves")

    weights: float = option(0.1, "pseudo-rows added to every child of a sum", min=0)
    leaves: float = option(0.1, "pseudo-rows added to every outcome of a leaf", min=0)

    @classmethod
    def of(cls, alpha: float) -> Smoothing:
        """Return smoothing with the same number for sums and leaves."""
        return cls(weights=alpha, leaves=alpha)


def smoothed(counts: Floats, alpha: float, fallback: Floats) -> Floats:
    """Return probabilities from counts over the last axis; `fallback` where all counts are zero."""
    total = counts.sum(axis=-1, keepdims=True) + alpha * counts.shape[-1]
    empty = total <= 0.0
    return np.where(empty, fallback, (counts + alpha) / np.where(empty, 1.0, total))


def smoothed_segments(
    counts: Floats, starts: NDArray[np.int64], alpha: float, fallback: Floats
) -> Floats:
    """Smooth the segments of a flat array: segment i is counts[starts[i]:starts[i+1]]."""
    if len(counts) == 0:
        return counts
    sizes = np.diff(starts)
    total = np.repeat(np.add.reduceat(counts, starts[:-1]) + alpha * sizes, sizes)
    empty = total <= 0.0
    return np.where(empty, fallback, (counts + alpha) / np.where(empty, 1.0, total))


def log_prior(probabilities: Floats, alpha: float) -> float:
    """Return the log density of the prior at these probabilities, up to a constant."""
    if alpha == 0.0:
        return 0.0
    with np.errstate(divide="ignore"):
        return float(alpha * np.log(probabilities).sum())
