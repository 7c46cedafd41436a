"""Imputation of missing cells by draws from a single tree.

The decoder is fitted to complete rows: only for these is the likelihood a product of matrices.
A missing cell gets a draw from the tree's distribution given the known cells of its row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.table import Table
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree

ROWS_AT_ONCE = 4096  # bounds memory


def imputed(
    table: Table, tree: LogLinearTree, tables: list[Floats], rng: np.random.Generator
) -> Table:
    """Return the same rows, complete. `tables[column]` is `[state of the parent, state]`."""
    if table.complete_columns().all():
        return table
    complete = table.values.copy()
    holes = np.isnan(complete)
    rows = np.flatnonzero(holes.any(axis=1))
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[begin : begin + ROWS_AT_ONCE]
        draws = _draws(complete[part], tree, tables, rng)
        complete[part] = np.where(holes[part], draws, complete[part])
    return Table(complete, table.weights)


def _draws(
    values: Floats, tree: LogLinearTree, tables: list[Floats], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw a state of every column for these rows, given their known cells."""
    missing = np.isnan(values)
    below: list[Floats] = []  # likelihood of the known cells below a state, [row, state]
    for column, states in enumerate(tree.states.tolist()):
        known = values[:, column, None] == np.arange(states)
        below.append(np.where(missing[:, column, None], 1.0, known))
    for column in reversed(tree.order):
        parent = int(tree.parents[column])
        if parent >= 0:
            below[parent] = below[parent] * (below[column] @ tables[column].T)
            below[parent] /= below[parent].max(axis=1, keepdims=True)
    codes = np.zeros(values.shape, dtype=np.int64)
    for column in tree.order:
        parent = int(tree.parents[column])
        given = codes[:, parent] if parent >= 0 else np.zeros(len(values), dtype=np.int64)
        ends = np.cumsum(tables[column][given] * below[column], axis=1)
        draws = rng.random(len(values)) * ends[:, -1]
        codes[:, column] = np.minimum((draws[:, None] >= ends).sum(axis=1), ends.shape[1] - 1)
    return codes
