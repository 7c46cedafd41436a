"""Leaf distributions: one file each, found through `spnc.registry.LEAVES`.

A distribution object holds the parameters of one leaf. The class's static functions work on a
table of many leaves of that distribution at once, `table[leaf, parameter]`, and are all that
lowering, the backends and EM need to know about it.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from spnc.common.arrays import Floats
from spnc.data.dataset import Column, ColumnKind


class Distribution(Protocol):
    """What a leaf distribution provides."""

    plugin_name: ClassVar[str]
    kinds: ClassVar[tuple[ColumnKind, ...]]  # the kinds of column it can stand over
    arity: ClassVar[int | None]  # how many parameters it takes; None: one per state

    @property
    def row(self) -> tuple[float, ...]:
        """The parameters, as a row of a table and as the circuit language writes them."""
        ...

    @classmethod
    def from_row(cls, row: Floats) -> Distribution:
        """The leaf with a table's row of parameters."""
        ...

    def problems(self, column: Column) -> list[str]:
        """What is wrong with the parameters for a leaf over this column; empty if nothing."""
        ...

    @staticmethod
    def uniform(states: int) -> tuple[float, ...]:
        """The row of parameters that knows nothing."""
        ...

    @staticmethod
    def free_parameters(states: int) -> int:
        """How many numbers of a leaf training can choose; none where the leaf is fixed."""
        ...

    @staticmethod
    def is_valid(table: Floats, states: int) -> bool:
        """Whether a table holds parameters that leaves over so many states can have."""
        ...

    @staticmethod
    def probabilities(table: Floats, states: int) -> Floats:
        """p(state) for every leaf and state, `[leaf, state]`."""
        ...

    @staticmethod
    def from_probabilities(probabilities: Floats, table: Floats) -> Floats:
        """The table of leaves with these probabilities, `[leaf, state]`.

        A distribution with nothing to learn answers `table`, the one in use.
        """
        ...

    @staticmethod
    def log_density(table: Floats, values: Floats) -> Floats:
        """log p(value) for `values[leaf, row]`; zero where the value is missing."""
        ...

    @staticmethod
    def statistics(values: Floats, flows: Floats, states: int) -> Floats:
        """Expected counts `[leaf, statistic]` from values and flows, both `[leaf, row]`."""
        ...

    @staticmethod
    def estimate(statistics: Floats, alpha: float, table: Floats) -> Floats:
        """The table that maximises expected counts plus prior; `table` where nothing counts."""
        ...

    @staticmethod
    def log_prior(table: Floats, alpha: float) -> float:
        """The log prior density of a table, up to a constant."""
        ...
