"""Missing cells filled in by chance, as a single tree would have them.

The decoder is fitted to complete rows: only for these the likelihood is a product of matrices.
A missing cell gets a draw from the tree given all known cells of its row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.dataset import Table
from spnc.learners.continuous_mixture.cells import Cells

ROWS_AT_ONCE = 4096


def filled(table: Table, cells: Cells, tables: list[Floats], rng: np.random.Generator) -> Table:
    """The same rows, complete; `tables[column][state of the parent, state]`, as in `cells`."""
    holes = np.isnan(table.values)
    rows = np.flatnonzero(holes.any(axis=1))
    if len(rows) == 0:
        return table
    complete = table.values.copy()
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[begin : begin + ROWS_AT_ONCE]
        draws = _draws(table.values[part], cells, tables, rng)
        complete[part] = np.where(holes[part], draws, table.values[part])
    return Table(complete, table.weights)


def _draws(
    values: Floats, cells: Cells, tables: list[Floats], rng: np.random.Generator
) -> NDArray[np.int64]:
    """A state of every column for these rows, given what is known of them."""
    missing = np.isnan(values)
    below: list[Floats] = []  # how likely a state makes what is known below it, [row, state]
    for column, states in enumerate(cells.states.tolist()):
        known = values[:, column, None] == np.arange(states)
        below.append(np.where(missing[:, column, None], 1.0, known))
    for column in reversed(cells.order):
        parent = int(cells.parents[column])
        if parent >= 0:
            below[parent] = below[parent] * (below[column] @ tables[column].T)
            below[parent] /= below[parent].max(axis=1, keepdims=True)
    codes = np.zeros(values.shape, dtype=np.int64)
    for column in cells.order:
        parent = int(cells.parents[column])
        given = codes[:, parent] if parent >= 0 else np.zeros(len(values), dtype=np.int64)
        ends = np.cumsum(tables[column][given] * below[column], axis=1)
        draws = rng.random(len(values)) * ends[:, -1]
        codes[:, column] = np.minimum((draws[:, None] >= ends).sum(axis=1), ends.shape[1] - 1)
    return codes
