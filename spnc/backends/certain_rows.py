"""Log-likelihoods of rows that are certain: exactly 0, not a rounding error away from it.

The weights of a sum add up to one only up to rounding, so a row without known cells may come out as
1e-16 above or below zero. Its probability is one by definition. For the same reason, a row whose
known cells have probabilities, not densities, is never more probable than that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.data.table import Table
from spnc.leaves.smoothing import SUM_TOLERANCE
from spnc.program.program import Program

_COLUMNS_AT_ONCE = 64  # of the rows that are looked at; most have a known cell among the first


def settle(
    program: Program,
    table: Table,
    found: Floats,
    order: NDArray[np.intp] | None = None,
    tolerance: float = SUM_TOLERANCE,
) -> None:
    """Set the log-likelihoods of certain rows to 0, in place.

    `found[i]` is that of the row order[i], or i. Only what a valid circuit may differ by is
    changed: `tolerance` for each of its nodes. So a circuit whose weights are wrong is not hidden.
    """
    near = np.flatnonzero(np.abs(found) <= tolerance * program.nodes)
    near = near[found[near] != 0.0]
    if len(near) == 0:
        return
    rows = near if order is None else order[near]
    found[near[_unknown(table, rows, np.arange(table.width))]] = 0.0
    above = found[near] > 0.0
    if above.any():
        dense = [i for i, column in enumerate(program.columns) if column.kind in ("real", "date")]
        above[above] = _unknown(table, rows[above], np.array(dense, dtype=np.intp))
        found[near[above]] = 0.0


def _unknown(table: Table, rows: Ints, columns: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which of these rows have no known cell in these columns."""
    left = np.arange(len(rows))
    for start in range(0, len(columns), _COLUMNS_AT_ONCE):
        cells = table.at(rows[left, None], columns[None, start : start + _COLUMNS_AT_ONCE])
        left = left[np.isnan(cells).all(axis=1)]
    found = np.zeros(len(rows), dtype=np.bool_)
    found[left] = True
    return found
