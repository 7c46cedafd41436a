"""`LeafColumns`: what a table of leaves knows about the columns of its leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column, Scale
from spnc.data.warp import Warp

_DEFAULT = Scale()
_IDENTITY = Warp((0.0, 1.0), (0.0, 1.0))


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
    warps: tuple[Warp, ...]  # of different columns; linear ones where a column has none
    warp: Ints  # by leaf, the number of its column's warp among them

    @staticmethod
    def of(columns: Sequence[Column], variables: Ints) -> LeafColumns:
        """Return what is known about the column of every leaf, given by its number."""
        distinct, places = np.unique(variables, return_inverse=True)
        own = [columns[v] for v in distinct.tolist()]
        scales = [column.scale or _DEFAULT for column in own]
        names = ("resolution", "low", "high", "mean", "sd", "log_mean", "log_sd")
        arrays = {n: np.array([getattr(s, n) for s in scales], dtype=float) for n in names}
        is_count = np.array([column.kind == "count" for column in own], dtype=bool)
        numbers: dict[Warp, int] = {}
        by_column = [numbers.setdefault(_warp_of(column), len(numbers)) for column in own]
        warps, warp = tuple(numbers), np.array(by_column, dtype=np.int64)
        states = own[0].states if own else 0
        found = LeafColumns(states, is_count=is_count, warps=warps, warp=warp, **arrays)
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
            self.warps,
            self.warp[leaves],
        )

    @property
    def warps_by_leaf(self) -> tuple[Warp, ...]:
        """The warp of each leaf's column."""
        return tuple(self.warps[number] for number in self.warp.tolist())


def _warp_of(column: Column) -> Warp:
    """Return a column's warp; without one, the one that makes its mean 0 and its deviation 1."""
    if column.warp is not None:
        return column.warp
    if column.is_finite:
        return _IDENTITY
    scale = column.scale or _DEFAULT
    end = scale.mean + (scale.sd if scale.sd > 0.0 else 1.0)
    return Warp((scale.mean, end), (0.0, 1.0)) if end > scale.mean else _IDENTITY
