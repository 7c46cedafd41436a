"""Dependence between columns: the G-test of every pair, and groups of dependent columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spnc.data.pairs import PairCounts, mutual_information
from spnc.learners.support.leaf_fit import Indices


def g_test(pairs: PairCounts, factor: float) -> NDArray[np.bool_]:
    """Return whether each pair of columns is dependent, `[column, column]`.

    The statistic is G = 2 Σ n ln(n / expected n) over the rows that have both values; its degrees
    of freedom count the states that occur in these rows. Two columns are dependent when G reaches
    2 · degrees · factor + 0.001: the threshold of Gens & Domingos (2013), known as `g_factor` in
    other implementations of LearnSPN. For two binary columns a factor of 1.92 is a significance
    level of 5%, 5 is 0.16%, 10 is 0.0008%. A column with a single state depends on no other.
    """
    starts = pairs.offsets[:-1]
    totals = np.add.reduceat(np.add.reduceat(pairs.counts, starts, 0), starts, 1)
    by_state = np.add.reduceat(pairs.counts, starts, 1)  # [state of one, other column]
    occurring = np.add.reduceat((by_state > 0.0).astype(np.float64), starts, 0)
    degrees = np.maximum(occurring - 1.0, 0.0)
    degrees *= degrees.T
    statistic = 2.0 * totals * mutual_information(pairs)
    dependent: NDArray[np.bool_] = (statistic >= 2.0 * degrees * factor + 0.001) & (degrees > 0.0)
    np.fill_diagonal(dependent, False)
    return dependent


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
