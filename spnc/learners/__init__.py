"""Structure learners: one file each, found through `spnc.registry.LEARNERS`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from spnc.common.deadline import NEVER, Deadline
from spnc.common.observer import Progress, silent
from spnc.common.savepoints import NOTHING_KEPT, Savepoints
from spnc.data.binning import binned
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.pairs import PairCounts, pair_counts
from spnc.data.parted import PartedTable
from spnc.data.row_sums import Sums
from spnc.data.table import Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Builder
from spnc.leaves.smoothing import Smoothing


@dataclass(frozen=True, eq=False)
class LearningTask:
    """What a learner is given: the training rows, the prior, and its own random stream."""

    columns: tuple[Column, ...]
    table: Table
    smoothing: Smoothing
    rng: np.random.Generator
    builder: Builder  # to which the learner adds its nodes
    sink: Sink  # for problems and warnings
    valid: Table | None = None  # validation rows: for choosing between fits, not for fitting
    progress: Progress = silent  # for learners that take long
    deadline: Deadline = NEVER  # which learners that take long check as they go
    savepoints: Savepoints = NOTHING_KEPT  # where those that take long keep their progress
    # Sums over all training rows, if `table` is a sample of them and the learner `reads` sums.
    sums: Sums | None = None
    # All training rows, if `table` is a sample of them and the learner `reads` these rows.
    all_rows: PartedTable | None = None

    @property
    def total(self) -> float:
        """The weight of all training rows."""
        return self.sums.total if self.sums is not None else float(self.table.weights.sum())

    def rows_in_state(self, variable: int, state: int) -> float:
        """Return the weight of the training rows in which a column has this state."""
        counts = self.sums.states[variable] if self.sums is not None else None
        if counts is not None:
            return float(counts[state])
        return float(self.table.weights[self.table.stored(variable) == state].sum())

    def pairs(self) -> PairCounts:
        """Return the counts of every two columns in all training rows; numbers by ranges."""
        if self.sums is not None and self.sums.pairs is not None:
            return self.sums.pairs
        return pair_counts(*binned(self.columns, self.table))


class Learner(Protocol):
    """A way of making one component of a forest.

    One that needs no sample of a large table, or sums over all its rows, says so by the attribute
    `reads` (`spnc.registry.reads`).
    """

    plugin_name: ClassVar[str]

    def verify(self, dataset: Dataset | None, sink: Sink) -> None:
        """Report options that do not suit the data, or files, before anything is learned."""
        ...

    def learn(self, task: LearningTask) -> int | None:
        """Add a circuit over all columns. Return its root, or None if a problem was reported."""
        ...
