"""`WideLeaves`: leaves over columns with mostly distinct values, computed in strips.

A *strip* is a run of rows, some blocks long. The leaves of a column are asked for its densities at
once, for as many rows as keep the values of all leaves in the cache; the kernels then read the
values of leaves from the strip and write their flows into another. After each strip, the leaves
turn their flows into statistics. Strips depend on the circuit and the block only, not on threads or
waves.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from spnc.backends.numba.normal_kernels import raise_to_largest
from spnc.backends.numba.strip_leaves import strip_leaves
from spnc.backends.planning.encoding import EncodedTable
from spnc.backends.planning.program_index import LeafGroup
from spnc.common.arrays import Floats, Ints
from spnc.program.program import Parameters

# Values of a strip, and rows at most: measured on trees over ten real and ten categorical columns.
STRIP_ENTRIES = 1 << 19
MOST_STRIP_ROWS = 1 << 12


def wide_leaves(encoded: EncodedTable) -> Ints:
    """Return the leaves over wide columns, in the order of a strip."""
    own = [group.nodes for group in _groups(encoded)]
    return np.concatenate([np.empty(0, dtype=np.int64), *own])


def _groups(encoded: EncodedTable) -> list[LeafGroup]:
    return [group for group in encoded.index.leaf_groups if group.column in encoded.numbers]


class WideLeaves:
    """The strips of a table, and the leaf values and flows of one strip for each thread."""

    def __init__(self, encoded: EncodedTable, block: int) -> None:
        self.groups = [strip_leaves(group, encoded) for group in _groups(encoded)]
        ends = list(accumulate((len(own.group.nodes) for own in self.groups), initial=0))
        self.places = [slice(a, b) for a, b in pairwise(ends)]
        fitting = min(MOST_STRIP_ROWS, STRIP_ENTRIES // max(1, ends[-1])) // block
        self.blocks = max(1, fitting) if self.groups else -(-max(1, encoded.rows) // block)
        self.shape = (ends[-1], self.blocks * block if self.groups else 0)
        self.values: list[Floats] = []  # by thread, [leaf, row]
        self.flows: list[Floats] = []
        self._statistics: dict[int, list[Floats]] = {}  # by the first row of a strip
        self._totals: list[Floats] = []  # of the strips that were added, by group

    @property
    def entries(self) -> int:
        """The number of values of a strip."""
        return self.shape[0] * self.shape[1]

    def use(self, values: list[Floats], flows: list[Floats]) -> None:
        """Take the memory for values and flows of a strip: the last part of each array."""
        self.values, self.flows = (
            [array[len(array) - self.entries :].reshape(self.shape) for array in arrays]
            for arrays in (values, flows)
        )

    def start(self, parameters: Parameters) -> None:
        """Take the parameters for the passes that follow."""
        for own in self.groups:
            own.start(parameters)
        self._totals = [np.zeros(())] * len(self.groups)

    def fill(self, worker: int, rows: slice) -> bool:
        """Compute the leaf values of a strip, divided by the reference density.

        Return whether any of them is below the floor of the kernels, but not zero.
        """
        values = self.values[worker]
        found = [
            own.fill(rows, values[place])
            for own, place in zip(self.groups, self.places, strict=True)
        ]
        return any(found)

    def log_bounds(self, worker: int, size: int) -> Floats:
        """Return, by row, the log of the largest product of one leaf value or 1 per column."""
        largest: dict[int, Floats] = {}
        for own, place in zip(self.groups, self.places, strict=True):
            found = largest.setdefault(own.group.column, np.ones(size))
            raise_to_largest(self.values[worker][place], found)
        logs: Floats = np.zeros(size)
        for found in largest.values():
            logs += np.log(found)
        return logs

    def collect(self, worker: int, rows: slice) -> None:
        """Turn the flows of a strip into statistics, and keep them until `add`."""
        flows = self.flows[worker]
        self._statistics[rows.start] = [
            own.statistics(rows, flows[place])
            for own, place in zip(self.groups, self.places, strict=True)
        ]

    def add(self) -> None:
        """Add the statistics of all strips since the last call, in the order of their rows."""
        for first in sorted(self._statistics):
            pairs = zip(self._totals, self._statistics[first], strict=True)
            self._totals = [total + own for total, own in pairs]
        self._statistics.clear()

    def add_to(self, tables: Sequence[Floats]) -> None:
        """Add the statistics of all strips since `start` to the tables of their leaves."""
        for own, total in zip(self.groups, self._totals, strict=True):
            tables[own.group.table][own.group.places] += total
