"""Restricting one leaf to an interval, or to some states of its column."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from spnc.data.columns import Column
from spnc.leaves import Distribution
from spnc.leaves.categorical import Categorical
from spnc.leaves.finite import as_finite
from spnc.leaves.indicator import Indicator
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.point import Point
from spnc.leaves.restricted import RestrictedLeaf, restricted


def restrict(leaf: Distribution, low: float, high: float, column: Column) -> Distribution:
    """Return a leaf over a column given low <= value <= high; low and high may be infinite.

    An interval that holds all possible values returns the leaf itself, and so does a point. For a
    column with states, low and high are codes. A leaf that is restricted already is restricted to
    the part that both intervals share. Raises ValueError if the interval has probability zero.
    """
    if leaf.is_finite:
        inside = [code for code in range(column.states) if low <= code <= high]
        return restrict_to_states(leaf, inside, column)
    columns = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
    table = np.array([leaf.row])
    if column.kind == "count":
        low, high = float(np.ceil(low)), float(np.floor(high))
    if not leaf.interval(table, np.array([[low]]), np.array([[high]]), columns)[0, 0] > 0.0:
        raise ValueError(f"the interval from {low:g} to {high:g} has probability zero")
    first, last = (float(end[0]) for end in leaf.support(table, columns))
    if isinstance(leaf, Point) or (low <= first and last <= high):
        return leaf
    row = leaf.row
    if isinstance(leaf, RestrictedLeaf):
        low, high, row = max(low, row[-2]), min(high, row[-1]), row[:-2]
        return type(leaf)((*row, low, high))
    return restricted(type(leaf), counts=column.kind == "count")((*row, low, high))


def restrict_to_states(leaf: Distribution, states: Iterable[int], column: Column) -> Distribution:
    """Return a leaf over a column with states, given that the state is one of `states`.

    That is the leaf itself, an indicator, or a categorical leaf with the probabilities of the
    states, divided by their sum. Raises ValueError if they have probability zero.
    """
    p = as_finite(type(leaf)).probabilities(np.array([leaf.row]), column.states)[0]
    inside = np.isin(np.arange(column.states), list(states))
    if not (p[~inside] > 0.0).any():
        return leaf
    kept = np.where(inside, p, 0.0)
    if not kept.sum() > 0.0:
        raise ValueError("the states have probability zero")
    if (kept > 0.0).sum() == 1:
        return Indicator(float(np.argmax(kept)))
    return Categorical(tuple((kept / kept.sum()).tolist()))
