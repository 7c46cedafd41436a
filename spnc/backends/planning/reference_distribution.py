"""The reference distribution: independent columns, each distributed as in the table.

Engines compute with likelihood ratios to this distribution. The ratios stay near one where the
likelihoods themselves would leave the range of doubles. Finite columns have the frequencies of
their states, numeric columns a histogram; any positive density would be correct.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats, Ints

BINS = 64  # of a histogram, at most: with about equally many rows each
WIDEST_BIN = 1e300  # where the range of a column is beyond that of doubles


def state_probabilities(codes: NDArray[np.integer], states: int, weights: Floats) -> Floats:
    """Return the probability of each state of a finite column, and 1 for a missing value.

    `codes` are states, or the number of states where the value is missing.
    """
    totals = np.bincount(codes, weights=weights, minlength=states + 1)[:states]
    # Add-one smoothing, so that no value in the table has a probability of zero or one.
    return np.append((totals + 1.0) / (totals.sum() + states), 1.0)


class Histogram(NamedTuple):
    """A density over numbers; a missing value counts as a bin of its own, with density 1."""

    inner: Floats  # the bounds between the bins, ascending
    logs: Floats  # the log density in each bin, and 0 for a missing value

    @staticmethod
    def of(distinct: Floats, counts: Ints) -> Histogram:
        """Return the histogram of distinct values, ascending, that occur this many times.

        A bin ends midway between two values, so that no bin is empty or has no width.
        """
        if len(distinct) == 0:
            return Histogram(np.empty(0), np.zeros(2))
        ends = np.cumsum(counts)
        own = np.minimum(BINS - 1, BINS * (ends - counts) // ends[-1])
        firsts = np.flatnonzero(np.diff(own, prepend=-1))
        inner = distinct[firsts[1:] - 1] / 2 + distinct[firsts[1:]] / 2
        low, high = distinct[0], distinct[-1]
        margin = (high / 2 - low / 2) / len(distinct) if high > low else 0.5
        with np.errstate(over="ignore"):
            bounds = np.concatenate([[low - margin], inner, [high + margin]])
            width = np.clip(np.diff(bounds), np.spacing(max(abs(low), abs(high))), WIDEST_BIN)
        totals = np.add.reduceat(counts, firsts)
        logs = np.log((totals + 1.0) / (totals.sum() + len(totals))) - np.log(width)
        return Histogram(inner, np.append(logs, 0.0))

    def bins(self, values: Floats) -> NDArray[np.intp]:
        """Return the bin of each value; that of a missing value is the last."""
        found = np.searchsorted(self.inner, values, side="right")
        found[np.isnan(values)] = len(self.logs) - 1
        return found

    def log_density(self, values: Floats) -> Floats:
        """Return the log density of each value, 0 where it is missing."""
        return self.logs[self.bins(values)]
