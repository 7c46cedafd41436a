"""The conditional probability of each cell of a row, given the rest of the row."""

from __future__ import annotations

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.common.observer import Progress
from spnc.data.dataset import PIECE_CELLS, Table
from spnc.leaves.finite import as_finite
from spnc.program.program import Parameters

WIDE = 64  # columns from which on one flow pass per row is cheaper than a query for every cell


def cell_log_probabilities(
    engine: Engine, parameters: Parameters, values: Floats, progress: Progress | None = None
) -> Floats:
    """Return log p(cell | all other cells of its row), `[row, column]`, exactly.

    Minus infinity where the rest of the row makes the cell impossible; NaN where the cell is
    missing, or where the rest of the row is impossible by itself.
    """
    found = np.full(values.shape, np.nan)
    asking = np.ones(len(values), dtype=bool)
    if values.shape[1] >= WIDE:
        for r, row in enumerate(values):
            own = _by_flow(engine, parameters, row)
            if own is not None:
                found[r], asking[r] = own, False
            if progress is not None:
                progress("rows", r + 1, len(values))
    if asking.any():
        found[asking] = _by_queries(engine, parameters, values[asking], progress)
    return found


def _by_flow(engine: Engine, parameters: Parameters, row: Floats) -> Floats | None:
    """Compute all cells of a row in one pass; None if some leaf gives a cell probability zero.

    The flow F(l) of a leaf l over the cell's column is the leaf's share of p(row). Without the cell
    the leaf's value would be one instead of p(cell | l), and its share larger by 1 / p(cell | l).
    So F(l) / p(cell | l), summed over the column's leaves, is p(rest) / p(row). A leaf with
    probability zero has no flow, and its share cannot be recovered.
    """
    program = engine.program
    counts = engine.expected_counts(parameters, engine.load(Table(row[None]), once=True))
    if counts.score.possible == 0.0:
        return None
    known = ~np.isnan(row)
    codes = np.where(known, row, 0).astype(np.int64)
    ratio = np.zeros(len(row))
    for leaf, table, own in zip(program.leaves, parameters.tables, counts.tables, strict=True):
        states = codes[leaf.variables]
        at = np.arange(len(leaf))
        chances = as_finite(leaf.kind).probabilities(table, leaf.states)[at, states]
        if (chances[known[leaf.variables]] == 0.0).any():
            return None
        flows = np.divide(own[at, states], chances, out=np.zeros(len(leaf)), where=chances > 0.0)
        ratio += np.bincount(leaf.variables, weights=flows, minlength=len(row))
    found = np.full(len(row), np.nan)
    found[known] = -np.log(np.maximum(ratio[known], 1.0))  # only rounding can violate the bound
    return found


def _by_queries(
    engine: Engine, parameters: Parameters, values: Floats, progress: Progress | None
) -> Floats:
    """Compute log p(row) - log p(row without the cell), with one query for each cell."""
    rows, columns = values.shape
    whole = engine.log_likelihood(parameters, engine.load(Table(values), once=True))
    found = np.full(values.shape, np.nan)
    step = max(1, PIECE_CELLS // max(1, columns * columns))
    for begin in range(0, rows, step):
        part = values[begin : begin + step]
        row, column = np.nonzero(~np.isnan(part))
        asked = part[row]
        asked[np.arange(len(row)), column] = np.nan
        rest = engine.log_likelihood(parameters, engine.load(Table(asked), once=True))
        possible = rest > -np.inf
        own = np.full(len(row), np.nan)
        own[possible] = whole[begin + row[possible]] - rest[possible]
        found[begin + row, column] = np.minimum(own, 0.0)  # only rounding can violate the bound
        if progress is not None:
            progress("rows", min(begin + step, rows), rows)
    return found
