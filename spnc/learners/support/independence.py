"""Dependence between columns: the G-test of pairs, and groups of dependent columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints
from spnc.data.crossing import Crossing, by_column, by_states
from spnc.data.pairs import PairCounter, PairCounts
from spnc.learners.support.leaf_fit import Indices

_TESTED_AT_ONCE = 128  # columns with all others: a product of matrices that is worth its overhead

Flags = NDArray[np.bool_]


class PairTest(Protocol):
    """Tells which columns of a slice depend on one another."""

    @property
    def width(self) -> int:
        """The number of columns."""
        ...

    @property
    def most_at_once(self) -> int:
        """The number of columns above which pairs are tested in parts."""
        ...

    @property
    def every_pair(self) -> Flags:
        """Whether each pair of columns is dependent, `[column, column]`."""
        ...

    def between(self, some: Indices, others: Indices) -> Flags:
        """Return whether each of some columns depends on each of others."""
        ...


@dataclass(frozen=True, eq=False)
class GTest:
    """The G-test of counts of states. `numbers` marks columns whose states are ranges."""

    counter: PairCounter
    factor: float
    numbers: Flags
    most_at_once: int = 1023

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.counter.width

    @cached_property
    def every_pair(self) -> Flags:
        """Whether each pair of columns is dependent, `[column, column]`."""
        return g_test(self.counter.pairs, self.factor, self.numbers)

    def between(self, some: Indices, others: Indices) -> Flags:
        """Return whether each of some columns depends on each of others."""
        crossing = self.counter.between(some, others)
        return _dependent(crossing, self.factor, self.numbers[some, None] | self.numbers[others])


def g_test(pairs: PairCounts, factor: float, numbers: Flags | None = None) -> Flags:
    """Return whether each pair of columns is dependent, `[column, column]`.

    The statistic is G = 2 Σ n ln(n / expected n) over the rows that have both values; its degrees
    of freedom count the states that occur in these rows. Two columns are dependent when G reaches
    2 · degrees · factor + 0.001: the threshold of Gens & Domingos (2013), known as `g_factor` in
    other implementations of LearnSPN. For two binary columns a factor of 1.92 is a significance
    level of 5%, 5 is 0.16%, 10 is 0.0008%. A column with a single state depends on no other.

    `numbers` marks columns whose states are ranges of numbers. The threshold is proportional to the
    degrees of freedom, of which ranges have many: it would call numbers with a correlation of 0.8
    independent. Pairs with such a column are tested at the level that the factor has for two binary
    columns, with Williams' correction for small counts.
    """
    width = len(pairs.offsets) - 1
    ranged = np.zeros(width, dtype=np.bool_) if numbers is None else numbers
    found = np.empty((width, width), dtype=np.bool_)

    def test(part: slice, crossing: Crossing) -> None:
        found[part] = _dependent(crossing, factor, ranged[part, None] | ranged)

    pairs.each_part(test)
    np.fill_diagonal(found, False)
    return found


def _dependent(crossing: Crossing, factor: float, ranged: Flags) -> Flags:
    """Return whether each pair of columns is dependent; `ranged` marks pairs with numbers."""
    degrees = crossing.degrees
    statistic = 2.0 * crossing.totals * crossing.probabilities(0.0).information()
    threshold = 2.0 * degrees * factor + 0.001
    if ranged.any():
        inflation = _williams(crossing, degrees)
        threshold = np.where(ranged, inflation * _quantile(degrees, factor), threshold)
    found: Flags = (statistic >= threshold) & (degrees > 0.0)
    return found


def _quantile(degrees: Floats, factor: float) -> Floats:
    """Return what chi-squared reaches as rarely as twice the factor with one degree of freedom."""
    from scipy.special import chdtrc, chdtri

    found: Floats = chdtri(np.maximum(degrees, 1.0), chdtrc(1.0, 2.0 * factor))
    return found


def _williams(crossing: Crossing, degrees: Floats) -> Floats:
    """Return how much larger G is than chi-squared on average, for independent columns."""
    totals, offsets, others = crossing.totals, crossing.offsets, crossing.others
    own = _inverse_shares(by_states(totals, offsets, 0), crossing.by_state)
    other = _inverse_shares(by_states(totals, others, 1), crossing.by_other)
    spread = np.maximum(by_column(own, offsets, 0) - 1.0, 0.0)
    spread *= np.maximum(by_column(other, others, 1) - 1.0, 0.0)
    found: Floats = 1.0 + spread / np.maximum(6.0 * totals * degrees, 1.0)
    return found


def _inverse_shares(totals: Floats, held: Floats) -> Floats:
    """Return the total divided by what each state holds of it; zero for states that hold none."""
    found: Floats = np.divide(totals, held, out=np.zeros_like(held), where=held > 0.0)
    return found


def groups(dependent: Flags) -> list[Indices]:
    """Return the connected components of the dependence graph, in order of their first columns."""
    left = np.ones(len(dependent), dtype=bool)
    found = []
    while left.any():
        reached = np.zeros(len(dependent), dtype=bool)
        reached[np.argmax(left)] = True
        frontier = reached
        while frontier.any():
            frontier = dependent[frontier].any(axis=0) & ~reached
            reached |= frontier
        left &= ~reached
        found.append(np.flatnonzero(reached))
    return found


def dependent_groups(test: PairTest) -> list[Indices]:
    """Return the groups of columns that are connected by dependent pairs.

    Of many columns, only pairs are tested that are not known to be in the same group yet.
    """
    if test.width <= test.most_at_once:
        return groups(test.every_pair)
    group = np.arange(test.width)
    untested = np.ones(test.width, dtype=np.bool_)  # against all that are untested
    while untested.any():
        some = _in_large_groups(np.flatnonzero(untested), group)[:_TESTED_AT_ONCE]
        others = np.flatnonzero(untested)
        if (group[some] == group[some[0]]).all():
            others = others[group[others] != group[some[0]]]
        untested[some] = False
        if len(others):
            group = _joined(group, some, others, test.between(some, others))
    _, first = np.unique(group, return_index=True)
    return [np.flatnonzero(group == own) for own in group[np.sort(first)].tolist()]


def _in_large_groups(columns: Indices, group: Ints) -> Indices:
    """Return the columns, those in the largest groups first."""
    sizes = np.bincount(group)[group[columns]]
    found: Indices = columns[np.lexsort((group[columns], -sizes))]
    return found


def _joined(group: Ints, some: Indices, others: Indices, dependent: Flags) -> Ints:
    """Return every column's group after those of dependent columns have been joined."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    one, other = np.nonzero(dependent)
    edges = np.ones(len(one), dtype=np.bool_), (group[some[one]], group[others[other]])
    shape = (len(group), len(group))
    _, labels = connected_components(coo_array(edges, shape=shape), directed=False)
    found: Ints = labels[group]
    return found
