"""Growing one decision tree: which columns it tests, where, and which rows reach which node.

scikit-learn grows the tree. It is given numbers: the place of a cell among the values that a test
can tell apart, for every input, and standardised outputs. A number that is to be predicted counts
by its value and by its rank, in equal parts, so that a few large ones do not decide alone. A label
counts by its indicators. Every output column has a variance of one in all, so none outweighs
another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.learners.decision_tree.regions import Region, interval, some_states
from spnc.learners.support.random_start import drawn_rows

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Input:
    """A column that a tree tests: the order of its values, and the place of each row's cell."""

    variable: int
    cuts: Floats  # numbers between neighbouring places; empty for labels
    states: tuple[int, ...]  # labels in the order of their places; empty for numbers
    places: Places  # of every row

    @staticmethod
    def of(
        column: Column, variable: int, values: Floats, cuts: Floats, rng: np.random.Generator
    ) -> Input:
        """Put the values of a column in order; missing cells get the place of a random known one.

        Labels that are numbers, or stand for themselves, keep their order. Texts get a random one
        in each tree, so that all ways to divide them have a chance.
        """
        known = ~np.isnan(values)
        states: tuple[int, ...] = ()
        if column.is_finite:
            order = np.arange(column.states)
            if any(isinstance(label, str) for label in column.labels or ()):
                order = rng.permutation(column.states)
            states = tuple(order.tolist())
            place_of = np.argsort(order)
            places = place_of[np.where(known, values, 0.0).astype(np.intp)]
        else:
            places = np.searchsorted(cuts, np.where(known, values, 0.0), side="right")
        pool = places[known]
        places = np.where(known, places, pool[rng.integers(len(pool), size=len(values))])
        return Input(variable, cuts, states, places.astype(np.intp))

    def sides(self, last: int) -> tuple[Region, Region]:
        """Return the values up to this place, and those above it."""
        if self.states:
            return some_states(self.states[: last + 1]), some_states(self.states[last + 1 :])
        cut = float(self.cuts[last])
        return interval(-np.inf, cut), interval(cut, np.inf)


@dataclass(frozen=True, eq=False)
class Tree:
    """A grown tree in arrays: node 0 is the root, and -1 stands for no child."""

    inputs: tuple[Input, ...]
    tested: list[int]  # the number of the input that an inner node tests
    last: list[int]  # the last place that goes to the left
    left: list[int]
    right: list[int]
    leaf_of: Places  # of every row

    @staticmethod
    def without_tests(rows: int) -> Tree:
        """Return a tree of one leaf."""
        return Tree((), [-1], [-1], [-1], [-1], np.zeros(rows, dtype=np.intp))

    def sides(self, node: int) -> tuple[int, Region, Region]:
        """Return the column that an inner node tests, and the values of its two sides."""
        own = self.inputs[self.tested[node]]
        return (own.variable, *own.sides(self.last[node]))


def cuts_between(values: Floats, most: int) -> Floats:
    """Return at most this many numbers that divide values into parts of about equal size.

    Each lies half-way between two neighbouring values, so no value is on a border.
    """
    known = np.sort(values[~np.isnan(values)])
    distinct = np.unique(known)
    if len(distinct) - 1 > most:
        wanted = known[(np.arange(1, most + 1) * len(known)) // (most + 1)]
        above = np.unique(np.searchsorted(distinct, wanted))
        above = above[above > 0]
    else:
        above = np.arange(1, len(distinct))
    lower, upper = distinct[above - 1], distinct[above]
    return np.asarray(lower + 0.5 * (upper - lower), dtype=np.float64)


def standardised(column: Column, values: Floats) -> Floats:
    """Return numbers `[row, output]` with a mean of zero and a total variance of one.

    Missing cells are zero. A column with one value is all zeros.
    """
    known = ~np.isnan(values)
    if column.is_finite:
        found = np.zeros((len(values), column.states))
        found[known, values[known].astype(np.intp)] = 1.0
    else:
        ranks = np.searchsorted(np.sort(values[known]), values, side="left")
        found = np.column_stack([np.where(known, values, 0.0), ranks])
        spread = found[known].std(axis=0)
        found /= np.where(spread > 0.0, spread, 1.0)
    found -= found[known].mean(axis=0)
    found[~known] = 0.0
    total = np.sqrt((found[known] ** 2).sum(axis=1).mean())
    return found / (total if total > 0.0 else 1.0)


def grow_tree(
    inputs: Sequence[Input],
    outputs: Sequence[Floats],
    table: Table,
    smallest: int,
    features: float,
    rng: np.random.Generator,
) -> Tree:
    """Grow a tree on as many rows drawn with replacement; then let every row fall to its leaf.

    `smallest` is the least number of different rows in a leaf, `features` the share of the inputs
    that is looked at for each test.
    """
    from sklearn.tree import DecisionTreeRegressor

    cells = np.column_stack([own.places for own in inputs]).astype(np.float32)
    picked = np.bincount(drawn_rows(table, table.rows, rng), minlength=table.rows)
    grower = DecisionTreeRegressor(
        min_samples_leaf=smallest,
        max_features=max(1, round(features * len(inputs))),
        random_state=int(rng.integers(2**31)),
    )
    some = picked > 0
    grower.fit(cells[some], np.column_stack(outputs)[some], sample_weight=picked[some])
    found: Any = grower.tree_
    return Tree(
        tuple(inputs),
        found.feature.tolist(),
        np.floor(found.threshold).astype(np.intp).tolist(),
        found.children_left.tolist(),
        found.children_right.tolist(),
        grower.apply(cells),
    )
