"""Fit a warp to a column: its marginal distribution, and the map that makes it normal.

The marginal density is a mixture of two parts, and constant in each of many pieces:

- a *smooth* part (`spnc.leaves.warp_smooth`);
- *boxes*, one resolution wide, on values that repeat: rounded values do, and so do defaults.

Their shares are those of a Pitman-Yor process whose base is the smooth part: a value with c of n
rows gets (c - d) / (n + a), the smooth part the rest. The discount d, the concentration a and the
weights of what the smooth part is mixed of have the best likelihood of each row given all others.
So a column of measurements without a pattern in its digits gets no boxes to speak of, and one of
codes little else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.data.warp import Warp
from spnc.leaves.warp_smooth import Marginal, Part, Values, mixed, parts_of

DISCOUNTS = (0.0, 0.25, 0.5, 0.75, 0.9)
CONCENTRATIONS = 40  # candidates, from a third of a row to 300 times all rows
ROUNDS = 3  # of shares and weights in turns; more change nothing that validation rows notice
STEPS = 30  # of EM for the weights, in a round
BACKGROUND_ROWS = 0.5  # pseudo-rows of the normal part, which is the first
MOST_JUDGED = 16384  # values by which shares and weights are judged, evenly chosen
LEAST_GAIN = 1e-4  # nats a row: boxes that are worth less together are left out
MOST_BOXES = 32768  # a limit to memory; columns of the benchmark tables have fewer values
ROUNDED = 0.5  # of the rows; see `distinct`
ONE_ROW = 1e-9  # rounding errors of the weight of a row
SAME_EDGE = 1e-6  # of a resolution
LONGEST = 0.1  # a piece spans at most this much of the normal distribution's standard deviation


class _Shares(NamedTuple):
    """How rows are shared out between boxes and the smooth part."""

    score: float  # the mean log-likelihood of a row given all others
    discount: float
    concentration: float  # infinite without boxes


def fitted_warp(values: Floats, weights: Floats, resolution: float) -> Warp | None:
    """Return the warp of a column with these values, NaN where missing; None without two values.

    Rows with weight zero count nothing. Weights below one on average are scaled to one: the
    likelihood of a row given all others leaves out one row.
    """
    known = ~np.isnan(values) & (weights > 0.0)
    values, weights = values[known], weights[known]
    weights = weights * max(1.0, len(weights) / max(float(weights.sum()), np.finfo(float).tiny))
    found = distinct(values, weights, resolution)
    if len(found.own) < 2:
        return None
    return _normalising(marginal_of(found), found.rows, found.spread)


def distinct(values: Floats, weights: Floats, resolution: float) -> Values:
    """Return the distinct values and their weights.

    Where most rows have others, but not of the same value, in their cell of the grid of the
    resolution, all values are rounded to it. Otherwise, values stay what they are, except that
    those in the same cell less than half a resolution apart are one, at their mean.
    """
    own, where = np.unique(values, return_inverse=True)
    mass = _sums(where, weights, len(own))
    if len(own) < 2 or np.diff(own).min() >= resolution * (1.0 - 1e-6):
        return Values(own, mass, resolution)
    cells, cell = np.unique(np.rint(own / resolution), return_inverse=True)
    together = np.bincount(cell)[cell] > 1
    if mass[together].sum() > ROUNDED * mass.sum():
        return Values(cells * resolution, _sums(cell, mass, len(cells)), resolution)
    apart = (np.diff(own) >= 0.5 * resolution) | (np.diff(cell) > 0)
    group = np.concatenate([[0], np.cumsum(apart)])
    first = own[np.concatenate([[True], apart])]
    held = _sums(group, mass, len(first))
    means = first + _sums(group, mass * (own - first[group]), len(first)) / held
    return Values(means, held, resolution)


def _sums(group: Ints, weights: Floats, groups: int) -> Floats:
    """Return the total weight of each group."""
    found: Floats = np.bincount(group.reshape(-1), weights, groups).astype(np.float64)
    return found


# ---- the density -------------------------------------------------------------------------------


def marginal_of(values: Values) -> Marginal:
    """Return the density of a column."""
    parts = parts_of(values)
    shares, weights = _fitted(values, parts)
    smooth = mixed(parts, weights)
    if np.isinf(shares.concentration):
        return smooth
    return _with_boxes(values, smooth, shares)


def _with_boxes(values: Values, smooth: Marginal, shares: _Shares) -> Marginal:
    """Return the smooth part with boxes on the values for which they are worth most."""
    own, held, resolution = values
    boxes = np.maximum(held - shares.discount, 0.0) / (values.rows + shares.concentration)
    low, high = own - 0.5 * resolution, own + 0.5 * resolution
    # Boxes meet in the middle where two values are one resolution apart, or less.
    low[1:], high[:-1] = np.maximum(low[1:], values.middles), np.minimum(high[:-1], values.middles)
    below = smooth.below
    beside = (1.0 - boxes.sum()) * np.diff(np.interp([low, high], smooth.edges, below), axis=0)[0]
    gain = (boxes + beside) * np.log1p(boxes / np.maximum(beside, np.finfo(float).tiny))
    chosen = np.argsort(-gain, kind="stable")
    left_out = np.cumsum(gain[chosen][::-1])[::-1]  # by box, with all that are worth less
    chosen = np.sort(chosen[left_out > LEAST_GAIN][:MOST_BOXES])
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


def _fitted(values: Values, parts: Sequence[Part]) -> tuple[_Shares, Floats]:
    """Return the best shares of the boxes, and the weights of the parts of the smooth part."""
    count = len(values.own)
    judged = np.linspace(0, count - 1, min(count, MOST_JUDGED)).astype(np.int64)
    chances = np.array([part.of_others[judged] for part in parts]) * values.resolution
    chances = np.clip(chances, np.finfo(float).tiny, 1.0)
    held, total = values.held[judged], values.rows
    weights = np.full(len(parts), 1.0 / len(parts))
    for _ in range(ROUNDS):
        shares = _shares(held, weights @ chances, total, count)
        repeated, drawn = np.zeros_like(held), np.ones_like(held)
        if np.isfinite(shares.concentration):
            repeated, drawn = _odds(held, shares.discount, np.array(shares.concentration), count)
        for _ in range(STEPS):
            own = weights[:, None] * chances * drawn
            weights = (own / (own.sum(axis=0) + repeated)) @ held
            weights[0] += BACKGROUND_ROWS
            weights /= weights.sum()
    return _shares(held, weights @ chances, total, count), weights


def _odds(
    held: Floats, discount: float, concentration: Floats, count: int
) -> tuple[Floats, Floats]:
    """Return how often, among the other rows, a row repeats each value or is drawn anew.

    `count` is the number of distinct values. A row that is drawn anew comes from the smooth part.
    """
    others = count - (held < 1.0 + ONE_ROW)  # distinct values of the other rows
    drawn: Floats = concentration + discount * others
    return np.maximum(held - 1.0 - discount, 0.0), drawn


def _shares(held: Floats, expected: Floats, total: float, count: int) -> _Shares:
    """Return the best shares, given the chance that the smooth part gives each value."""
    rows = float(held.sum())
    best = _Shares(float(held @ np.log(expected)) / rows + LEAST_GAIN, 0.0, np.inf)
    concentrations = np.geomspace(0.3, 300.0 * total, CONCENTRATIONS)[:, None]
    for discount in DISCOUNTS:
        repeated, drawn = _odds(held, discount, concentrations, count)
        chance = (repeated + drawn * expected) / (total - 1.0 + concentrations)
        scores = np.log(chance) @ held / rows
        if scores.max() > best.score:
            i = int(np.argmax(scores))
            best = _Shares(float(scores[i]), discount, float(concentrations[i, 0]))
    return best


# ---- the map -----------------------------------------------------------------------------------


def _normalising(marginal: Marginal, rows: float, spread: float) -> Warp:
    """Return the warp under which a column with this density is normally distributed.

    A quarter of a row lies beyond either end.
    """
    from scipy.special import ndtr, ndtri

    tail = 0.25 / (rows + 0.5)
    below = marginal.below
    below = tail + (1.0 - 2.0 * tail) * below / below[-1]
    places = ndtri(below)
    # A piece without probability, up to rounding errors, is a part of the next one.
    has_some = np.concatenate([[True], np.diff(places) > 0.0])
    edges, below, places = marginal.edges[has_some], below[has_some], places[has_some]
    counts = np.maximum(1, np.ceil(np.diff(places) / LONGEST)).astype(np.int64)
    piece = np.repeat(np.arange(len(counts)), counts)
    part = (np.arange(len(piece)) - (np.cumsum(counts) - counts)[piece]) / counts[piece]
    # Equal steps of places; values are where these have their share of the piece.
    at = places[piece] + part * np.diff(places)[piece]
    share = (ndtr(at) - below[piece]) / np.diff(below)[piece]
    values = edges[piece] + share * np.diff(edges)[piece]
    values = np.concatenate([values, edges[-1:]])
    at = np.concatenate([at, places[-1:]])
    # Beyond the ends, the density falls by a factor of e with every standard deviation or so.
    values = np.concatenate([[values[0] - spread], values, [values[-1] + spread]])
    at = np.concatenate([[at[0] + 1.0 / at[0]], at, [at[-1] + 1.0 / at[-1]]])
    rising = (np.diff(values) > 0.0) & (np.diff(at) > 0.0)
    keep = np.concatenate([[True], rising])
    return Warp(tuple(values[keep].tolist()), tuple(at[keep].tolist()))
