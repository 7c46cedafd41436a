"""Leaf distributions: one file each, found through `spnc.registry.LEAVES`.

A distribution object holds the parameters of one leaf. The static and class methods work on a table
of many leaves of that distribution at once, `table[leaf, parameter]`, and are all that lowering,
the backends and EM need to know about it. `spnc.leaves.finite` has a base class for leaves over
columns with finitely many states.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind


class Distribution(Protocol):
    """What a leaf distribution provides."""

    plugin_name: ClassVar[str]
    kinds: ClassVar[tuple[ColumnKind, ...]]  # the kinds of column that it can model
    arity: ClassVar[int | None]  # how many parameters it takes; None: one per state

    @property
    def row(self) -> tuple[float, ...]:
        """The parameters, as a row of a table and as the circuit language writes them."""
        ...

    @classmethod
    def from_row(cls, row: Floats) -> Distribution:
        """Return the leaf with a table's row of parameters."""
        ...

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the parameters for a leaf over this column."""
        ...

    @staticmethod
    def uniform(states: int) -> tuple[float, ...]:
        """Return the parameters of the uniform distribution, or else of a default one."""
        ...

    @staticmethod
    def free_parameters(states: int) -> int:
        """Return how many independent numbers training can choose; 0 for a fixed leaf."""
        ...

    @staticmethod
    def is_valid(table: Floats, states: int) -> bool:
        """Whether all parameters in a table are valid for columns with this number of states."""
        ...

    @staticmethod
    def probabilities(table: Floats, states: int) -> Floats:
        """Return p(state) for every leaf and state, `[leaf, state]`."""
        ...

    @staticmethod
    def from_probabilities(probabilities: Floats, table: Floats) -> Floats:
        """Return the table of leaves with these probabilities, `[leaf, state]`.

        A distribution with nothing to learn returns `table`, the current one.
        """
        ...

    @staticmethod
    def log_density(table: Floats, values: Floats) -> Floats:
        """Return log p(value) for `values[leaf, row]`; zero where the value is missing."""
        ...

    @staticmethod
    def statistics(values: Floats, flows: Floats, states: int) -> Floats:
        """Return expected counts `[leaf, statistic]` from values and flows, both `[leaf, row]`."""
        ...

    @staticmethod
    def estimate(statistics: Floats, alpha: float, table: Floats) -> Floats:
        """Return the table that maximises the expected log-likelihood plus the log prior.

        Leaves without any counts keep their parameters in `table`.
        """
        ...

    @staticmethod
    def log_prior(table: Floats, alpha: float) -> float:
        """Return the log prior density of a table, up to a constant."""
        ...
