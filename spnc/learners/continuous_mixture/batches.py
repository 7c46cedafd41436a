"""Mini-batches of rows that are in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spnc.common.savepoints import Piece
from spnc.data.table import Table
from spnc.learners.continuous_mixture.decoder import Decoder
from spnc.learners.continuous_mixture.number_leaves import Floats32, RowCells
from spnc.learners.continuous_mixture.objective import Gradient, Objective


class Gradients(Protocol):
    """Gradients of one mini-batch after another."""

    def gradient(
        self, objective: Objective, decoder: Decoder, points: Floats32, log_weights: Floats32
    ) -> Gradient:
        """Return the gradient of the next batch's mean log-likelihood."""
        ...

    def stored(self) -> Piece:
        """Return how far the epoch has come."""
        ...

    def take_up(self, piece: Piece) -> None:
        """Continue in the middle of an epoch.

        Raises LookupError, TypeError or ValueError if it is not one of these rows.
        """
        ...


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Distinct rows, and how often each occurs."""

    cells: RowCells
    weights: NDArray[np.float64]

    @staticmethod
    def of(table: Table, numbers: bool = False) -> CodedRows:
        """Return the distinct rows of a table; only its `numbers`, if any, may be missing."""
        distinct = table.distinct()
        kind = np.float64 if numbers else np.int32
        return CodedRows(distinct.values.astype(kind), distinct.weights)

    def some(self, most: int, rng: np.random.Generator) -> CodedRows:
        """Return a random sample of at most `most` rows."""
        if len(self.cells) <= most:
            return self
        chosen = np.sort(rng.choice(len(self.cells), most, replace=False))
        return CodedRows(self.cells[chosen], self.weights[chosen])


class Batches:
    """Mini-batches for ever: distinct rows, with weights that sum to one.

    Each epoch takes the original rows, as often as their weights say, in a new random order. Equal
    rows within a batch are merged.
    """

    def __init__(self, rows: CodedRows, size: int, rng: np.random.Generator) -> None:
        self._rows, self._rng = rows, rng
        self._ends = np.cumsum(rows.weights)
        self._count = max(1, round(float(self._ends[-1])))
        self._size = min(size, self._count)
        self.order: NDArray[np.int64] = np.empty(0, dtype=np.int64)  # rows of the present epoch
        self.taken = 0  # of these

    def next(self) -> tuple[RowCells, Floats32]:
        """Return the rows of the next batch, and their weights."""
        if self.taken + self._size > len(self.order):
            positions = self._rng.permutation(self._count)
            self.order, self.taken = rows_at(positions, self._ends, self._count), 0
        part = self.order[self.taken : self.taken + self._size]
        self.taken += self._size
        chosen, times = np.unique(part, return_counts=True)
        return self._rows.cells[chosen], (times / self._size).astype(np.float32)

    def gradient(
        self, objective: Objective, decoder: Decoder, points: Floats32, log_weights: Floats32
    ) -> Gradient:
        """Return the gradient of the next batch's mean log-likelihood."""
        return objective.gradient(decoder, points, log_weights, *self.next())

    def stored(self) -> Piece:
        """Return how far the epoch has come."""
        return Piece({"taken": self.taken}, {"order": self.order})

    def take_up(self, piece: Piece) -> None:
        """Continue in the middle of an epoch.

        Raises LookupError, TypeError or ValueError if it is not one of these rows.
        """
        order, taken = piece.arrays["order"], int(piece.about["taken"])
        rows = len(self._ends)
        if len(order) not in (0, self._count) or not 0 <= taken <= len(order):
            raise ValueError("its epoch is not one of these rows")
        if len(order) and not 0 <= order.min() <= order.max() < rows:
            raise ValueError("its epoch has rows that do not exist")
        self.order, self.taken = order, taken


def rows_at(
    positions: NDArray[np.int64], ends: NDArray[np.float64], count: int
) -> NDArray[np.int64]:
    """Return the distinct row at each of `count` positions, of which a row has its weight.

    `ends` are the cumulative weights of the rows.
    """
    places = (positions + 0.5) * (ends[-1] / count)
    found: NDArray[np.int64] = np.minimum(np.searchsorted(ends, places), len(ends) - 1)
    return found
