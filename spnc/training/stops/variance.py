"""The paper's stopping rule: the training log-likelihood has converged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spnc.registry import STOPS, Options, option


@STOPS.register("variance")
@dataclass(frozen=True, kw_only=True)
class Variance(Options):
    """Stop when the variance of the last training log-likelihoods is small (the paper's rule)."""

    window: int = option(5, "the number of last iterations that the variance is taken over", min=2)
    below: float = option(1e-7, "training stops when the variance is below this", above=0)

    def should_stop(self, log_likelihoods: Sequence[float]) -> bool:
        """Return whether the variance of the last `window` values is below `below`."""
        recent = log_likelihoods[-self.window :]
        return len(recent) == self.window and float(np.var(recent)) < self.below
