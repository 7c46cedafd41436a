"""Columns of numbers as they might be in a tree, and rows of them: to measure what a step takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spnc.data.columns import Column
from spnc.learners.continuous_mixture.number_column import NumberColumn
from spnc.learners.continuous_mixture.number_leaves import NO_NUMBERS, NumberLeaves, RowCells
from spnc.leaves import Distribution
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import as_numeric, scale_of
from spnc.registry import LEAVES


def stand_in(columns: Sequence[Column]) -> NumberLeaves:
    """Return leaves over the columns of numbers, which hang below the columns of states in turn."""
    states_at = [i for i, column in enumerate(columns) if column.is_finite]
    numbers = [i for i, column in enumerate(columns) if not column.is_finite]
    if not numbers:
        return NO_NUMBERS
    found = []
    for place, i in enumerate(numbers):
        parent = place % len(states_at) if states_at else -1
        groups = columns[states_at[parent]].states if states_at else 1
        found.append(_leaf(columns[i], i, parent, groups))
    return NumberLeaves(tuple(found), tuple(states_at))


def _leaf(column: Column, variable: int, parent: int, groups: int) -> NumberColumn:
    name = "poisson" if column.kind == "count" else "warped-gaussian"
    leaf: type[Distribution] = LEAVES[name]
    start = np.array(leaf.default(column))
    known = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
    coordinates = as_numeric(leaf).coordinates(start[None], known)
    plain = np.tile(np.asarray(coordinates), (groups, 1))
    none = np.empty(0)
    return NumberColumn(variable, column, parent, groups, leaf, start, none, (1.0, 0.0), plain)


def drawn_cells(columns: Sequence[Column], rows: int, rng: np.random.Generator) -> RowCells:
    """Return rows of random cells: states, and whole numbers within the range of a column."""
    most = [c.states if c.is_finite else _span(c) for c in columns]
    least = [0 if c.is_finite else int(scale_of(c).low) for c in columns]
    found = rng.integers(most, size=(rows, len(columns)))
    if all(column.is_finite for column in columns):
        return found
    return (found + least).astype(np.float64)


def _span(column: Column) -> int:
    scale = scale_of(column)
    return 1 + int(min(scale.high - scale.low, 1e9))
