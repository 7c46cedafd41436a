"""Numeric columns in bins: a model, and a table, whose columns all have finitely many states.

A bin is an interval that is open on the left. Its probability under a leaf is exact, a difference
of two values of the distribution function, so the discretised model has exactly the probabilities
that the model gives to bins. Whatever is computed from states then applies to numbers too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.columns import Column, Scale
from spnc.data.table import Table, packed
from spnc.leaves.leaf_columns import LeafColumns
from spnc.program.program import LeafTable, Parameters, Program

# The cuts between the bins of each numeric column, by its number, in increasing order. All columns
# have the same number of cuts; equal cuts enclose an empty bin.
Cuts = Mapping[int, Floats]

BINS = 8  # as many as for mutual information: finer ones need more rows and find little more


def discretised_columns(columns: Sequence[Column], cuts: Cuts) -> tuple[Column, ...]:
    """Return the columns, with a categorical one in place of each that has cuts."""
    return tuple(
        Column(column.name, "categorical", len(cuts[i]) + 1) if i in cuts else column
        for i, column in enumerate(columns)
    )


def discretised(program: Program, parameters: Parameters, cuts: Cuts) -> tuple[Program, Parameters]:
    """Return the model over bins; the program itself if all its columns have states."""
    if not cuts:
        return program, parameters
    columns = discretised_columns(program.columns, cuts)
    leaves, tables = [], []
    for leaf, table in zip(program.leaves, parameters.tables, strict=True):
        if leaf.kind.is_finite:
            leaves.append(leaf)
            tables.append(table)
            continue
        own = np.stack([cuts[v] for v in leaf.variables.tolist()])
        below = leaf.kind.cdf(table, own, leaf.columns)
        ends = np.pad(below, ((0, 0), (1, 1)), constant_values=((0.0, 0.0), (0.0, 1.0)))
        chances = np.maximum(np.diff(ends, axis=1), 0.0)
        known = LeafColumns.of(columns, leaf.variables)
        leaves.append(LeafTable("categorical", chances.shape[1], leaf.first, leaf.variables, known))
        tables.append(chances / chances.sum(axis=1, keepdims=True))
    made = Program(columns, tuple(leaves), program.segments, program.root, program.layers)
    return made, Parameters(parameters.weights, tuple(tables))


def bin_codes(values: Floats, cuts: Floats) -> Floats:
    """Return the number of each value's bin; NaN where the value is missing."""
    found = np.searchsorted(cuts, values, side="left").astype(np.float64)
    found[np.isnan(values)] = np.nan
    return found


def discretised_table(table: Table, columns: Sequence[Column], cuts: Cuts) -> Table:
    """Return a table with the number of its bin in place of every number."""
    if not cuts:
        return table
    cells: list[NDArray[np.generic]] = [
        packed(bin_codes(table.column(i), cuts[i]), len(cuts[i]) + 1)
        if i in cuts
        else table.stored(i)
        for i in range(len(columns))
    ]
    return Table.of_columns(cells, table.weights)


def cuts_by_rows(columns: Sequence[Column], table: Table, bins: int = BINS) -> dict[int, Floats]:
    """Return cuts between bins that hold about equally many of these rows."""
    shares = np.arange(1, bins) / bins
    found = {}
    for i, column in enumerate(columns):
        if not column.is_finite:
            quantiles = weighted_quantiles(table.column(i), table.weights, shares)
            found[i] = quantiles + _half_step(column)
    return found


def cuts_by_scale(columns: Sequence[Column], bins: int = BINS) -> dict[int, Floats]:
    """Return cuts that divide a normal distribution with the column's scale into equal parts."""
    from scipy.special import ndtri

    deviations = ndtri(np.arange(1, bins) / bins)
    found = {}
    for i, column in enumerate(columns):
        if not column.is_finite:
            scale, half = column.scale or Scale(), _half_step(column)
            cuts = scale.mean + scale.sd * deviations
            found[i] = np.floor(cuts / (2.0 * half)) * 2.0 * half + half
    return found


def weighted_quantiles(values: Floats, weights: Floats, shares: Floats) -> Floats:
    """Return the smallest value below or at which lies each share of the weight; 0 without any."""
    known = ~np.isnan(values) & (weights > 0.0)
    if not known.any():
        return np.zeros(len(shares))
    order = np.argsort(values[known], kind="stable")
    ordered, total = values[known][order], np.cumsum(weights[known][order])
    at = np.searchsorted(total, shares * total[-1], side="left")
    found: Floats = ordered[np.minimum(at, len(ordered) - 1)]
    return found


def _half_step(column: Column) -> float:
    """Return half the resolution: a rounded value stands for all that are rounded to it."""
    return 0.5 * (column.scale.resolution if column.scale is not None else 1.0)
