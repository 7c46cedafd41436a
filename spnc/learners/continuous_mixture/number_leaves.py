"""The columns of numbers of a tree: their rows, their leaves and their likelihood.

Every column of numbers is a leaf of the tree, below a column of states or alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.learners.continuous_mixture.number_column import ColumnRows, DecodedColumn, NumberColumn

Floats32 = NDArray[np.float32]
StateCodes = NDArray[np.integer[Any]]
# Complete rows of states as whole numbers; or rows of all columns as doubles, with codes for
# states, which are complete, and NaN for missing numbers: `[row, column]`.
RowCells = NDArray[Any]


class NumberRows(NamedTuple):
    """The numbers of some rows."""

    statistics: Floats  # of all columns, `[row, statistic]`
    columns: tuple[ColumnRows, ...]

    def take(self, part: slice) -> NumberRows:
        """Return some of the rows."""
        return NumberRows(self.statistics[part], tuple(each.take(part) for each in self.columns))


class DecodedLeaves(NamedTuple):
    """The leaves of all columns at some latent points."""

    theta: Floats  # `[statistic, latent point]`
    columns: tuple[DecodedColumn, ...]

    @staticmethod
    def joined(parts: Sequence[DecodedLeaves], columns: Sequence[NumberColumn]) -> DecodedLeaves:
        """Return the leaves at all points from those at consecutive ones."""
        if len(parts) == 1:
            return parts[0]
        theta = np.concatenate([part.theta for part in parts], axis=1)
        joined = (
            column.joined([part.columns[i] for part in parts]) for i, column in enumerate(columns)
        )
        return DecodedLeaves(theta, tuple(joined))


@dataclass(frozen=True, eq=False)
class NumberLeaves:
    """The columns of numbers of a tree, and where they are among all columns."""

    columns: tuple[NumberColumn, ...] = ()
    states_at: tuple[int, ...] = ()  # the columns of states, where there are numbers

    def __bool__(self) -> bool:
        return bool(self.columns)

    @cached_property
    def outputs(self) -> int:
        """How many numbers the decoder gives for all columns."""
        return sum(column.outputs for column in self.columns)

    @cached_property
    def statistics_count(self) -> int:
        """How many statistics a row has."""
        return sum(column.statistics_count for column in self.columns)

    @cached_property
    def plain(self) -> Floats32:
        """What the decoder gives at first."""
        parts = [np.empty(0), *(column.plain.ravel() for column in self.columns)]
        return np.concatenate(parts).astype(np.float32)

    def states_of(self, cells: RowCells) -> StateCodes:
        """Return the codes of the columns of states."""
        return cells[:, self.states_at].astype(np.int32) if self.columns else cells

    def rows(self, cells: RowCells) -> NumberRows:
        """Return the numbers of rows."""
        codes, found = self.states_of(cells), []
        for column in self.columns:
            none = np.zeros(len(cells), dtype=np.int64)
            groups = none if column.parent < 0 else codes[:, column.parent].astype(np.int64)
            found.append(column.rows(cells[:, column.variable].astype(np.float64), groups))
        parts = [np.empty((len(cells), 0))]
        parts += [own.statistics(rows) for own, rows in zip(self.columns, found, strict=True)]
        return NumberRows(np.concatenate(parts, axis=1), tuple(found))

    def constant(self, rows: NumberRows) -> Floats:
        """Return the part of each row's log-likelihood that is the same at all points."""
        pairs = zip(self.columns, rows.columns, strict=True)
        return sum((column.constant(own) for column, own in pairs), np.zeros(len(rows.statistics)))

    def decoded(self, outputs: Floats32) -> DecodedLeaves:
        """Return the leaves for the decoder's outputs, `[output, latent point]`."""
        found = [own.decoded(part) for own, part in self.parts(outputs)]
        thetas = [np.empty((0, outputs.shape[1])), *(own.theta for own in found)]
        return DecodedLeaves(np.concatenate(thetas), tuple(found))

    def parts(self, outputs: Floats32) -> list[tuple[NumberColumn, Floats32]]:
        """Return each column with its outputs."""
        ends = np.cumsum([0, *(column.outputs for column in self.columns)]).tolist()
        spans = zip(self.columns, pairwise(ends), strict=True)
        return [(column, outputs[begin:end]) for column, (begin, end) in spans]

    def models(self, outputs: Floats32) -> dict[int, Any]:
        """Return for each column the models at each point and, within it, for each group."""
        return {own.variable: own.models(part) for own, part in self.parts(outputs)}

    def add_log_likelihoods(self, found: Floats32, leaves: DecodedLeaves, rows: NumberRows) -> None:
        """Add the log-likelihoods of rows under all points to `found[row, latent point]`.

        What `constant` returns is left out.
        """
        found += rows.statistics @ leaves.theta
        for column, own, values in zip(self.columns, leaves.columns, rows.columns, strict=True):
            column.add_densities(found, own, values)

    def gradient(self, leaves: DecodedLeaves, rows: NumberRows, shares: Floats32) -> Floats32:
        """Return the gradient by the outputs, `[output, latent point]`, from `shares[row, point]`.

        A share says how much of a row, times its weight, a point explains.
        """
        pull = rows.statistics.T @ shares.astype(np.float64)
        ends = np.cumsum([0, *(column.statistics_count for column in self.columns)]).tolist()
        each = zip(self.columns, leaves.columns, rows.columns, pairwise(ends), strict=True)
        found = [
            column.gradient(own, pull[begin:end], values, shares)
            for column, own, values, (begin, end) in each
        ]
        return np.concatenate(found).astype(np.float32)


NO_NUMBERS = NumberLeaves()
