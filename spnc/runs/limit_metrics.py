"""`LimitMetrics`: what the limits of a training were, and whether one ended it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from spnc.common.budget import Budget
from spnc.common.memory import peak
from spnc.runs.fit_metrics import MAYBE, NUMBER, taken
from spnc.spec.limits import Limits

SEARCH = "search"  # what the time limit ended: the search, before its last try


@dataclass(frozen=True)
class LimitMetrics:
    """Limits and what was used. None stands for no limit, and for what is not known."""

    time: float | None  # in seconds
    used: float  # seconds, with those of processes that were interrupted or killed
    ended: str | None  # what the time limit ended: "training", "pruning", "objective" or "search"
    memory: int | None  # in bytes
    peak_memory: int | None  # the most resident memory of the process so far

    @classmethod
    def of(cls, limits: Limits | None, budget: Budget, ended: str | None) -> Self | None:
        """Return what became of limits; None if there were none."""
        if limits is None:
            return None
        return cls(limits.time, round(budget.used(), 3), ended, limits.memory, peak())

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Return what became of limits. Raises LookupError, TypeError or ValueError."""
        words, whole = (str, type(None)), (int, type(None))
        wanted = {"time": MAYBE, "used": NUMBER, "ended": words}
        return cls(**taken(value, {**wanted, "memory": whole, "peak_memory": whole}, "limits"))
