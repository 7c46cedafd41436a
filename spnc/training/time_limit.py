"""Ending fits in time, so that what follows a fit is done in time too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from spnc.common.budget import Budget
from spnc.data.dataset import Dataset
from spnc.training import Optimizer, Record
from spnc.training.loop import Iterative
from spnc.training.stops.iterations import Iterations

TRAINING, PRUNING, OBJECTIVE = "training", "pruning", "objective"  # which fit was ended


class Ended(NamedTuple):
    """The fit that was ended early, and after how many iterations."""

    fit: str
    iterations: int


@dataclass(frozen=True)
class TimeLimit:
    """Ends a fit before the iteration that would pass the end of the budget."""

    budget: Budget
    # How long what follows takes, in iterations: the splits that training does not score.
    afterwards: float = 0.0

    @staticmethod
    def of(budget: Budget, dataset: Dataset) -> TimeLimit:
        """Return the limit for training on a dataset."""
        rows = {name: table.rows for name, table in dataset.splits.items()}
        rest = sum(rows[name] for name in rows if name not in ("train", "valid"))
        return TimeLimit(budget, rest / max(1, rows["train"]))

    def enough(self, history: tuple[Record, ...]) -> bool:
        """Return whether another iteration like the last would take too long."""
        last = history[-1].seconds - history[-2].seconds if len(history) > 1 else 0.0
        return self.budget.left() <= last * (1.0 + self.afterwards)


def shortened(optimizer: Optimizer, iterations: int) -> Optimizer | None:
    """Return an optimiser that takes the first steps of this one; None if there is none."""
    cut = optimizer.cut(iterations)
    if cut is None and isinstance(optimizer, Iterative):  # its steps depend on `max_iterations`
        return replace(optimizer, stop=Iterations(most=iterations))
    return cut
