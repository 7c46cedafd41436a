"""How much a model expected each cell of a row, given the rest of the row."""

from __future__ import annotations

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.common.observer import Progress
from spnc.data.dataset import PIECE_CELLS, Table
from spnc.program.program import Parameters

WIDE = 64  # of so many columns, a row's flow costs less than a query for each of its cells


def cell_log_probabilities(
    engine: Engine, parameters: Parameters, values: Floats, progress: Progress | None = None
) -> Floats:
    """log p(cell | all other cells of its row), `[row, column]`; NaN where the cell is missing.

    Exact. A cell that the rest of its row makes impossible has minus infinity; where the rest is
    impossible already there is no answer, and it is NaN as well.
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
    """All cells of a row from one pass; None if some leaf gives one of them no chance at all.

    Of leaf l over column i, the flow F(l) is its share of p(row). Without the cell the leaf's
    value is one, which makes that share larger by 1 / p(cell | l): so the sum of F(l) / p(cell | l)
    over the column's leaves is p(rest) / p(row). A leaf of no chance has no flow to tell by.
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
        chances = leaf.kind.probabilities(table, leaf.states)[at, states]
        if (chances[known[leaf.variables]] == 0.0).any():
            return None
        flows = np.divide(own[at, states], chances, out=np.zeros(len(leaf)), where=chances > 0.0)
        ratio += np.bincount(leaf.variables, weights=flows, minlength=len(row))
    found = np.full(len(row), np.nan)
    found[known] = -np.log(np.maximum(ratio[known], 1.0))  # rounding aside, it is
    return found


def _by_queries(
    engine: Engine, parameters: Parameters, values: Floats, progress: Progress | None
) -> Floats:
    """log p(row) less log p(row without the cell), one query for each cell."""
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
        found[begin + row, column] = np.minimum(own, 0.0)  # rounding aside, it is
        if progress is not None:
            progress("rows", min(begin + step, rows), rows)
    return found
