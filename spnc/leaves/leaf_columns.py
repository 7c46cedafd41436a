"""`LeafColumns`: what a table of leaves knows about the columns of its leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column, Scale

_DEFAULT = Scale()


@dataclass(frozen=True, eq=False)
class LeafColumns:
    """The columns of several leaves: one entry per leaf, as in `spnc.data.columns.Scale`.

    All leaves of a table are over columns with the same number of states; it is 0 for numbers.
    """

    states: int
    resolution: Floats
    low: Floats
    high: Floats
    mean: Floats
    sd: Floats
    log_mean: Floats
    log_sd: Floats
    is_count: NDArray[np.bool_]  # whether the column holds whole numbers from 0

    @staticmethod
    def of(columns: Sequence[Column], variables: Ints) -> LeafColumns:
        """Return what is known about the column of every leaf, given by its number."""
        distinct, places = np.unique(variables, return_inverse=True)
        own = [columns[v] for v in distinct.tolist()]
        scales = [column.scale or _DEFAULT for column in own]
        names = ("resolution", "low", "high", "mean", "sd", "log_mean", "log_sd")
        arrays = {n: np.array([getattr(s, n) for s in scales], dtype=float) for n in names}
        is_count = np.array([column.kind == "count" for column in own], dtype=bool)
        found = LeafColumns(own[0].states if own else 0, is_count=is_count, **arrays)
        return found.take(places.reshape(-1))

    def __len__(self) -> int:
        return len(self.resolution)

    def take(self, leaves: NDArray[np.integer] | slice) -> LeafColumns:
        """Return what is known about some of the leaves."""
        return LeafColumns(
            self.states,
            self.resolution[leaves],
            self.low[leaves],
            self.high[leaves],
            self.mean[leaves],
            self.sd[leaves],
            self.log_mean[leaves],
            self.log_sd[leaves],
            self.is_count[leaves],
        )
