"""The conditional probability of each cell of a row, given the rest of the row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.common.observer import Progress
from spnc.data.table import PIECE_CELLS, Table
from spnc.leaves.finite import as_finite
from spnc.program.program import Parameters, Program
from spnc.queries.flows import node_flows

WIDE = 64  # columns from which on one flow pass per row is cheaper than a query for every cell
LEAST_DENSITY = 1e-200  # below, and above its inverse, shares may leave the range of doubles


def cell_log_probabilities(
    engine: Engine, parameters: Parameters, values: Floats, progress: Progress | None = None
) -> Floats:
    """Return log p(cell | all other cells of its row), `[row, column]`, exactly.

    It is a log density, in the column's units, where the column is numeric.
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
    """Compute all cells of a row in one pass; None if some leaf's part in that would be lost.

    The flow F(l) of a leaf l over the cell's column is the leaf's share of p(row). Without the cell
    the leaf's value would be one instead of p(cell | l), and its share larger by 1 / p(cell | l).
    So F(l) / p(cell | l), summed over the column's leaves, is p(rest) / p(row). A leaf that makes
    the cell impossible, or so improbable that no flow is left, has a share that is not recovered.
    """
    program = engine.program
    counts = engine.expected_counts(parameters, engine.load(Table(row[None]), once=True))
    if counts.score.possible == 0.0:
        return None
    known = ~np.isnan(row)
    codes = np.where(known, row, 0)
    through = node_flows(program, counts)
    ratio = np.zeros(len(row))
    for leaf, table, own in zip(program.leaves, parameters.tables, counts.tables, strict=True):
        at, cells = np.arange(len(leaf)), leaf.variables
        if leaf.kind.is_finite:
            states = codes[cells].astype(np.int64)
            chances = as_finite(leaf.kind).probabilities(table, leaf.states)[at, states]
            flow = own[at, states]
            lost = chances == 0.0
        else:
            chances = np.exp(leaf.kind.log_density(table, row[cells, None], leaf.columns)[:, 0])
            flow = through[leaf.first : leaf.last]
            lost = (chances < LEAST_DENSITY) | (chances > 1.0 / LEAST_DENSITY) | (flow == 0.0)
        if lost[known[cells]].any():
            return None
        shares = np.divide(flow, chances, out=np.zeros(len(leaf)), where=chances > 0.0)
        ratio += np.bincount(cells, weights=shares, minlength=len(row))
    found = np.full(len(row), np.nan)
    found[known] = _bounded(-np.log(ratio[known]), _is_finite(program)[known])
    return found


def _is_finite(program: Program) -> NDArray[np.bool_]:
    return np.array([column.is_finite for column in program.columns])


def _bounded(logs: Floats, finite: NDArray[np.bool_]) -> Floats:
    """Return log probabilities of finite columns as at most 0, which only rounding can violate.

    The densities of numeric columns have no bound.
    """
    return np.where(finite, np.minimum(logs, 0.0), logs)


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
        found[begin + row, column] = _bounded(own, _is_finite(engine.program)[column])
        if progress is not None:
            progress("rows", min(begin + step, rows), rows)
    return found
