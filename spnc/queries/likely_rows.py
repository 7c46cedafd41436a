"""The most probable missing cells of every row, taken together.

Rows whose missing cells have few joint states are compared state by state, which is exact. The
others are searched: from several starts, one cell after the other is replaced by its most probable
value given all other cells, while that raises the probability of the row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spnc.backends import Engine
from spnc.common.arrays import Floats, Ints
from spnc.common.observer import Progress
from spnc.common.rng import random_stream
from spnc.data.table import PIECE_CELLS, Table
from spnc.program.program import Parameters
from spnc.queries.column_given_rows import Mask
from spnc.queries.complete import complete
from spnc.queries.leaf_weights import columns_given_rows, without

ENUMERATED = 1 << 10  # joint states of a row's missing cells up to which all are compared
STARTS = 4  # drawn rows from which a search starts, besides the most probable single cells
ROUNDS = 20  # of replacing every missing cell; a search mostly ends after three


@dataclass(frozen=True, eq=False)
class LikelyRows:
    """Rows without missing cells; `exact` says of which it is proved that none is more probable.

    Impossible rows keep their missing cells.
    """

    cells: Floats
    exact: Mask


def likely_rows(
    engine: Engine,
    parameters: Parameters,
    table: Table,
    columns: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> LikelyRows:
    """Return the most probable completion of each row. The same table gives the same rows.

    With `columns`, only missing cells of these columns are filled; all others are summed out.
    """
    values = table.values.copy()
    wanted = np.isin(
        np.arange(table.width), list(range(table.width) if columns is None else columns)
    )
    exact = np.zeros(len(values), dtype=np.bool_)
    searched: list[Ints] = []
    patterns, which = np.unique(np.isnan(values) & wanted, axis=0, return_inverse=True)
    which = which.reshape(-1)
    done = 0
    for number, pattern in enumerate(patterns):
        rows, asked = np.flatnonzero(which == number), np.flatnonzero(pattern)
        own = [engine.program.columns[i] for i in asked.tolist()]
        states = math.prod(column.states for column in own)
        if all(column.is_finite for column in own) and states <= ENUMERATED:
            values[rows] = _enumerated(engine, parameters, values[rows], asked)
            exact[rows] = True
        else:
            searched.append(rows)
        done += len(rows)
        if progress is not None:
            progress("rows", done, len(values))
    if searched:
        rows = np.sort(np.concatenate(searched))
        values[rows] = _searched(engine, parameters, values[rows], wanted, progress)
    return LikelyRows(values, exact)


def log_likelihood(engine: Engine, parameters: Parameters, values: Floats) -> Floats:
    """Return log p of rows, computed in pieces."""
    pieces = [
        engine.log_likelihood(parameters, engine.load(piece, once=True))
        for piece in Table(values).pieces()
    ]
    return np.concatenate([np.empty(0), *pieces])


def _enumerated(engine: Engine, parameters: Parameters, values: Floats, columns: Ints) -> Floats:
    """Return rows with the best of all joint states of some columns."""
    if not len(columns):
        return values
    sizes = [range(engine.program.columns[i].states) for i in columns.tolist()]
    states = np.array(list(itertools.product(*sizes)), dtype=np.float64)
    found = values.copy()
    step = max(1, PIECE_CELLS // (len(states) * values.shape[1]))
    for begin in range(0, len(values), step):
        part = values[begin : begin + step]
        every = np.repeat(part, len(states), axis=0)
        every[:, columns] = np.tile(states, (len(part), 1))
        chances = log_likelihood(engine, parameters, every).reshape(len(part), len(states))
        possible = np.flatnonzero(chances.max(axis=1) > -np.inf)
        best = states[np.argmax(chances[possible], axis=1)]
        found[np.ix_(begin + possible, columns)] = best
    return found


def _searched(
    engine: Engine,
    parameters: Parameters,
    values: Floats,
    wanted: Mask,
    progress: Progress | None,
) -> Floats:
    """Return the best rows of searches from several starts."""
    missing = np.isnan(values) & wanted
    best, top = values, np.full(len(values), -np.inf)
    rng = random_stream(0, "likely rows")
    for start in range(1 + STARTS):
        if start == 0:
            begun = _single_modes(engine, parameters, values, missing)
        else:
            drawn = complete(engine, parameters, Table(values), rng)
            begun = np.where(missing, drawn, values)
        found, own = _improved(engine, parameters, begun, missing)
        better = own > top
        best, top = np.where(better[:, None], found, best), np.where(better, own, top)
        if progress is not None:
            progress("searches", start + 1, 1 + STARTS)
    return best


def _single_modes(engine: Engine, parameters: Parameters, values: Floats, missing: Mask) -> Floats:
    """Return rows with every missing cell at its own most probable value."""
    found = values.copy()
    columns = np.flatnonzero(missing.any(axis=0)).tolist()
    for rows, given in columns_given_rows(engine, parameters, Table(values), columns):
        for i in columns:
            part = found[rows, i]
            found[rows, i] = np.where(missing[rows, i], given[i].mode(), part)
    return found


def _improved(
    engine: Engine, parameters: Parameters, values: Floats, missing: Mask
) -> tuple[Floats, Floats]:
    """Return rows after replacing cells while that helps, and their log probabilities."""
    found = values.copy()
    top = log_likelihood(engine, parameters, found)
    active = np.flatnonzero(~(missing & np.isnan(found)).any(axis=1))
    for _ in range(ROUNDS):
        changed = np.zeros(len(found), dtype=np.bool_)
        for i in np.flatnonzero(missing[active].any(axis=0)).tolist():
            rows = active[missing[active, i]]
            rest = without(Table(found[rows]), [i])
            tried = found[rows].copy()
            for piece, given in columns_given_rows(engine, parameters, rest, [i]):
                tried[piece, i] = given[i].mode()
            tried[np.isnan(tried[:, i]), i] = found[rows, i][np.isnan(tried[:, i])]
            own = log_likelihood(engine, parameters, tried)
            better = own > top[rows]
            found[rows[better]], top[rows[better]] = tried[better], own[better]
            changed[rows[better]] = True
        active = np.flatnonzero(changed)
        if not len(active):
            break
    return found, top
