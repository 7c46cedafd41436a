"""The Bernoulli leaf: a binary column is 1 with probability p."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves import smoothing
from spnc.leaves.finite import FiniteLeaf
from spnc.leaves.leaf_columns import LeafColumns
from spnc.registry import LEAVES


@LEAVES.register("bernoulli")
@dataclass(frozen=True, slots=True)
class Bernoulli(FiniteLeaf):
    """`bernoulli(p)`: the probability of a 1 in a binary column."""

    p: float

    kinds: ClassVar[tuple[ColumnKind, ...]] = ("binary",)

    @property
    def row(self) -> tuple[float, ...]:
        """The probability of a 1."""
        return (self.p,)

    @classmethod
    def from_row(cls, row: Floats) -> Bernoulli:
        """Return the leaf with a table's row of parameters."""
        return cls(float(row[0]))

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with p."""
        del column
        return [] if 0.0 <= self.p <= 1.0 else [f"p = {self.p:g} is not between 0 and 1"]

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """Both states are equally likely."""
        del column
        return (0.5,)

    @staticmethod
    def free_parameters(width: int) -> int:
        """The probability of a 1."""
        return width

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether a table holds one probability per leaf."""
        possible = (table >= 0) & (table <= 1)
        return columns.states == 2 and table.shape[1] == 1 and bool(possible.all())

    @staticmethod
    def probabilities(table: Floats, states: int) -> Floats:
        """Return the probabilities of 0 and 1, `[leaf, state]`."""
        del states
        return np.concatenate([1.0 - table, table], axis=1)

    @staticmethod
    def from_probabilities(probabilities: Floats, table: Floats) -> Floats:
        """Return the probabilities of 1."""
        del table
        return probabilities[:, 1:]

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        del columns
        p = table[:, :1]
        with np.errstate(divide="ignore"):
            log_one, log_zero = np.log(p), np.log1p(-p)
        return np.where(values == 1.0, log_one, np.where(values == 0.0, log_zero, 0.0))

    @staticmethod
    def log_prior(table: Floats, alpha: float, columns: LeafColumns) -> float:
        """The Beta prior's log density, up to a constant."""
        del columns
        return smoothing.log_prior(table, alpha) + smoothing.log_prior(1.0 - table, alpha)
