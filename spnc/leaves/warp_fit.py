"""Fit a warp to a column: its marginal distribution, and the map that makes it normal.

The marginal density is a mixture of two parts, and constant in each of many pieces:

- a *smooth* part, the average of several histograms whose bins hold about equally many rows and
  are shifted against one another;
- *boxes*, one resolution wide, on values that repeat: rounded values do, and so do defaults.

Their shares are those of a Pitman-Yor process whose base is the smooth part: a value with c of n
rows gets (c - d) / (n + a), the smooth part the rest. The width of the bins, the discount d and the
concentration a have the best likelihood of each row given all others. So a column of measurements
without a pattern in its digits gets no boxes to speak of, and one of codes little else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.data.warp import Warp

SHIFTS = 8  # histograms that the smooth part is the average of
BINS = (0.5, 1.0, 2.0, 4.0)  # candidates for the rows of a bin, in square roots of all rows
DISCOUNTS = (0.0, 0.25, 0.5, 0.75, 0.9)
CONCENTRATIONS = 40  # candidates, from a third of a row to 300 times all rows
BACKGROUND_ROWS = 0.5  # pseudo-rows of a normal distribution, twice as wide as the column
# On the values for which they are worth most. With 256, the column of 901 distinct values among the
# tables of the benchmarks loses 0.26 nats a row on validation rows, with 1,024 nothing.
MOST_BOXES = 1024
MOST_PIECES = 256  # of the smooth part
SAME_EDGE = 1e-6  # of a resolution
LEAST_LOSS = 1e-7  # nats a row; merging two pieces for less is no loss
LONGEST = 0.1  # a piece spans at most this much of the normal distribution's standard deviation


class Marginal(NamedTuple):
    """A density that is constant between edges: the probability of each piece."""

    edges: Floats
    chances: Floats


class _Shares(NamedTuple):
    """How rows are shared out between boxes and the smooth part."""

    score: float  # the mean log-likelihood of a row given all others
    rows_of_bin: float
    discount: float
    concentration: float


def fitted_warp(values: Floats, weights: Floats, resolution: float) -> Warp | None:
    """Return the warp of a column with these values, NaN where missing; None without two values.

    Rows with weight zero count nothing.
    """
    known = ~np.isnan(values) & (weights > 0.0)
    own, held = _distinct(values[known], weights[known], resolution)
    if len(own) < 2:
        return None
    marginal = marginal_of(own, held, resolution)
    return _normalising(marginal, float(held.sum()), _spread(own, held))


def _distinct(values: Floats, weights: Floats, resolution: float) -> tuple[Floats, Floats]:
    """Return the distinct values and their weights; those closer than a resolution as one."""
    own, where = np.unique(values, return_inverse=True)
    if len(own) > 1 and np.diff(own).min() < resolution * (1.0 - 1e-6):
        own, where = np.unique(np.rint(values / resolution), return_inverse=True)
        own = own * resolution
    mass: Floats = np.bincount(where.reshape(-1), weights, len(own)).astype(np.float64)
    return own, mass


def _spread(own: Floats, held: Floats) -> float:
    """Return the standard deviation of weighted values."""
    share = held / held.sum()
    apart = own - own[0]
    return float(np.sqrt(max((share * apart**2).sum() - (share * apart).sum() ** 2, 0.0)))


# ---- the density -------------------------------------------------------------------------------


def marginal_of(own: Floats, held: Floats, resolution: float) -> Marginal:
    """Return the density of distinct values with these weights."""
    total, middles = float(held.sum()), 0.5 * (own[1:] + own[:-1])
    candidates = [_shares(own, held, middles, resolution, factor) for factor in BINS]
    best = max(candidates, key=lambda shares: shares.score)
    smooth = merged(_smooth(own, held, middles, resolution, best.rows_of_bin), MOST_PIECES)
    if np.isinf(best.concentration):
        return smooth
    boxes = np.maximum(held - best.discount, 0.0) / (total + best.concentration)
    low, high = own - 0.5 * resolution, own + 0.5 * resolution
    # Boxes meet in the middle where two values are one resolution apart, up to rounding.
    low[1:], high[:-1] = np.maximum(low[1:], middles), np.minimum(high[:-1], middles)
    below = _cumulative(smooth)
    beside = (1.0 - boxes.sum()) * np.diff(np.interp([low, high], smooth.edges, below), axis=0)[0]
    gain = (boxes + beside) * np.log1p(boxes / np.maximum(beside, np.finfo(float).tiny))
    chosen = np.sort(np.argsort(-gain, kind="stable")[:MOST_BOXES])
    low, high, boxes = low[chosen], high[chosen], boxes[chosen]
    edges = np.unique(np.concatenate([smooth.edges, low, high]))
    # Edges that differ by rounding errors are one.
    apart = np.diff(edges) > SAME_EDGE * resolution
    edges = edges[np.concatenate([[True], apart])]
    reached = (1.0 - boxes.sum()) * np.interp(edges, smooth.edges, below)
    # Boxes do not overlap, so the probability below is linear between their ends.
    ends = np.stack([low, high], axis=1).ravel()
    held_below = np.concatenate([[0.0], np.cumsum(boxes)])
    reached += np.interp(edges, ends, np.stack([held_below[:-1], held_below[1:]], axis=1).ravel())
    return Marginal(edges, np.diff(reached))


def _cumulative(marginal: Marginal) -> Floats:
    """Return the probability below each edge."""
    return np.concatenate([[0.0], np.cumsum(marginal.chances)])


def _shares(
    own: Floats, held: Floats, middles: Floats, resolution: float, factor: float
) -> _Shares:
    """Return the best shares for bins of `factor` times the square root of all rows."""
    total = float(held.sum())
    rows = max(2.0, factor * np.sqrt(total))
    # The smooth density at each value, if no row had this value.
    spread = 2.0 * _spread(own, held) + resolution
    mean = float((own * held).sum() / total)
    normal = np.exp(-0.5 * ((own - mean) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
    density = np.zeros(len(own))
    for shift in range(SHIFTS):
        number, edges = _bins(own, held, middles, resolution, rows, shift / SHIFTS)
        inside = np.bincount(number, held)[number] - held
        density += inside / np.diff(edges)[number] / SHIFTS
    density = (density + BACKGROUND_ROWS * normal) / (total - held + BACKGROUND_ROWS)
    expected = np.minimum(density * resolution, 1.0)
    score = held @ np.log(np.maximum(expected, np.finfo(float).tiny)) / total
    best = _Shares(float(score), rows, 0.0, np.inf)  # no boxes at all
    others = len(own) - (held <= 1.0)  # distinct values of the other rows
    for discount in DISCOUNTS:
        repeated = np.maximum(held - 1.0 - discount, 0.0)
        for concentration in np.geomspace(0.3, 300.0 * total, CONCENTRATIONS).tolist():
            chance = repeated + (concentration + discount * others) * expected
            score = held @ np.log(chance / (total - 1.0 + concentration)) / total
            if score > best.score:
                best = _Shares(float(score), rows, discount, concentration)
    return best


def _bins(
    own: Floats, held: Floats, middles: Floats, resolution: float, rows: float, shift: float
) -> tuple[Ints, Floats]:
    """Return the number of the bin of each value, and the edges of all bins.

    Bins have about `rows` rows each, but for the first and the last, and end between two values.
    """
    reached = (np.cumsum(held) - 0.5 * held) / rows
    _, number = np.unique(np.floor(reached + shift), return_inverse=True)
    ends = np.flatnonzero(np.diff(number))
    low, high = own[0] - 0.5 * resolution, own[-1] + 0.5 * resolution
    return number, np.concatenate([[low], middles[ends], [high]])


def _smooth(own: Floats, held: Floats, middles: Floats, resolution: float, rows: float) -> Marginal:
    """Return the average of histograms with about this many rows in a bin."""
    parts = []
    for shift in range(SHIFTS):
        number, edges = _bins(own, held, middles, resolution, rows, shift / SHIFTS)
        counts = np.bincount(number, held)
        parts.append((edges, np.concatenate([[0.0], np.cumsum(counts / counts.sum())])))
    every = np.unique(np.concatenate([edges for edges, _ in parts]))
    reached = np.mean([np.interp(every, edges, below) for edges, below in parts], axis=0)
    return Marginal(every, np.diff(reached))


def merged(marginal: Marginal, most: int) -> Marginal:
    """Return a density of at most this many pieces: neighbours are merged that differ least."""
    edges, chances = marginal
    while len(chances) > 1:
        widths = np.diff(edges)
        information = _information(chances, widths)
        both = _information(chances[1:] + chances[:-1], widths[1:] + widths[:-1])
        loss = information[1:] + information[:-1] - both
        # Pairs that lose less than both pairs beside them, so that no piece is in two of them.
        beside = np.minimum(
            np.concatenate([loss[1:], [np.inf]]), np.concatenate([[np.inf], loss[:-1]])
        )
        first = np.concatenate([[np.inf], loss[:-1]])
        chosen = np.flatnonzero((loss <= beside) & (loss < first))
        chosen = chosen[np.argsort(loss[chosen], kind="stable")]
        excess = len(chances) - most
        wanted = loss[chosen] < LEAST_LOSS
        if excess > 0:
            wanted |= np.arange(len(chosen)) < min(excess, max(1, len(chosen) // 4))
        chosen = np.sort(chosen[wanted])
        if not len(chosen):
            break
        chances = chances.copy()
        chances[chosen] += chances[chosen + 1]
        chances = np.delete(chances, chosen + 1)
        edges = np.delete(edges, chosen + 1)
    return Marginal(edges, chances)


def _information(chances: Floats, widths: Floats) -> Floats:
    """Return each piece's part of the expected log density."""
    known = np.where(chances > 0.0, chances, 1.0)
    return np.where(chances > 0.0, chances * np.log(known / widths), 0.0)


