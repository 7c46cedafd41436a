"""The categorical leaf: a column takes one of k codes, each with its probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves import smoothing
from spnc.leaves.finite import FiniteLeaf
from spnc.leaves.leaf_columns import LeafColumns
from spnc.registry import LEAVES


@LEAVES.register("categorical")
@dataclass(frozen=True, slots=True)
class Categorical(FiniteLeaf):
    """`categorical(p0, p1, …)`: the probabilities of the codes 0, 1, … of a column."""

    p: tuple[float, ...]

    arity: ClassVar[int | None] = None

    @property
    def row(self) -> tuple[float, ...]:
        """The probabilities of all codes."""
        return self.p

    @classmethod
    def from_row(cls, row: Floats) -> Categorical:
        """Return the leaf with a table's row of parameters."""
        return cls(tuple(float(x) for x in row))

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the probabilities for a leaf over this column."""
        found = [
            f"the probability {x:g} of code {code} is not between 0 and 1"
            for code, x in enumerate(self.p)
            if not 0.0 <= x <= 1.0
        ]
        if len(self.p) != column.states:
            found.append(f"{len(self.p)} probabilities for {column.states} states")
        elif not found and abs(sum(self.p) - 1.0) > smoothing.SUM_TOLERANCE:
            found.append(f"the probabilities sum to {sum(self.p):.10g}, not to 1")
        return found

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """All states are equally likely."""
        return (1.0 / column.states,) * column.states

    @staticmethod
    def free_parameters(width: int) -> int:
        """All probabilities but one, since they add up to one."""
        return width - 1

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether a table holds, for every leaf, as many probabilities as states, summing to 1."""
        return (
            table.shape[1] == columns.states
            and bool(((table >= 0) & (table <= 1)).all())
            and bool((np.abs(table.sum(axis=1) - 1.0) <= smoothing.SUM_TOLERANCE).all())
        )

    @staticmethod
    def probabilities(table: Floats, states: int) -> Floats:
        """Return the table itself: it is `[leaf, state]`."""
        del states
        return table

    @staticmethod
    def from_probabilities(probabilities: Floats, table: Floats) -> Floats:
        """Return the probabilities themselves."""
        del table
        return probabilities

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        del columns
        missing = np.isnan(values)
        codes = np.where(missing, 0.0, values).astype(np.intp)
        with np.errstate(divide="ignore"):
            found = np.take_along_axis(np.log(table), codes, axis=1)
        return np.where(missing, 0.0, found)

    @staticmethod
    def log_prior(table: Floats, alpha: float, columns: LeafColumns) -> float:
        """The Dirichlet prior's log density, up to a constant."""
        del columns
        return smoothing.log_prior(table, alpha)
