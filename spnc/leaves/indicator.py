"""The indicator leaf: a column has one state for certain, and training does not change that.

Circuits that follow a column's states, such as Chow-Liu trees, are built on indicators. A Bernoulli
leaf with p = 1 is not the same: a prior would soften it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves.finite import FiniteLeaf
from spnc.leaves.leaf_columns import LeafColumns
from spnc.registry import LEAVES


@LEAVES.register("indicator")
@dataclass(frozen=True, slots=True)
class Indicator(FiniteLeaf):
    """`indicator(s)`: the column is s. Nothing is learned about it."""

    state: float

    @property
    def row(self) -> tuple[float, ...]:
        """The state."""
        return (self.state,)

    @classmethod
    def from_row(cls, row: Floats) -> Indicator:
        """Return the leaf with a table's row of parameters."""
        return cls(float(row[0]))

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the state for a leaf over this column."""
        if self.state in range(column.states):
            return []
        return [f"{self.state:g} is none of the states 0 … {column.states - 1}"]

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """No indicator is like the column; return the one of the first state."""
        del column
        return (0.0,)

    @staticmethod
    def free_parameters(width: int) -> int:
        """None: training has nothing to change."""
        del width
        return 0

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether a table holds one state per leaf."""
        known = (table >= 0) & (table < columns.states) & (table == np.floor(table))
        return table.shape[1] == 1 and bool(known.all())

    @staticmethod
    def probabilities(table: Floats, states: int) -> Floats:
        """Return one for the state and zero for all others, `[leaf, state]`."""
        found: Floats = (table == np.arange(states)).astype(np.float64)
        return found

    @staticmethod
    def from_probabilities(probabilities: Floats, table: Floats) -> Floats:
        """Return the table unchanged: there is nothing to learn."""
        del probabilities
        return table

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return zero where the value is the state or missing, else minus infinity."""
        del columns
        return np.where((values == table) | np.isnan(values), 0.0, -np.inf)

    @classmethod
    def estimate(
        cls, statistics: Floats, alpha: float, table: Floats, columns: LeafColumns
    ) -> Floats:
        """Return the table unchanged, whatever was counted."""
        del statistics, alpha, columns
        return table

    @staticmethod
    def log_prior(table: Floats, alpha: float, columns: LeafColumns) -> float:
        """What is not learned has no prior."""
        del table, alpha, columns
        return 0.0
