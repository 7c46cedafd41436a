"""`WideLeaves`: leaves over columns with mostly distinct values, computed by NumPy in strips.

A *strip* is a run of rows, some blocks long. The leaves of a column are asked for its densities at
once, for as many rows as keep temporary arrays in the cache; compiled kernels then read the values
of leaves from the strip and write their flows into another. After each strip, the leaves turn their
flows into statistics. Strips depend on the circuit and the block only, not on threads or waves.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from spnc.backends.planning.encoding import EncodedTable
from spnc.backends.planning.leaf_list import exponential
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
        self.encoded, self.groups = encoded, _groups(encoded)
        ends = list(accumulate((len(group.nodes) for group in self.groups), initial=0))
        self.places = [slice(a, b) for a, b in pairwise(ends)]
        self.logs = [encoded.log_reference_tables[group.column] for group in self.groups]
        fitting = min(MOST_STRIP_ROWS, STRIP_ENTRIES // max(1, ends[-1])) // block
        self.blocks = max(1, fitting) if self.groups else -(-max(1, encoded.rows) // block)
        self.shape = (ends[-1], self.blocks * block if self.groups else 0)
        self.values: list[Floats] = []  # by thread, [leaf, row]
        self.flows: list[Floats] = []
        self.tables: list[Floats] = []
        self._statistics: dict[int, list[Floats]] = {}  # by the first row of a strip

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
        self.tables = [group.parameters(parameters) for group in self.groups]

    def fill(self, worker: int, rows: slice) -> float:
        """Compute the leaf values of a strip, divided by the reference density.

        Return the log of the least value that is not zero, or 0 if all are above 1.
        """
        size, encoded, least = rows.stop - rows.start, self.encoded, 0.0
        self.values[worker][:, size:] = 0.0
        for group, table, reference, place in zip(
            self.groups, self.tables, self.logs, self.places, strict=True
        ):
            logs = group.log_densities(table, encoded.numbers[group.column][rows])
            logs -= reference[encoded.codes[group.column, rows]]
            least = min(least, exponential(logs, self.values[worker][place, :size]))
        return least

    def log_bounds(self, worker: int, size: int) -> Floats:
        """Return, by row, the log of the largest product of one leaf value or 1 per column."""
        found = np.zeros(size)
        largest: dict[int, Floats] = {}
        for group, place in zip(self.groups, self.places, strict=True):
            own = self.values[worker][place, :size].max(axis=0)
            largest[group.column] = np.maximum(largest.get(group.column, 1.0), own)
        for own in largest.values():
            found += np.log(own)
        return found

    def collect(self, worker: int, rows: slice) -> None:
        """Turn the flows of a strip into statistics, and keep them until `add`."""
        size, numbers = rows.stop - rows.start, self.encoded.numbers
        self._statistics[rows.start] = [
            group.statistics(table, numbers[group.column][rows], self.flows[worker][place, :size])
            for group, table, place in zip(self.groups, self.tables, self.places, strict=True)
        ]

    def add(self, tables: Sequence[Floats]) -> None:
        """Add the statistics of all strips since the last call, in the order of their rows."""
        for first in sorted(self._statistics):
            for group, own in zip(self.groups, self._statistics[first], strict=True):
                tables[group.table][group.places] += own
        self._statistics.clear()
