"""Leaves fitted to slices of data, with the same smoothing as in EM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.data.dataset import Table
from spnc.leaves import Distribution
from spnc.leaves.fitting import fit_table
from spnc.leaves.leaf_columns import LeafColumns
from spnc.registry import LEAVES

Indices = NDArray[np.intp]
_CELLS_AT_ONCE = 1 << 20  # bounds the memory of fitting


class DataSlice(NamedTuple):
    """A slice of the training data: some rows and some columns, by index."""

    rows: Indices
    columns: Indices
    weight: float  # the total weight of the rows


@cache
def leaf_class(kind: ColumnKind) -> type[Distribution]:
    """Return the leaf that learners use for a kind of column: the first whose main kind it is.

    Leaves from outside are never chosen: installing a package must not change other recipes.
    """
    return next(c for c in LEAVES.builtin.values() if c.kinds[0] == kind)


def fit_leaves(
    columns: Sequence[Column], table: Table, slices: Sequence[DataSlice], alpha: float
) -> Iterator[list[Distribution]]:
    """Return for every slice one leaf per column, fitted to the slice's rows.

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
    types = list(dict.fromkeys((c.kind, c.states) for c in columns))
    type_of = np.array([types.index((c.kind, c.states)) for c in columns], dtype=np.intp)
    start = _Start(columns)
    found: list[Distribution] = [None] * len(variables)  # type: ignore[list-item]
    for type_number, size, members in _alike(type_of[variables], sizes):
        leaf = leaf_class(types[type_number][0])
        cells = rows[begins[members, None] + np.arange(size)]
        values = table.at(cells, variables[members, None])
        begin = start.of(leaf, variables[members])
        estimates = fit_table(leaf, *begin, values, table.weights[cells], alpha)
        for member, row in zip(members.tolist(), estimates, strict=True):
            found[member] = leaf.from_row(row)
    each = iter(found)
    return (list(islice(each, width)) for width in widths.tolist())


class _Start:
    """The leaves that fitting starts from; what is known about a column is put together once."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._known: dict[tuple[type[Distribution], int], tuple[Indices, Floats, LeafColumns]] = {}

    def of(self, leaf: type[Distribution], variables: Indices) -> tuple[Floats, LeafColumns]:
        """Return default leaves over these columns of one type, and what is known about them."""
        first = self._columns[variables[0]]
        key = (leaf, first.states)
        if key not in self._known:
            alike = [
                i
                for i, column in enumerate(self._columns)
                if (column.kind, column.states) == (first.kind, first.states)
            ]
            place = np.zeros(len(self._columns), dtype=np.intp)
            place[alike] = np.arange(len(alike))
            table = np.array([leaf.default(self._columns[i]) for i in alike], dtype=np.float64)
            self._known[key] = place, table, LeafColumns.of(self._columns, np.array(alike))
        place, table, columns = self._known[key]
        return table[place[variables]], columns.take(place[variables])


def _alike(kinds: Indices, sizes: Indices) -> Iterator[tuple[int, int, Indices]]:
    """Yield groups of leaves with the same type and number of rows, of bounded size."""
    order = np.lexsort((sizes, kinds))
    changes = np.flatnonzero(np.diff(kinds[order]) | np.diff(sizes[order])) + 1
    for members in np.split(order, changes):
        size = int(sizes[members[0]])
        step = max(1, _CELLS_AT_ONCE // max(1, size))
        for i in range(0, len(members), step):
            yield int(kinds[members[0]]), size, members[i : i + step]
