"""The leaves of one group over one wide column, in strips of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from spnc.backends.numba.kernels import FLOOR
from spnc.backends.numba.normal_kernels import normal_ratios, normal_sums
from spnc.backends.planning.encoding import EncodedTable
from spnc.backends.planning.leaf_list import exponential
from spnc.backends.planning.program_index import LeafGroup
from spnc.common.arrays import Floats
from spnc.leaves.normal import NormalLeaf, Parabolas
from spnc.program.program import Parameters

_LOG_FLOOR = float(np.log(FLOOR))


class StripLeaves(ABC):
    """The leaves of one group. Their values and flows are `[leaf, row]`, of one strip."""

    def __init__(self, group: LeafGroup, encoded: EncodedTable) -> None:
        self.group = group
        self.values = encoded.numbers[group.column]
        self.codes = encoded.codes[group.column]
        self.log_reference = encoded.log_reference_tables[group.column]

    def start(self, parameters: Parameters) -> None:
        """Take the parameters for the passes that follow."""
        self.table = self.group.parameters(parameters)

    @abstractmethod
    def fill(self, rows: slice, ratios: Floats) -> bool:
        """Write the densities of a strip, divided by those of the reference, and zeros behind them.

        Return whether any of them is below the floor of the kernels, but not zero.
        """

    @abstractmethod
    def statistics(self, rows: slice, flows: Floats) -> Floats:
        """Return the statistics of the flows of a strip, `[leaf, statistic]`."""


class AnyLeaves(StripLeaves):
    """Leaves of any distribution: computed by NumPy with the distribution's own methods."""

    def fill(self, rows: slice, ratios: Floats) -> bool:
        """Compute the log densities of all leaves at once, and their exponentials."""
        size = rows.stop - rows.start
        ratios[:, size:] = 0.0
        logs = self.group.log_densities(self.table, self.values[rows])
        logs -= self.log_reference[self.codes[rows]]
        return exponential(logs, ratios[:, :size]) < _LOG_FLOOR

    def statistics(self, rows: slice, flows: Floats) -> Floats:
        """Return the distribution's statistics."""
        own = flows[:, : rows.stop - rows.start]
        return self.group.statistics(self.table, self.values[rows], own)


class NormalLeaves(StripLeaves):
    """Leaves that are normal on some scale: computed by compiled loops, without the GIL."""

    def __init__(self, group: LeafGroup, encoded: EncodedTable, kind: type[NormalLeaf]) -> None:
        super().__init__(group, encoded)
        self.kind = kind
        one = group.columns.take(slice(0, 1))  # all leaves of a group have the same column
        values = self.values[None]
        self.positions = kind.positions(values, one)[0]
        self.log_slopes = kind.log_slopes(values, one)[0]
        self.origin, self.unit = float(kind.origin(one)[0]), float(kind.unit(one)[0])

    def start(self, parameters: Parameters) -> None:
        """Take the parameters for the passes that follow."""
        super().start(parameters)
        self.parabolas = Parabolas.of(self.table)

    def fill(self, rows: slice, ratios: Floats) -> bool:
        """Compute the ratios in one loop."""
        low: bool = normal_ratios(
            self.positions[rows], self.log_slopes[rows], self.codes[rows], self.log_reference,
            self.parabolas, ratios,
        )  # fmt: skip
        return low

    def statistics(self, rows: slice, flows: Floats) -> Floats:
        """Return the sums of flows, of flows times positions, and times their squares."""
        sums = np.empty((len(flows), 1 + self.kind.feature_count))
        normal_sums(self.positions[rows], self.origin, self.unit, flows, sums)
        return sums


def strip_leaves(group: LeafGroup, encoded: EncodedTable) -> StripLeaves:
    """Return the leaves of a group, to be computed in the fastest way there is."""
    if issubclass(group.kind, NormalLeaf):
        return NormalLeaves(group, encoded, group.kind)
    return AnyLeaves(group, encoded)
