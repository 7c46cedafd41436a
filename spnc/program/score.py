"""Results of a pass over rows: how well they are explained, and the expected counts of EM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.common.arrays import Floats


@dataclass(frozen=True, slots=True)
class Score:
    """How well rows are explained. Rows of probability zero are counted, but not averaged."""

    total: float = 0.0  # summed log-likelihood of the possible rows, by weight
    possible: float = 0.0  # weight of the rows with a positive probability
    impossible: float = 0.0  # weight of the others

    def __add__(self, other: Score) -> Score:
        """Return the score of both sets of rows together."""
        return Score(
            self.total + other.total,
            self.possible + other.possible,
            self.impossible + other.impossible,
        )

    @property
    def average(self) -> float:
        """The average log-likelihood of the possible rows."""
        return self.total / self.possible if self.possible > 0 else float("nan")

    @property
    def rank(self) -> tuple[float, float]:
        """For comparing scores over the same rows: fewer impossible rows first, then average."""
        return (-self.impossible, self.average if self.possible > 0 else float("-inf"))

    def as_json(self, rows: int) -> dict[str, Any]:
        """Return the score of this number of rows, as in `metrics.json` and `spnc eval`."""
        average = self.average if self.possible > 0 else None
        return {"rows": rows, "avg_ll": average, "impossible_rows": int(self.impossible)}

    @staticmethod
    def of(log_likelihoods: Floats, weights: Floats) -> Score:
        """Return the score of rows with these log-likelihoods and weights."""
        if np.isnan(log_likelihoods).any():
            raise FloatingPointError("a log-likelihood is not a number")
        possible = log_likelihoods > -np.inf
        total = float((log_likelihoods[possible] * weights[possible]).sum())
        good = float(weights[possible].sum())
        return Score(total, good, float(weights[~possible].sum()))


@dataclass(frozen=True, eq=False)
class Counts:
    """The result of an E-step: expected counts by weight slot and leaf table, and the score."""

    weights: Floats
    tables: tuple[Floats, ...]
    score: Score
