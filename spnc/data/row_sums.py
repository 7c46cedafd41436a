"""Sums over all training rows, for learners whose table is only a sample of them.

They are added up over partitions in a fixed order, in this process or on the workers of a cluster,
once for all components of a forest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.observer import Progress, silent
from spnc.data.binning import Binning
from spnc.data.columns import Column
from spnc.data.pairs import PairCounts, pair_counts
from spnc.data.parted import PartedTable
from spnc.data.table import Table

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

StateCounts = tuple[Floats | None, ...]


@dataclass(frozen=True, eq=False)
class Sums:
    """What is summed over all training rows."""

    total: float  # their weight
    states: StateCounts  # the weight of the rows in each state of each column; None for numbers
    pairs: PairCounts | None = None
    # By which ranges the numbers of a column are counted in pairs: those of the sample.
    ranges: Binning | None = None


@dataclass(eq=False)
class RowSums:
    """Computes sums over the rows of a table in partitions, each once."""

    columns: tuple[Column, ...]
    rows: PartedTable | None  # None: what is known already is all there is
    _known: dict[str, Sums] = field(default_factory=dict)

    def of(self, reads: Collection[str], progress: Progress = silent) -> Sums | None:
        """Return the sums for a learner that `reads` this; None if it reads none."""
        name = next((name for name in ("pairs", "columns") if name in reads), None)
        if name is None:
            return None
        if name not in self._known:
            assert self.rows is not None
            work = _by_pairs if name == "pairs" else _by_columns
            self._known[name] = work(self.columns, self.rows, progress)
        return self._known[name]

    def known_for(
        self, learners: Iterable[Collection[str]], progress: Progress = silent
    ) -> RowSums:
        """Return the sums that these learners read, without the rows: for another process."""
        for reads in learners:
            self.of(reads, progress)
        return RowSums(self.columns, None, dict(self._known))


def _by_columns(columns: tuple[Column, ...], rows: PartedTable, progress: Progress) -> Sums:
    states = rows.sum(CountStates(columns), _added, progress)
    return Sums(rows.total, states)


def _by_pairs(columns: tuple[Column, ...], rows: PartedTable, progress: Progress) -> Sums:
    ranges = Binning.of(columns, rows.sample)
    pairs = rows.sum(CountPairs(ranges), add, progress)
    states = tuple(
        pairs.between(i, i).diagonal().copy() if column.is_finite else None
        for i, column in enumerate(columns)
    )
    return Sums(rows.total, states, pairs, ranges)


@dataclass(frozen=True, eq=False)
class CountStates:
    """Counts the states of each column in the rows of a partition."""

    columns: tuple[Column, ...]

    def __call__(self, table: Table) -> StateCounts:
        """Return the counts; none of a column of numbers."""
        return tuple(
            _counts(table.column(i), table.weights, column.states) if column.is_finite else None
            for i, column in enumerate(self.columns)
        )


@dataclass(frozen=True, eq=False)
class CountPairs:
    """Counts the pairs of states of every two columns in the rows of a partition."""

    binning: Binning

    def __call__(self, table: Table) -> PairCounts:
        """Return the counts."""
        # One thread: sums of fractional weights would otherwise depend on the number of threads.
        with _threads_of_numpy().limit(limits=1):
            return pair_counts(self.binning.columns, self.binning.apply(table))


@cache
def _threads_of_numpy() -> ThreadpoolController:
    """Return the controller of the threads of matrix products; finding them is slow."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _counts(cells: Floats, weights: Floats, states: int) -> Floats:
    known = ~np.isnan(cells)
    found = np.bincount(cells[known].astype(np.intp), weights[known], minlength=states)
    return found.astype(np.float64)  # without rows, whole numbers


def _added(one: StateCounts, other: StateCounts) -> StateCounts:
    return tuple(None if a is None or b is None else a + b for a, b in zip(one, other, strict=True))
