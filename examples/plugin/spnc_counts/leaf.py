"""A binomial leaf: how often something happened, out of n times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves.finite import FiniteLeaf
from spnc.leaves.leaf_columns import LeafColumns
from spnc.registry import LEAVES


@LEAVES.register("binomial")
@dataclass(frozen=True, slots=True)
class Binomial(FiniteLeaf):
    """`binomial(p, n)`: the number of successes in n trials, each with probability p.

    Training fits p; n is one less than the number of states of the column.
    """

    p: float
    n: float

    arity: ClassVar[int | None] = 2

    @property
    def row(self) -> tuple[float, ...]:
        """The parameters, as a row of a table and as the circuit language writes them."""
        return (self.p, self.n)

    @classmethod
    def from_row(cls, row: Floats) -> Binomial:
        """The leaf with a table's row of parameters."""
        return cls(float(row[0]), float(row[1]))

    def problems(self, column: Column) -> list[str]:
        """What is wrong with the parameters for a leaf over this column; empty if nothing."""
        found = [] if 0.0 <= self.p <= 1.0 else [f"p = {self.p:g} is not between 0 and 1"]
        if self.n != column.states - 1:
            found.append(f"n = {self.n:g} for a column of the counts 0 to {column.states - 1}")
        return found

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """The row of parameters to begin from."""
        return (0.5, column.states - 1.0)

    @staticmethod
    def free_parameters(width: int) -> int:
        """Only p can be fitted."""
        del width
        return 1

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether a table holds parameters that leaves over these columns can have."""
        p, n = table[:, 0], table[:, 1]
        return bool(((p >= 0) & (p <= 1) & (n == columns.states - 1)).all())

    @staticmethod
    def probabilities(table: Floats, states: int) -> Floats:
        """p(count) for every leaf and count, `[leaf, state]`."""
        p, k = table[:, :1], np.arange(states)
        found: Floats = _ways(states) * p**k * (1.0 - p) ** (states - 1 - k)
        return found

    @staticmethod
    def from_probabilities(probabilities: Floats, table: Floats) -> Floats:
        """The binomials with the means of these distributions: those that fit them best."""
        n = probabilities.shape[1] - 1
        return np.column_stack([probabilities @ np.arange(n + 1) / n, table[:, 1]])

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """log p(count) for `values[leaf, row]`; zero where the value is missing."""
        del columns
        missing = np.isnan(values)
        counts = np.where(missing, 0.0, values).astype(np.intp)
        # All leaves of a table are over columns of the same number of states.
        states = int(table[0, 1]) + 1 if len(table) else 1
        with np.errstate(divide="ignore"):
            logarithms = np.log(Binomial.probabilities(table, states))
        return np.where(missing, 0.0, np.take_along_axis(logarithms, counts, axis=1))

    @staticmethod
    def log_prior(table: Floats, alpha: float, columns: LeafColumns) -> float:
        """The log density of `alpha` pseudo-rows with every count, up to a constant."""
        del columns
        if alpha == 0.0:
            return 0.0
        p, n = table[:, 0], table[:, 1]
        successes = n * (n + 1.0) / 2.0  # of one row with every count; as many trials fail
        with np.errstate(divide="ignore"):
            return float(alpha * (successes * (np.log(p) + np.log1p(-p))).sum())


def _ways(states: int) -> Floats:
    """The number of ways in which each count can come about."""
    return np.array([math.comb(states - 1, k) for k in range(states)], dtype=np.float64)
