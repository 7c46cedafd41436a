"""`LeafList`: the values of all leaves as one flat list, an entry for every leaf and code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from spnc.backends.planning.program_index import LeafGroup, ProgramIndex
from spnc.common.arrays import Floats, Ints
from spnc.leaves.finite import FiniteLeaf, as_finite
from spnc.program.program import LeafTable, Parameters

STRIP_ENTRIES = 1 << 16  # values of numeric leaves computed at once: temporary arrays stay cached
# The least ratio to the reference distribution that is told from zero. It is below the range in
# which engines trust their numbers, and above the range in which processors are slow.
LEAST_RATIO = 1e-300
_LOG_LEAST = float(np.log(LEAST_RATIO))


class LeafList:
    """Where the entries of every leaf are, and how parameters and flows go through them.

    Finite leaves come first, table by table, with an entry for each state. Numeric leaves follow,
    group by group, with an entry for each value in the codebook of their column; leaves over a
    column without a codebook have none. The last entry of a leaf stands for a missing value.
    """

    def __init__(self, index: ProgramIndex, codebooks: Mapping[int, Floats]) -> None:
        self.starts = np.zeros(len(index.leaf_columns), dtype=np.int64)  # by leaf
        self.tables: list[tuple[int, LeafTable, type[FiniteLeaf], slice]] = []  # finite ones
        self.groups: list[tuple[LeafGroup, Floats, slice]] = []
        self.finite = 0  # the number of entries of finite leaves
        for number, leaf in enumerate(index.program.leaves):
            if leaf.kind.is_finite:
                width, start = leaf.states + 1, self.finite
                self.starts[leaf.first : leaf.last] = start + width * np.arange(len(leaf))
                self.finite += width * len(leaf)
                own = slice(start, self.finite)
                self.tables.append((number, leaf, as_finite(leaf.kind), own))
        self.count = self.finite
        for group in index.leaf_groups:
            book = codebooks.get(group.column)
            if book is not None:
                width = len(book) + 1
                start = self.count
                self.starts[group.nodes] = start + width * np.arange(len(group.nodes))
                self.count += width * len(group.nodes)
                self.groups.append((group, book, slice(start, self.count)))

    def probabilities(self, parameters: Parameters) -> Floats:
        """Return the list with the probabilities of finite leaves, and 1 for everything else."""
        flat = np.ones(self.count)
        for number, leaf, kind, entries in self.tables:
            own = flat[entries].reshape(len(leaf), -1)
            own[:, :-1] = kind.probabilities(parameters.tables[number], leaf.states)
        return flat

    def logs(self, parameters: Parameters) -> Floats:
        """Return the log density of every entry."""
        flat = self.probabilities(parameters)
        with np.errstate(divide="ignore"):
            np.log(flat, out=flat)
        for group, book, entries in self.groups:
            own, table = flat[entries].reshape(len(group.nodes), -1), group.parameters(parameters)
            for part in _strips(len(book), len(own)):
                own[:, part] = group.log_densities(table, book[part])
        return flat

    def ratios(self, parameters: Parameters, log_reference: Mapping[int, Floats]) -> Floats:
        """Return the probabilities of finite leaves, and the ratios of numeric ones.

        Their densities are divided by those in `log_reference`, by column and code.
        """
        flat = self.probabilities(parameters)
        for group, book, entries in self.groups:
            reference = log_reference[group.column]
            own, table = flat[entries].reshape(len(group.nodes), -1), group.parameters(parameters)
            for part in _strips(len(book), len(own)):
                logs = group.log_densities(table, book[part])
                logs -= reference[part]
                exponential(logs, own[:, part])
        return flat

    def largest(self, values: Floats, starts: Ints, found: Floats) -> None:
        """Raise found[starts[column] + code] to the largest value of any leaf there."""
        for _, leaf, _, entries in self.tables:
            places = starts[leaf.variables][:, None] + np.arange(leaf.states + 1)
            np.maximum.at(found, places, values[entries].reshape(len(leaf), -1))
        for group, book, entries in self.groups:
            own = values[entries].reshape(len(group.nodes), -1).max(axis=0)
            start = starts[group.column]
            place = found[start : start + len(book) + 1]
            np.maximum(place, own, out=place)

    def add_finite(self, flows: Floats, tables: Sequence[Floats]) -> None:
        """Add the flows of finite leaves to their tables of statistics."""
        for number, leaf, _, entries in self.tables:
            total = tables[number]
            total += flows[entries].reshape(len(leaf), -1)[:, :-1]

    def add_numeric(self, flows: Floats, parameters: Parameters, tables: Sequence[Floats]) -> None:
        """Add the statistics of numeric leaves, given their flows, to their tables."""
        for group, book, entries in self.groups:
            own, table = flows[entries].reshape(len(group.nodes), -1), group.parameters(parameters)
            for part in _strips(len(book), len(own)):
                tables[group.table][group.places] += group.statistics(
                    table, book[part], own[:, part]
                )


def exponential(logs: Floats, out: Floats) -> float:
    """Write exp(logs) to `out`; `logs` may be overwritten.

    Only what is impossible becomes zero: other numbers become at least `LEAST_RATIO`. Return the
    least number in `logs` that is not impossible, or 0 if all are above.
    """
    least = float(logs.min(initial=0.0))
    impossible = None
    if least == -np.inf:
        impossible = logs == -np.inf
        least = float(logs.min(initial=0.0, where=~impossible))
    if least < _LOG_LEAST or impossible is not None:
        np.maximum(logs, _LOG_LEAST, out=logs)
    with np.errstate(over="ignore"):
        np.exp(logs, out=out)
    if impossible is not None:
        out[impossible] = 0.0
    return least


def _strips(size: int, leaves: int) -> Iterator[slice]:
    step = max(1, STRIP_ENTRIES // max(1, leaves))
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))
