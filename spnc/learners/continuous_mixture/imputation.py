"""Imputation of missing states by draws from a single tree.

The decoder is fitted to rows with all their states: only for these is the likelihood a product of
matrices. A missing state gets a draw from the tree's distribution given the known cells of its row,
numbers by their ranges. Missing numbers stay missing: they are leaves of the tree, so that leaving
them out of a row's likelihood is exact, and no draw adds noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.binning import Binning
from spnc.data.table import PIECE_CELLS, Cells, Table, code_type
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree

ROWS_AT_ONCE = 4096  # bounds memory


@dataclass(frozen=True, eq=False)
class Imputation:
    """Fills in missing states by draws from a tree with these tables.

    The tree is over all columns, and those of numbers have the states that `ranges` says.
    """

    tree: LogLinearTree
    tables: list[Floats]
    ranges: Binning | None = None  # None: there are no columns of numbers

    def complete(self, table: Table, rng: np.random.Generator) -> Table:
        """Return the same rows, with all states."""
        if self.ranges is None:
            return imputed(table, self.tree, self.tables, rng)
        states = np.array([start is None for start in self.ranges.starts])
        if table.complete_columns()[states].all():
            return table
        found = table.values.copy()
        filled = imputed(self.ranges.apply(table), self.tree, self.tables, rng)
        found[:, states] = filled.values[:, states]
        return Table(found, table.weights)

    def cells(self, table: Table, rows: NDArray[np.int64], rng: np.random.Generator) -> Cells:
        """Return rows of a table with all states, `[row, column]`: codes, or doubles."""
        kind: Any = code_type(int(self.tree.states.max()))
        found = np.empty((len(rows), table.width), kind if self.ranges is None else np.float64)
        step = max(1, PIECE_CELLS // table.width)
        for begin in range(0, len(rows), step):
            piece = table.take(rows[begin : begin + step])
            found[begin : begin + step] = self.complete(piece, rng).values
        return found


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
