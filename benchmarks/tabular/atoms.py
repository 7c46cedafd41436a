"""Independent columns with a box of one resolution on every value that repeats in training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.common.density_tables import DensityTable
from benchmarks.common.hidden_tables import Floats
from benchmarks.tabular.marginals import (
    Independent,
    Marginal,
    best,
    independent,
    known_cells,
    real_marginals,
)

# Shares of the smooth part that are compared on validation rows; with 1 there are no boxes.
SMOOTH = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0)
FEW = 20  # with fewer values that do not repeat, these alone are no basis for a smooth part


@dataclass(frozen=True, eq=False)
class Atoms:
    """A mixture of boxes around values, in increasing order, and of a smooth density."""

    values: Floats
    chances: Floats  # of the boxes, together 1
    width: float
    smooth: Marginal
    share: float  # of the smooth density

    def density(self, values: Floats) -> Floats:
        """Return the density at each value."""
        below = np.concatenate([[0.0], np.cumsum(self.chances)])
        first = np.searchsorted(self.values, values - self.width / 2, side="left")
        last = np.searchsorted(self.values, values + self.width / 2, side="right")
        boxes = (below[last] - below[first]) / self.width
        found: Floats = (1 - self.share) * boxes + self.share * self.smooth.density(values)
        return found


def atoms(table: DensityTable) -> Independent:
    """Return independent columns with atoms in the real ones."""
    return independent(table, _with_atoms)


def _with_atoms(table: DensityTable, place: int) -> Marginal:
    width = float(table.resolution[place])
    plain = known_cells(table.plain["train"], place)
    train, valid = (known_cells(table.dequantised[s], place) for s in ("train", "valid"))
    values, inverse, counts = np.unique(plain, return_inverse=True, return_counts=True)
    repeats = counts > 1
    smooth = real_marginals(train, width)
    single = train[~repeats[inverse]]
    if len(single) >= FEW:
        smooth += real_marginals(single, width)
    if not repeats.any():
        return best(smooth, valid)
    boxes = counts[repeats] / counts[repeats].sum()
    candidates: list[Marginal] = [
        Atoms(values[repeats], boxes, width, each, share) for each in smooth for share in SMOOTH
    ]
    return best(candidates, valid)
