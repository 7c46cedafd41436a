"""The paper's stopping rule: the training log-likelihood has settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spnc.registry import STOPS, Options, option


@STOPS.register("variance")
@dataclass(frozen=True, kw_only=True)
class Variance(Options):
    """Stop when the variance of the last training log-likelihoods is small (the paper's rule)."""

    window: int = option(5, "over how many iterations", min=2)
    below: float = option(1e-7, "the variance that is small enough", above=0)

    def should_stop(self, log_likelihoods: Sequence[float]) -> bool:
        """Whether the last `window` average log-likelihoods vary less than `below`."""
        recent = log_likelihoods[-self.window :]
        return len(recent) == self.window and float(np.var(recent)) < self.below
