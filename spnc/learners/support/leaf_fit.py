"""Leaves fitted to slices of data, with the same smoothing as in EM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.learners.support.leaf_choice import LeafModel, LeafOptions, penalised, start_of
from spnc.learners.support.point_masses import point_values, with_points
from spnc.leaves import Distribution
from spnc.leaves.fitting import fit_table
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.smoothing import Smoothing

Indices = NDArray[np.intp]
_CELLS_AT_ONCE = 1 << 20  # bounds the memory of fitting


class DataSlice(NamedTuple):
    """A slice of the training data: some rows and some columns, by index."""

    rows: Indices
    columns: Indices
    weight: float  # the total weight of the rows


def fit_leaves(
    columns: Sequence[Column],
    table: Table,
    slices: Sequence[DataSlice],
    prior: Smoothing,
    options: LeafOptions,
) -> Iterator[list[LeafModel]]:
    """Return for every slice one model per column, fitted to the slice's rows.

    Leaves over the same number of rows and the same type of column are fitted together. This makes
    many small slices cheap, since few different numbers of rows occur.
    """
    heights = np.array([len(part.rows) for part in slices], dtype=np.intp)
    widths = np.array([len(part.columns) for part in slices], dtype=np.intp)
    rows = np.concatenate([part.rows for part in slices])
    starts = np.cumsum(heights) - heights  # where each slice's rows begin
    # From here on, arrays are by leaf: its column, the number and start of its rows, its type.
    variables = np.concatenate([part.columns for part in slices])
    sizes, begins = np.repeat(heights, widths), np.repeat(starts, widths)
    types = _column_types(columns, table, options)
    type_of = np.empty(len(columns), dtype=np.intp)
    for number, one in enumerate(types):
        type_of[one.members] = number
    points = point_values(columns, table, options)
    found: list[LeafModel] = [None] * len(variables)  # type: ignore[list-item]
    for number, size, members in _alike(type_of[variables], sizes):
        own = variables[members]
        cells = rows[begins[members, None] + np.arange(size)]
        values, weights = table.at(cells, own[:, None]), table.weights[cells]
        shared = [points.get(v) for v in own.tolist()]
        made = with_points(columns, own, shared, values, weights, prior.weights)
        leaves = types[number].fit(own, values, made.rest, prior.leaves)
        held = np.where(np.isnan(values), 0.0, made.rest).sum(axis=1)
        fitted = [
            LeafModel.of(leaf, columns[v], rows_held, prior.leaves)
            for leaf, v, rows_held in zip(leaves, own.tolist(), held.tolist(), strict=True)
        ]
        for member, model in zip(members.tolist(), made.models(fitted), strict=True):
            found[member] = model
    each = iter(found)
    return (list(islice(each, width)) for width in widths.tolist())


def _column_types(
    columns: Sequence[Column], table: Table, options: LeafOptions
) -> list[_ColumnType]:
    """Put columns together whose leaves can be fitted together.

    They have the same number of states, and their leaves the same number of parameters: histograms
    of two columns may have different numbers of bins.
    """
    found: dict[object, list[tuple[int, list[Floats]]]] = {}
    for i, column in enumerate(columns):
        kinds = options.candidates(column)
        starts = [start_of(kind, columns, table, i) for kind in kinds]
        alike = column.states, kinds, tuple(map(len, starts))
        found.setdefault(alike, []).append((i, starts))
    return [_ColumnType(columns, options, members) for members in found.values()]


class _ColumnType:
    """Columns with the same states and candidates; what is known about them is put together.

    `members` are their numbers, each with the parameters that fitting its candidates begins with.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        options: LeafOptions,
        members: Sequence[tuple[int, list[Floats]]],
    ) -> None:
        self.members = np.array([i for i, _ in members], dtype=np.intp)
        self._kinds = options.candidates(columns[members[0][0]])
        self._place = np.zeros(len(columns), dtype=np.intp)
        self._place[self.members] = np.arange(len(members))
        self._known = LeafColumns.of(columns, self.members)
        by_kind = zip(*(starts for _, starts in members), strict=True)
        self._starts = [np.array(starts) for starts in by_kind]

    def fit(
        self, variables: Indices, values: Floats, weights: Floats, alpha: float
    ) -> list[Distribution]:
        """Return the best leaf over each of these columns, for `values` and `weights`."""
        place = self._place[variables]
        known = self._known.take(place)
        best: list[Distribution] = []
        scores = np.full(len(variables), -np.inf)
        for kind, start in zip(self._kinds, self._starts, strict=True):
            table = fit_table(kind, start[place], known, values, weights, alpha)
            if not best:
                best = [kind.from_row(row) for row in table]
            if len(self._kinds) > 1:
                own = penalised(kind, table, known, values, weights)
                for i in np.flatnonzero(own > scores).tolist():
                    best[i] = kind.from_row(table[i])
                scores = np.maximum(scores, own)
        return best


def _alike(kinds: Indices, sizes: Indices) -> Iterator[tuple[int, int, Indices]]:
    """Yield groups of leaves with the same type and number of rows, of bounded size."""
    order = np.lexsort((sizes, kinds))
    changes = np.flatnonzero(np.diff(kinds[order]) | np.diff(sizes[order])) + 1
    for members in np.split(order, changes):
        size = int(sizes[members[0]])
        step = max(1, _CELLS_AT_ONCE // max(1, size))
        for i in range(0, len(members), step):
            yield int(kinds[members[0]]), size, members[i : i + step]
