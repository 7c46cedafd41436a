"""Joint counts of the states of some columns with those of others, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints

_LEAST = 1e-290  # a product of two probabilities below it loses digits


@dataclass(frozen=True, eq=False)
class Crossing:
    """Joint counts of the states of some columns with those of others, `[state, other state]`.

    The states of the columns are numbered consecutively; `offsets` says where those of each column
    begin, and where the last ones end.
    """

    counts: Floats
    offsets: Ints  # of the columns whose states are rows of the matrix
    others: Ints  # of the columns whose states are columns of the matrix

    @cached_property
    def by_state(self) -> Floats:
        """The weight of the rows with a state and any of another column's, `[state, column]`."""
        return by_column(self.counts, self.others, 1)

    @cached_property
    def by_other(self) -> Floats:
        """The weight of the rows with another column's state, `[column, other state]`."""
        return by_column(self.counts, self.offsets, 0)

    @cached_property
    def totals(self) -> Floats:
        """The weight of the rows that have the values of both columns, by pair of columns."""
        return by_column(self.by_other, self.others, 1)

    @cached_property
    def degrees(self) -> Floats:
        """The degrees of freedom of each pair of columns, of the states that occur."""
        own = by_column((self.by_state > 0.0).astype(np.float64), self.offsets, 0)
        other = by_column((self.by_other > 0.0).astype(np.float64), self.others, 1)
        found: Floats = np.maximum(own - 1.0, 0.0) * np.maximum(other - 1.0, 0.0)
        return found

    def probabilities(self, alpha: float) -> Crossing:
        """Return joint probabilities per pair of columns, with `alpha` added to every count.

        A pair without any weight gets a uniform distribution.
        """
        cells = np.outer(np.diff(self.offsets), np.diff(self.others))
        totals = self.totals + alpha * cells
        empty = totals <= 0.0
        added: Any = alpha
        if empty.any():
            totals[empty] = cells[empty]
            added = self._by_pair(np.where(empty, 1.0, alpha))
        found = self.counts + added
        found *= self._by_pair(1.0 / totals)
        return Crossing(found, self.offsets, self.others)

    def _by_pair(self, values: Floats) -> Floats:
        """Repeat a value per pair of columns for every pair of their states."""
        return by_states(by_states(values, self.offsets, 0), self.others, 1)

    def information(self) -> Floats:
        """Return the mutual information of every two columns, if the counts are probabilities."""
        joint = self.counts
        rows = by_states(self.by_state, self.others, 1)
        columns = by_states(self.by_other, self.offsets, 0)
        apart = rows * columns
        some = joint > 0.0
        least = [s.min(initial=1.0, where=s > 0.0) for s in (self.by_state, self.by_other)]
        if least[0] * least[1] < _LEAST:
            low = some & (apart < _LEAST)
            cells = _information_of(joint, apart, some & ~low)
            logs = np.log(joint[low]) - np.log(rows[low]) - np.log(columns[low])
            cells[low] = joint[low] * logs
        else:
            cells = _information_of(joint, apart, some)
        found = by_column(by_column(cells, self.offsets, 0), self.others, 1)
        return np.maximum(found, 0.0, out=found)


def _information_of(joint: Floats, apart: Floats, where: NDArray[np.bool_]) -> Floats:
    """Return p · log(p / q), where q is the probability if columns were independent; else 0."""
    ratio = np.divide(joint, apart, out=np.ones_like(joint), where=where)
    found: Floats = joint * np.log(ratio)
    return found


def by_column(values: Floats, offsets: Ints, axis: int) -> Floats:
    """Add up the values of each column's states, which lie along this axis."""
    if (np.diff(offsets) == 2).all():  # the same, but much faster
        return values[::2] + values[1::2] if axis == 0 else values[:, ::2] + values[:, 1::2]
    found: Floats = np.add.reduceat(values, offsets[:-1], axis)
    return found


def by_states(values: Floats, offsets: Ints, axis: int) -> Floats:
    """Repeat the values of each column, along this axis, for each of its states."""
    sizes = np.diff(offsets)
    binary = bool((sizes == 2).all())
    return np.repeat(values, 2, axis) if binary else np.repeat(values, sizes, axis)
