"""Dependence between columns: the G-test of every pair, and groups of dependent columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.pairs import PairCounts, mutual_information
from spnc.learners.support.leaf_fit import Indices


def g_test(
    pairs: PairCounts, factor: float, numbers: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
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
    starts = pairs.offsets[:-1]
    totals = np.add.reduceat(np.add.reduceat(pairs.counts, starts, 0), starts, 1)
    by_state = np.add.reduceat(pairs.counts, starts, 1)  # [state of one, other column]
    occurring = np.add.reduceat((by_state > 0.0).astype(np.float64), starts, 0)
    degrees = np.maximum(occurring - 1.0, 0.0)
    degrees *= degrees.T
    statistic = 2.0 * totals * mutual_information(pairs)
    threshold = 2.0 * degrees * factor + 0.001
    if numbers is not None and numbers.any():
        ranged = numbers[:, None] | numbers[None, :]
        inflation = _williams(by_state, totals, starts, degrees)
        threshold = np.where(ranged, inflation * _quantile(degrees, factor), threshold)
    dependent: NDArray[np.bool_] = (statistic >= threshold) & (degrees > 0.0)
    np.fill_diagonal(dependent, False)
    return dependent


def _quantile(degrees: Floats, factor: float) -> Floats:
    """Return what chi-squared reaches as rarely as twice the factor with one degree of freedom."""
    from scipy.special import chdtrc, chdtri

    found: Floats = chdtri(np.maximum(degrees, 1.0), chdtrc(1.0, 2.0 * factor))
    return found


def _williams(by_state: Floats, totals: Floats, starts: Indices, degrees: Floats) -> Floats:
    """Return how much larger G is than chi-squared on average, for independent columns."""
    every = np.repeat(totals, np.diff(np.append(starts, len(by_state))), axis=0)
    inverse = np.divide(every, by_state, out=np.zeros_like(every), where=by_state > 0.0)
    spread = np.maximum(np.add.reduceat(inverse, starts, 0) - 1.0, 0.0)
    found: Floats = 1.0 + spread * spread.T / np.maximum(6.0 * totals * degrees, 1.0)
    return found


def groups(dependent: NDArray[np.bool_]) -> list[Indices]:
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
