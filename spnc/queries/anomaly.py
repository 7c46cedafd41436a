"""How odd rows are: their log-likelihood, a p-value, and the cells that make them odd."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats, Ints
from spnc.common.observer import Progress
from spnc.common.rng import random_stream
from spnc.data.cells import rounded_values
from spnc.data.table import Table
from spnc.program.program import Parameters
from spnc.queries.leaf_weights import columns_given_rows, without
from spnc.queries.likely_rows import log_likelihood
from spnc.queries.sample import sample

SAMPLES = 10_000  # drawn rows that a row is compared with
FEWEST = 500  # of them where rows have many patterns of missing cells
BUDGET = 1 << 21  # drawn rows that are computed for all patterns together


@dataclass(frozen=True, eq=False)
class Scores:
    """Log-likelihood and p-value by row, and how many drawn rows each was compared with.

    The p-value is the probability that a row of the model, of which the same cells are known, is
    at most as likely. It is estimated as (1 + how many are) / (1 + drawn rows), so it never is
    zero and is valid for any number of drawn rows.
    """

    log_likelihoods: Floats
    p_values: Floats
    compared: int


def scores(
    engine: Engine,
    parameters: Parameters,
    table: Table,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> Scores:
    """Return how odd each row is.

    Rows with the same cells missing are compared with the same drawn rows, of which these cells
    are hidden. If there are many such patterns, fewer drawn rows are used, at least `FEWEST`.
    """
    values = table.values
    own = log_likelihood(engine, parameters, values)
    patterns, which = np.unique(np.isnan(values), axis=0, return_inverse=True)
    which = which.reshape(-1)
    count = min(samples, max(FEWEST, BUDGET // len(patterns)))
    drawn = _drawn(engine, parameters, count, seed)
    p_values = np.empty(len(values))
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(which == number)
        hidden = np.where(pattern, np.nan, drawn)
        usual = np.sort(log_likelihood(engine, parameters, hidden))
        # Equal rows may differ in the last digits, by the order in which terms are added.
        slack = 1e-9 * np.maximum(1.0, np.abs(np.nan_to_num(own[rows], neginf=0.0)))
        below = np.searchsorted(usual, own[rows] + slack, side="right")
        p_values[rows] = (1.0 + below) / (1.0 + count)
        if progress is not None:
            progress("patterns of missing cells", number + 1, len(patterns))
    return Scores(own, p_values, count)


def _drawn(engine: Engine, parameters: Parameters, count: int, seed: int) -> Floats:
    """Draw rows, rounded as a table holds them unless that would make a row impossible."""
    program = engine.program
    drawn = sample(program, parameters, count, random_stream(seed, "anomalies"))
    rounded = np.column_stack(
        [rounded_values(column, drawn[:, i]) for i, column in enumerate(program.columns)]
    )
    possible = log_likelihood(engine, parameters, rounded) > -np.inf
    return np.where(possible[:, None], rounded, drawn)


@dataclass(frozen=True, eq=False)
class OddCells:
    """The oddest cells of each row, the oddest first, all arrays `[row, place]`.

    `columns` is -1 where a row has fewer known cells; `expected` is the most probable value of the
    cell, given the rest of the row. `log_ratios` say how much less likely the cell is than that:
    a logarithm, zero for the most probable value, comparable between columns of any unit. They are
    NaN where the rest of the row is impossible by itself.
    """

    columns: Ints
    expected: Floats
    log_ratios: Floats


def odd_cells(
    engine: Engine,
    parameters: Parameters,
    table: Table,
    places: int,
    progress: Progress | None = None,
) -> OddCells:
    """Return the oddest cells of each row, at most `places` of them."""
    program, values = engine.program, table.values
    ratios = np.full(values.shape, np.nan)
    expected = np.full(values.shape, np.nan)
    for i, column in enumerate(program.columns):
        rows = np.flatnonzero(~np.isnan(values[:, i]))
        rest = without(table.take(rows), [i])
        for piece, found in columns_given_rows(engine, parameters, rest, [i]):
            at, given = rows[piece], found[i]
            mode = given.mode()
            if column.is_finite:
                chances = given.probabilities()
                each = np.arange(len(at))
                own = chances[each, values[at, i].astype(np.int64)]
                best = chances[each, np.nan_to_num(mode).astype(np.int64)]
            else:
                own, best = given.density(values[at, i]), given.density(np.nan_to_num(mode))
            with np.errstate(divide="ignore", invalid="ignore"):
                # At most zero: a search for the mode may miss a value that is slightly better.
                ratios[at, i] = np.minimum(np.log(own) - np.log(best), 0.0)
            expected[at, i] = mode
        if progress is not None:
            progress("columns", i + 1, len(program.columns))
    order = np.argsort(np.where(np.isnan(ratios), np.inf, ratios), axis=1, kind="stable")
    chosen = order[:, :places]
    known = ~np.isnan(np.take_along_axis(values, chosen, axis=1))
    return OddCells(
        np.where(known, chosen, -1).astype(np.int64),
        np.take_along_axis(expected, chosen, axis=1),
        np.take_along_axis(ratios, chosen, axis=1),
    )
