"""Leaves fitted to slices of data, with the policy that EM uses too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.data.dataset import Column, ColumnKind, Table
from spnc.leaves import Distribution
from spnc.registry import LEAVES

Indices = NDArray[np.intp]
_CELLS_AT_ONCE = 1 << 20  # bounds the memory that fitting takes


class Block(NamedTuple):
    """Rows and columns, by index, for which there is to be a leaf per column."""

    rows: Indices
    columns: Indices
    weight: float  # of the rows


@cache
def leaf_class(kind: ColumnKind) -> type[Distribution]:
    """The built-in distribution that learners put over a column of this kind.

    Leaves from outside are never chosen: installing a package must not change other recipes.
    """
    return next(c for c in LEAVES.builtin.values() if c.kinds[0] == kind)


def fit_leaves(
    columns: Sequence[Column], table: Table, blocks: Sequence[Block], alpha: float
) -> Iterator[list[Distribution]]:
    """For every block, one leaf per column, fitted to the block's rows.

    Leaves over equally many rows, and over columns of the same type, are fitted together: that
    there are few different numbers of rows is what makes many small blocks cheap.
    """
    heights = np.array([len(block.rows) for block in blocks], dtype=np.intp)
    widths = np.array([len(block.columns) for block in blocks], dtype=np.intp)
    rows = np.concatenate([block.rows for block in blocks])
    starts = np.cumsum(heights) - heights  # where a block's rows begin
    # From here on by leaf: its column, the number of its rows, where they begin, its type.
    variables = np.concatenate([block.columns for block in blocks])
    sizes, begins = np.repeat(heights, widths), np.repeat(starts, widths)
    types = list(dict.fromkeys((c.kind, c.states) for c in columns))
    type_of = np.array([types.index((c.kind, c.states)) for c in columns], dtype=np.intp)
    found: list[Distribution] = [None] * len(variables)  # type: ignore[list-item]
    for (kind, states), size, members in _alike(type_of[variables], sizes, types):
        leaf = leaf_class(kind)
        cells = rows[begins[members, None] + np.arange(size)]
        values = table.values[cells, variables[members, None]]
        statistics = leaf.statistics(values, table.weights[cells], states)
        fallback = np.tile(leaf.uniform(states), (len(members), 1))
        estimates = leaf.estimate(statistics, alpha, fallback)
        for member, row in zip(members.tolist(), estimates, strict=True):
            found[member] = leaf.from_row(row)
    each = iter(found)
    return (list(islice(each, width)) for width in widths.tolist())


def _alike(
    kinds: Indices, sizes: Indices, types: Sequence[tuple[ColumnKind, int]]
) -> Iterator[tuple[tuple[ColumnKind, int], int, Indices]]:
    """Leaves of the same type and number of rows, no more at once than memory should hold."""
    order = np.lexsort((sizes, kinds))
    changes = np.flatnonzero(np.diff(kinds[order]) | np.diff(sizes[order])) + 1
    for members in np.split(order, changes):
        size = int(sizes[members[0]])
        step = max(1, _CELLS_AT_ONCE // max(1, size))
        for i in range(0, len(members), step):
            yield types[kinds[members[0]]], size, members[i : i + step]
