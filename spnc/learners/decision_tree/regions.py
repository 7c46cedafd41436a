"""Regions of a column: the values that the tests on the way to a node of a tree leave over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from spnc.data.columns import Column
from spnc.learners.support.leaf_choice import LeafModel
from spnc.leaves.finite import as_finite
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.restriction import restrict, restrict_to_states


class Region(NamedTuple):
    """Some states of a column with labels, or an interval of a column with numbers."""

    states: frozenset[int] | None
    low: float
    high: float

    def within(self, other: Region) -> Region:
        """Return what two regions of one column have in common."""
        if self.states is None or other.states is None:
            return interval(max(self.low, other.low), min(self.high, other.high))
        return Region(self.states & other.states, self.low, self.high)


def some_states(states: Iterable[int]) -> Region:
    """Return the region of these states."""
    return Region(frozenset(states), -np.inf, np.inf)


def interval(low: float, high: float) -> Region:
    """Return the region of the numbers between two ends."""
    return Region(None, low, high)


def restricted_model(model: LeafModel, region: Region, column: Column) -> LeafModel:
    """Return a model of a column given that its value lies in a region.

    If the region has probability zero, return the model itself: smoothing is zero, and no training
    row is there.
    """
    if region.states is not None:
        [leaf] = model.parts
        p = as_finite(type(leaf)).probabilities(np.array([leaf.row]), column.states)[0]
        if not p[sorted(region.states)].sum() > 0.0:
            return model
        return LeafModel((restrict_to_states(leaf, region.states, column),))
    columns = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
    ends = region.low, region.high
    if column.kind == "count":
        ends = float(np.ceil(region.low)), float(np.floor(region.high))
    low, high = (np.array([[end]]) for end in ends)
    shares = [
        weight * float(leaf.interval(np.array([leaf.row]), low, high, columns)[0, 0])
        for leaf, weight in zip(model.parts, model.weights, strict=True)
    ]
    total = sum(shares)
    if not total > 0.0:
        return model
    inside = [(leaf, share) for leaf, share in zip(model.parts, shares, strict=True) if share > 0.0]
    return LeafModel(
        tuple(restrict(leaf, *ends, column) for leaf, _ in inside),
        tuple(share / total for _, share in inside),
    )
