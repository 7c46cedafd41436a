"""A histogram leaf for SPFlow 0.0.48 that is a density; this file needs NumPy alone.

SPFlow 0.0.48 smooths a histogram as if its densities were probabilities: with h a density, n rows
and b bins, it computes (n h + 1) / (n + b), which integrates to one only if bins are one unit wide.
On a column in small units the integral is thousands. Here the probabilities of bins are smoothed,
(n h w + 1) / (n + b), and divided by the widths w. Three more things differ:

- A smoothed histogram has a bin on each side of the leaf's rows, up to the ends of the column's
  range. SPFlow gives every value there a density of 2e-16, and no probability.
- Empty bins beside each other are one bin, with as many pseudo-rows. It is the same density, but
  NumPy's rule, which SPFlow uses, asks for millions of bins where most rows of a column have one
  value and some are far from it. Unless it is at an end of such a run: leaves that are linear
  between the middles of bins then are the same, too.
- A discrete column without rows has the same probability for each of its states. SPFlow leaves out
  the last one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOOR = float(np.finfo(np.float64).eps)  # SPFlow's density outside all bins

Floats = NDArray[np.float64]


def repaired_histogram(
    values: Floats, domain: Any, is_real: bool, alpha: float = 1.0
) -> tuple[Floats, Floats, Floats]:
    """Return the edges of bins, their densities, and a value in each.

    `domain` holds the ends of a real column's range, or all states of a discrete column; `alpha`
    is the number of pseudo-rows in each bin.
    """
    values = values[~np.isnan(values)]
    if is_real:
        edges, counts, pseudo = _counted(values, float(domain[0]), float(domain[-1]), alpha > 0.0)
        middles = (edges[:-1] + edges[1:]) / 2
    else:
        middles = np.asarray(domain, np.float64)
        edges = np.append(middles, middles[-1] + 1.0)
        counts = np.histogram(values, edges)[0].astype(np.float64)
        pseudo = np.ones(len(counts))
    counts = counts + alpha * pseudo
    if not counts.any():
        counts = np.diff(edges)
    return edges, counts / counts.sum() / np.diff(edges), middles


def _counted(
    values: Floats, low: float, high: float, extended: bool
) -> tuple[Floats, Floats, Floats]:
    """Return the edges of bins, the rows in each, and how many bins of NumPy's rule each is."""
    if not len(values) or not np.ptp(values):
        return np.array([low, high]), np.full(1, float(len(values))), np.ones(1)
    bins, first, last = _number_of_bins(values), float(values.min()), float(values.max())
    places = np.floor((values - first) / (last - first) * bins).astype(np.int64)
    filled, rows = np.unique(np.minimum(places, bins - 1), return_counts=True)
    kept = np.unique(np.concatenate([filled - 1, filled, filled + 1, filled + 2, [0, bins]]))
    kept = kept[(kept >= 0) & (kept <= bins)]
    counts = np.zeros(len(kept) - 1)
    counts[np.searchsorted(kept, filled)] = rows
    edges, pseudo = first + kept * ((last - first) / bins), np.diff(kept).astype(np.float64)
    edges[-1] = last
    if extended:
        before, after = low < first, high > last
        edges = np.concatenate([[low] * before, edges, [high] * after])
        counts = np.concatenate([[0.0] * before, counts, [0.0] * after])
        pseudo = np.concatenate([[1.0] * before, pseudo, [1.0] * after])
    return edges, counts, pseudo


def _number_of_bins(values: Floats) -> int:
    """Return how many bins NumPy's rule `auto` asks for."""
    rows, width = len(values), float(np.ptp(values))
    quartiles = np.percentile(values, [25, 75])
    wide = 2.0 * float(quartiles[1] - quartiles[0]) / rows ** (1.0 / 3.0)  # Freedman and Diaconis
    sturges = width / (np.log2(rows) + 1.0)
    return int(np.ceil(width / (min(wide, sturges) if wide > 0.0 else sturges)))


def histogram_log_density(edges: Floats, densities: Floats, values: Floats) -> Floats:
    """Return the log density of values; NaN counts as a missing cell, which adds nothing."""
    place = np.searchsorted(edges, values, side="right") - 1
    place = np.where(values == edges[-1], len(densities) - 1, place)
    inside = (place >= 0) & (place < len(densities))
    found = np.where(inside, densities[np.clip(place, 0, len(densities) - 1)], FLOOR)
    logs: Floats = np.log(np.maximum(found, FLOOR))
    logs[np.isnan(values)] = 0.0
    return logs
