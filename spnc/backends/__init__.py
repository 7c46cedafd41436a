"""Backends: a `Program` opened for computing. The NumPy backend defines what is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from spnc.data.dataset import Table
from spnc.data.progress import Progress
from spnc.program import Parameters, Program

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Score:
    """How well rows are explained. A row of probability zero is counted, never averaged."""

    total: float = 0.0  # summed log-likelihood of the possible rows, by weight
    possible: float = 0.0  # weight of the rows with a positive probability
    impossible: float = 0.0  # weight of the others

    def __add__(self, other: Score) -> Score:
        """The score of both sets of rows together."""
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
        """The score of so many rows, as `metrics.json` and `spnc eval` say it."""
        average = self.average if self.possible > 0 else None
        return {"rows": rows, "avg_ll": average, "impossible_rows": int(self.impossible)}

    @staticmethod
    def of(log_likelihoods: Floats, weights: Floats) -> Score:
        """The score of rows from their log-likelihoods and weights."""
        if np.isnan(log_likelihoods).any():
            raise FloatingPointError("a log-likelihood is not a number")
        possible = log_likelihoods > -np.inf
        total = float((log_likelihoods[possible] * weights[possible]).sum())
        good = float(weights[possible].sum())
        return Score(total, good, float(weights[~possible].sum()))


@dataclass(frozen=True, eq=False)
class Counts:
    """The E-step: expected counts for every weight slot and leaf table, and the score."""

    weights: Floats
    tables: tuple[Floats, ...]
    score: Score


class Engine(Protocol):
    """A program opened on a backend."""

    program: Program

    def load(self, table: Table, *, once: bool = False) -> Any:
        """Rows laid out for this engine; made once, used for every pass.

        With `once` there will be one pass, and a layout should not cost more than it saves.
        """
        ...

    def log_likelihood(self, parameters: Parameters, batch: Any) -> Floats:
        """log p(row) for every row loaded; missing values are marginalised."""
        ...

    def score(self, parameters: Parameters, batch: Any) -> Score:
        """How well the rows loaded are explained."""
        ...

    def expected_counts(self, parameters: Parameters, batch: Any) -> Counts:
        """Flows through every edge and leaf, summed over rows by weight; and the score."""
        ...


class Backend(Protocol):
    """A way of computing, chosen by name in a spec."""

    plugin_name: ClassVar[str]
    priority: ClassVar[int]  # `auto` takes the available backend with the highest

    @classmethod
    def available(cls) -> bool:
        """Whether it can run on this machine."""
        ...

    def prepare(self, program: Program, progress: Progress) -> None:
        """Make what is made once per machine, such as compiled code; say how far it is."""
        ...

    def open(self, program: Program) -> Engine:
        """An engine for the program."""
        ...

    def resolved(self) -> Backend:
        """The backend that will do the work: itself, or the one that `auto` chose."""
        ...
