"""Tables with the oddness of every row: a score, a p-value, and the odd cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spnc.common.observer import Progress
from spnc.data.cells import cell_text
from spnc.data.table import Table
from spnc.queries.anomaly import SAMPLES, OddCells, odd_cells, scores
from spnc.tables.asked_model import AskedModel
from spnc.tables.carried import Carried

ADDED = (".log_likelihood", ".p_value", ".odd_cells")
CELLS_SHOWN = 3
ODD = math.log(0.05)  # a cell is shown if it is this much less likely than the most probable value


@dataclass(frozen=True, eq=False)
class Judged:
    """A table with the oddness of its rows, and how many drawn rows each was compared with."""

    table: Carried
    impossible_rows: int
    compared: int


def judge(
    model: AskedModel,
    table: Table,
    carried: Carried,
    *,
    top: int | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> Judged:
    """Return the table with a score for every row or, with `top`, the oddest rows only.

    These come in order: first the smallest p-value, then the smallest log-likelihood.
    """
    engine, parameters = model.engine, model.parameters
    found = scores(engine, parameters, table, samples=samples, seed=seed, progress=progress)
    impossible = int((found.log_likelihoods == -np.inf).sum())
    rows = np.arange(table.rows)
    if top is not None:
        rows = np.lexsort((found.log_likelihoods, found.p_values))[:top]
        table, carried = table.take(rows), carried.taken(rows)
    odd = odd_cells(engine, parameters, table, CELLS_SHOWN, progress)
    reasons = np.empty(len(rows), dtype=object)
    values = table.values
    reasons[:] = [_reason(model, values, odd, row) for row in range(len(rows))]
    columns = (found.log_likelihoods[rows], found.p_values[rows], reasons)
    return Judged(carried.added(dict(zip(ADDED, columns, strict=True))), impossible, found.compared)


def _reason(model: AskedModel, values: np.ndarray, odd: OddCells, row: int) -> str:
    """Return the odd cells of a row in words, the oddest first; empty without any."""
    shown = []
    for i, expected, ratio in zip(
        odd.columns[row].tolist(),
        odd.expected[row].tolist(),
        odd.log_ratios[row].tolist(),
        strict=True,
    ):
        if i < 0 or not ratio < ODD:
            continue
        column = model.columns[i]
        unit = f" {column.unit}" if column.unit and column.kind != "date" else ""
        own = f"{column.name} = {cell_text(column, float(values[row, i]))}{unit}"
        chance = "impossible" if ratio == -math.inf else f"{math.exp(ratio):.2g} as likely"
        shown.append(f"{own} (expected {cell_text(column, expected)}, {chance})")
    return "; ".join(shown)
