"""Stop after a number of iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spnc.registry import STOPS, Options, option


@STOPS.register("iterations")
@dataclass(frozen=True, kw_only=True)
class Iterations(Options):
    """Stop after a number of iterations, also where step sizes fall until `max_iterations`."""

    most: int = option(100, "how many iterations", min=0)

    def should_stop(self, log_likelihoods: Sequence[float]) -> bool:
        """Return whether as many iterations are over; the first number is from before them."""
        return len(log_likelihoods) > self.most
