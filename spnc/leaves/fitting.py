"""Fitting leaves to weighted values, with the same smoothing as in EM."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves import Distribution
from spnc.leaves.leaf_columns import LeafColumns


def fit_column(
    kind: type[Distribution], column: Column, values: Floats, weights: Floats, alpha: float
) -> Floats:
    """Return a table of leaves over one column, fitted to `values` and `weights`, `[leaf, row]`."""
    start = np.tile(kind.default(column), (len(weights), 1))
    columns = LeafColumns.of([column], np.zeros(len(weights), dtype=np.int64))
    return fit_table(kind, start, columns, values, weights, alpha)


def fit_table(
    kind: type[Distribution],
    start: Floats,
    columns: LeafColumns,
    values: Floats,
    weights: Floats,
    alpha: float,
) -> Floats:
    """Return a table of leaves, fitted to `values` and `weights`, `[leaf, row]`.

    Distributions whose statistics depend on the parameters are fitted in several steps.
    """
    table = start
    for _ in range(kind.fit_steps):
        table = kind.estimate(
            kind.statistics(values, weights, table, columns), alpha, table, columns
        )
    return table
