"""Leaves fitted to slices of data, with the policy that EM uses too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from spnc.data.dataset import Column, ColumnKind, Table
from spnc.leaves import Distribution
from spnc.registry import LEAVES


@cache
def leaf_class(kind: ColumnKind) -> type[Distribution]:
    """The distribution that learners put over a column of this kind: the first meant for it."""
    classes: list[type[Distribution]] = [LEAVES[name] for name in LEAVES]
    return next(c for c in classes if c.kinds[0] == kind)


def fit_leaves(
    columns: Sequence[Column],
    table: Table,
    rows: NDArray[np.intp],
    variables: NDArray[np.intp],
    alpha: float,
) -> list[Distribution]:
    """One leaf per variable, fitted to the given rows."""
    groups: dict[tuple[ColumnKind, int], list[int]] = defaultdict(list)
    for position, v in enumerate(variables):
        groups[columns[v].kind, columns[v].states].append(position)
    found: list[Distribution] = [None] * len(variables)  # type: ignore[list-item]
    weights = table.weights[rows]
    for (kind, states), positions in groups.items():
        leaf = leaf_class(kind)
        values = table.values[np.ix_(rows, variables[positions])].T
        flows = np.broadcast_to(weights, values.shape)
        fallback = np.tile(leaf.uniform(states), (len(positions), 1))
        estimates = leaf.estimate(leaf.statistics(values, flows, states), alpha, fallback)
        for position, row in zip(positions, estimates, strict=True):
            found[position] = leaf.from_row(row)
    return found
