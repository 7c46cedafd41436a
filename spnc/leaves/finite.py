"""`FiniteLeaf`: what leaves over columns with finitely many states have in common.

A finite leaf says in `probabilities` how its parameters become the probability of each state, and
in `from_probabilities` the way back. Counting and estimation follow from these two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import ColumnKind
from spnc.leaves import smoothing


class FiniteLeaf(ABC):
    """A distribution over the states 0, 1, … of a column; see `spnc.leaves.Distribution`.

    A subclass adds `row`, `from_row`, `problems`, `uniform`, `is_valid` and `log_density`.
    """

    __slots__ = ()

    plugin_name: ClassVar[str]
    kinds: ClassVar[tuple[ColumnKind, ...]] = ("categorical", "binary")
    arity: ClassVar[int | None] = 1

    @staticmethod
    @abstractmethod
    def probabilities(table: Floats, states: int) -> Floats:
        """Return p(state) for every leaf and state, `[leaf, state]`."""

    @staticmethod
    @abstractmethod
    def from_probabilities(probabilities: Floats, table: Floats) -> Floats:
        """Return the table of leaves with these probabilities, `[leaf, state]`."""

    @staticmethod
    def free_parameters(states: int) -> int:
        """All probabilities but one, since they add up to one."""
        return states - 1

    @staticmethod
    def statistics(values: Floats, flows: Floats, states: int) -> Floats:
        """Return the expected number of each state, `[leaf, state]`."""
        return np.stack([(flows * (values == v)).sum(axis=1) for v in range(states)], axis=1)

    @classmethod
    def estimate(cls, statistics: Floats, alpha: float, table: Floats) -> Floats:
        """Return the table in which every state has its smoothed share of the counts."""
        current = cls.probabilities(table, statistics.shape[1])
        return cls.from_probabilities(smoothing.smoothed(statistics, alpha, current), table)
