"""`FixedLeaf`: what leaves over numbers have in common about which nothing is learned."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import NumericLeaf


class FixedLeaf(NumericLeaf):
    """A leaf over numbers whose parameters stay as they are, with neither counts nor a prior."""

    __slots__ = ()

    @staticmethod
    def free_parameters(width: int) -> int:
        """None: training has nothing to change."""
        del width
        return 0

    @classmethod
    def statistic_count(cls, width: int, states: int) -> int:
        """None: nothing has to be known."""
        del width, states
        return 0

    @classmethod
    def statistics(
        cls, values: Floats, flows: Floats, table: Floats, columns: LeafColumns
    ) -> Floats:
        """Return an empty array: nothing has to be counted."""
        del values, table, columns
        return np.zeros((len(flows), 0))

    @classmethod
    def estimate(
        cls, statistics: Floats, alpha: float, table: Floats, columns: LeafColumns
    ) -> Floats:
        """Return the table unchanged, whatever was counted."""
        del statistics, alpha, columns
        return table

    @classmethod
    def log_prior(cls, table: Floats, alpha: float, columns: LeafColumns) -> float:
        """What is not learned has no prior."""
        del table, alpha, columns
        return 0.0