# ---- the map -----------------------------------------------------------------------------------


def _normalising(marginal: Marginal, rows: float, spread: float) -> Warp:
    """Return the warp under which a column with this density is normally distributed.

    A quarter of a row lies beyond either end.
    """
    from scipy.special import ndtr, ndtri

    tail = 0.25 / (rows + 0.5)
    below = _cumulative(marginal)
    below = tail + (1.0 - 2.0 * tail) * below / below[-1]
    places = ndtri(below)
    counts = np.maximum(1, np.ceil(np.diff(places) / LONGEST)).astype(np.int64)
    piece = np.repeat(np.arange(len(counts)), counts)
    part = (np.arange(len(piece)) - (np.cumsum(counts) - counts)[piece]) / counts[piece]
    # Equal steps of places; values are where these have their share of the piece.
    at = places[piece] + part * np.diff(places)[piece]
    share = (ndtr(at) - below[piece]) / np.diff(below)[piece]
    values = marginal.edges[piece] + share * np.diff(marginal.edges)[piece]
    values = np.concatenate([values, marginal.edges[-1:]])
    at = np.concatenate([at, places[-1:]])
    # Beyond the ends, the density falls by a factor of e with every standard deviation or so.
    values = np.concatenate([[values[0] - spread], values, [values[-1] + spread]])
    at = np.concatenate([[at[0] + 1.0 / at[0]], at, [at[-1] + 1.0 / at[-1]]])
    rising = (np.diff(values) > 0.0) & (np.diff(at) > 0.0)
    keep = np.concatenate([[True], rising])
    return Warp(tuple(values[keep].tolist()), tuple(at[keep].tolist()))
