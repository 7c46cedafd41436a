"""The edges of histograms: even ones from a column's range, adaptive ones from its values."""

from __future__ import annotations

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves.numeric import scale_of

EVEN_BINS = 16  # of a histogram that knows nothing but the range of its column
CELLS = 64  # candidates for bins, of about equal weight; the time grows with its square
MOST_CELLS = 1e15  # a column with more possible values has no rounding unit worth respecting


def even_edges(column: Column, bins: int = EVEN_BINS) -> Floats:
    """Return the edges of at most `bins` bins of about equal width over the range of a column.

    Each bin holds a whole number of resolutions, and the column's values lie between edges.
    """
    first, unit, steps = _grid(column)
    places = np.unique(np.rint(np.linspace(0.0, steps, min(bins, int(steps)) + 1)))
    return first + unit * places


def adaptive_edges(
    column: Column, values: Floats, weights: Floats, bins: int = EVEN_BINS
) -> Floats:
    """Return the edges of at most `bins` bins that describe weighted values best.

    Bins are narrow where the density changes, and wide where it does not or where there are few
    values. Each bin costs what BIC charges for its probability and its edge, the logarithm of the
    total weight. The edges span the range of the column; missing values are left out.
    """
    first, unit, steps = _grid(column)
    known = ~np.isnan(values) & (weights > 0.0)
    places = np.clip(np.floor((values[known] - first) / unit), 0.0, steps - 1.0)
    total = float(weights[known].sum())
    if not total > 0.0:
        return even_edges(column, bins)
    cells = _candidates(places, weights[known], steps)
    counts, _ = np.histogram(places + 0.5, cells, weights=weights[known])
    chosen = _segmented(np.concatenate([[0.0], np.cumsum(counts)]), cells, bins, total)
    return first + unit * cells[chosen]


def _grid(column: Column) -> tuple[float, float, float]:
    """Return the outer edge below a column's range, the resolution, and how many fit into it."""
    scale = scale_of(column)
    unit = scale.resolution
    if column.kind == "count":
        unit = 1.0
    width = max(scale.high - scale.low, 0.0)
    unit = max(
        unit, width / MOST_CELLS, 2.0 * float(np.spacing(max(abs(scale.low), abs(scale.high))))
    )
    return scale.low - 0.5 * unit, unit, max(float(np.rint(width / unit)) + 1.0, 1.0)


def _candidates(places: Floats, weights: Floats, steps: float) -> Floats:
    """Return the edges of cells of about equal weight, in resolutions from the first edge.

    A value that is heavier than a cell gets a cell of its own.
    """
    order = np.argsort(places, kind="stable")
    own, starts = np.unique(places[order], return_index=True)
    mass = np.add.reduceat(weights[order], starts)
    number = np.floor(np.cumsum(mass) / mass.sum() * CELLS)
    ends = own[np.flatnonzero(np.diff(number) > 0)] + 1.0
    heavy = own[mass * CELLS >= mass.sum()]
    edges = np.concatenate([[0.0, steps], ends, heavy, heavy + 1.0])
    return np.unique(np.clip(edges, 0.0, steps))


def _segmented(cumulative: Floats, cells: Floats, bins: int, total: float) -> list[int]:
    """Return which cell edges bound the best bins, by dynamic programming over the last bin."""
    counts = cumulative[None, :] - cumulative[:, None]  # of a bin from edge i to edge j
    widths = cells[None, :] - cells[:, None]
    later = widths > 0.0
    density = np.where(later & (counts > 0.0), counts, 1.0) / np.where(later, widths, 1.0)
    gain = np.where(counts > 0.0, counts * np.log(density / total), 0.0)
    gain = np.where(later, gain - np.log(max(total, 1.0)), -np.inf)
    best, choices = gain[0], [np.zeros(len(cells), dtype=np.intp)]
    results = [float(best[-1])]
    for _ in range(min(bins, len(cells) - 1) - 1):
        reached = best[:, None] + gain
        choices.append(np.argmax(reached, axis=0))
        best = reached.max(axis=0)
        results.append(float(best[-1]))
    at, chosen = len(cells) - 1, [len(cells) - 1]
    for choice in reversed(choices[1 : int(np.argmax(results)) + 1]):
        at = int(choice[at])
        chosen.append(at)
    return [0, *reversed(chosen)]
