"""The smooth part of a column's marginal distribution: what is between the boxes of a warp.

It is a mixture of simple densities:

- *histograms*, averages of several whose bins hold about equally many rows and are shifted against
  one another;
- *kernels*, normal densities around the values, as wide as the way to some neighbour;
- one *normal* density, twice as wide as the column, for values far from all others.

Histograms and kernels come in several widths, and twice: of all rows, and with every value counted
once. A value that repeats has a box for its rows. What it says about the values around it is better
described by one row than by hundreds, or by something in between. The weights in the mixture have
the best likelihood of each value given all others (`spnc.leaves.warp_fit`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from spnc.common.arrays import Floats, Ints

SHIFTS = 8  # histograms that a part is the average of
WIDTHS = (0.5, 1.0, 2.0, 4.0)  # of bins: their rows, in square roots of all rows
KERNEL_WIDTHS = (0.5, 2.0)  # of kernels; four widths gain 0.01 nats in six tables together
# Kernels take time quadratic in the number of distinct values: a tenth of a second for 1,024.
# Beyond, histograms are as good: columns with more among the tables of the benchmarks gain nothing.
MOST_KERNELS = 1024
MOST_PLACES = 512  # at which the kernels' distribution function is computed
_REACH = np.linspace(-4.0, 4.0, 17)  # places around a kernel, in its standard deviations
_HALVINGS = 50  # of the interval in which a neighbour is looked for
MOST_PIECES = 256  # twice and four times as many are the same within 0.001 nats a row
LEAST_LOSS = 1e-7  # nats a row; merging two pieces for less is no loss
LEAST_WEIGHT = 0.01  # of a part; one with less is left out


class Values(NamedTuple):
    """The distinct values of a column in increasing order, and the rows that hold them."""

    own: Floats
    held: Floats
    resolution: float

    @property
    def middles(self) -> Floats:
        """The middles between neighbours."""
        found: Floats = 0.5 * (self.own[1:] + self.own[:-1])
        return found

    @property
    def rows(self) -> float:
        """The number of rows, or their weight."""
        return float(self.held.sum())

    @property
    def mean(self) -> float:
        """The mean of all rows."""
        return float(self.own[0] + (self.held * (self.own - self.own[0])).sum() / self.rows)

    @property
    def spread(self) -> float:
        """The standard deviation of all rows."""
        share, apart = self.held / self.rows, self.own - self.own[0]
        return float(np.sqrt(max((share * apart**2).sum() - (share * apart).sum() ** 2, 0.0)))


class Marginal(NamedTuple):
    """A density that is constant between edges: the probability of each piece."""

    edges: Floats
    chances: Floats

    @property
    def below(self) -> Floats:
        """The probability below each edge."""
        return np.concatenate([[0.0], np.cumsum(self.chances)])


class Part(NamedTuple):
    """A density of a column."""

    of_others: Floats  # at each value, if no row had this value
    marginal: Callable[[], Marginal]


def parts_of(values: Values) -> list[Part]:
    """Return the parts that the smooth part of a column's distribution is mixed of."""
    found = [_normal(values)]
    for mass in (values.held, np.ones_like(values.held)):
        found += [_histograms(values, mass, width) for width in WIDTHS]
        if len(values.own) <= MOST_KERNELS:
            found += [_kernels(values, mass, width) for width in KERNEL_WIDTHS]
    return found


def mixed(parts: Sequence[Part], weights: Floats) -> Marginal:
    """Return a mixture of parts as a density of few pieces."""
    kept = np.flatnonzero(weights >= min(LEAST_WEIGHT, float(weights.max())))
    marginals = [parts[i].marginal() for i in kept.tolist()]
    share = weights[kept] / weights[kept].sum()
    edges = np.unique(np.concatenate([own.edges for own in marginals]))
    below = [np.interp(edges, own.edges, own.below) for own in marginals]
    return merged(Marginal(edges, np.diff(share @ np.array(below))), MOST_PIECES)


# ---- parts -------------------------------------------------------------------------------------


def _normal(values: Values) -> Part:
    from scipy.special import ndtr

    spread = 2.0 * values.spread + values.resolution
    density = _bell((values.own - values.mean) / spread) / spread
    places = np.linspace(_REACH[0], _REACH[-1], 129)
    chances = np.diff(ndtr(places))
    return Part(
        density, lambda: Marginal(values.mean + spread * places, chances / float(chances.sum()))
    )


def _histograms(values: Values, mass: Floats, width: float) -> Part:
    """Return the average of shifted histograms; `mass` is what each value counts."""
    inside = max(2.0, width * np.sqrt(values.rows)) * float(mass.sum()) / values.rows
    density = np.zeros(len(mass))
    for shift in range(SHIFTS):
        number, edges = _bins(values, mass, inside, shift / SHIFTS)
        density += (np.bincount(number, mass)[number] - mass) / np.diff(edges)[number] / SHIFTS
    density /= np.maximum(mass.sum() - mass, np.finfo(float).tiny)
    return Part(density, partial(_histogram, values, mass, inside))


def _histogram(values: Values, mass: Floats, inside: float) -> Marginal:
    """Return the average of shifted histograms with this mass in a bin."""
    parts = []
    for shift in range(SHIFTS):
        number, edges = _bins(values, mass, inside, shift / SHIFTS)
        counts = np.bincount(number, mass)
        parts.append((edges, np.concatenate([[0.0], np.cumsum(counts / counts.sum())])))
    every = np.unique(np.concatenate([edges for edges, _ in parts]))
    reached = np.mean([np.interp(every, edges, below) for edges, below in parts], axis=0)
    return Marginal(every, np.diff(reached))


def _bins(values: Values, mass: Floats, inside: float, shift: float) -> tuple[Ints, Floats]:
    """Return the number of the bin of each value, and the edges of all bins.

    Bins have about equal mass, but for the first and the last, and end between two values.
    """
    reached = (np.cumsum(mass) - 0.5 * mass) / inside
    _, number = np.unique(np.floor(reached + shift), return_inverse=True)
    ends = np.flatnonzero(np.diff(number))
    half = 0.5 * values.resolution
    low, high = values.own[0] - half, values.own[-1] + half
    return number, np.concatenate([[low], values.middles[ends], [high]])


def _kernels(values: Values, mass: Floats, width: float) -> Part:
    """Return normal densities around all values; `mass` is what each value counts.

    They are as wide as the way to the neighbour that has `width` square roots of all rows nearer
    by, or as the resolution.
    """
    nearer = max(1.0, width * np.sqrt(values.rows)) * float(mass.sum()) / values.rows
    sd = np.maximum(_way(values.own, mass, nearer), values.resolution)
    share = _bell((values.own[:, None] - values.own) / sd) / sd
    np.fill_diagonal(share, 0.0)
    density = (share @ mass) / np.maximum(mass.sum() - mass, np.finfo(float).tiny)
    return Part(density, partial(_sum_of_kernels, values, mass, sd))


def _way(own: Floats, mass: Floats, nearer: float) -> Floats:
    """Return the least distances within which each value has others of this mass."""
    reached = np.concatenate([[0.0], np.cumsum(mass)])
    low, high = np.zeros(len(own)), np.full(len(own), own[-1] - own[0])
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        first = np.searchsorted(own, own - middle, side="left")
        last = np.searchsorted(own, own + middle, side="right")
        enough = reached[last] - reached[first] - mass >= nearer
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _sum_of_kernels(values: Values, mass: Floats, sd: Floats) -> Marginal:
    from scipy.special import ndtr

    places = np.unique(values.own[:, None] + sd[:, None] * _REACH)
    if len(places) > MOST_PLACES:
        chosen = np.linspace(0, len(places) - 1, MOST_PLACES).astype(np.int64)
        places = places[chosen]
    below = ndtr((places[:, None] - values.own) / sd) @ (mass / mass.sum())
    chances = np.maximum(np.diff(below), 0.0)
    return Marginal(places, chances / chances.sum())


def _bell(z: Floats) -> Floats:
    found: Floats = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return found


# ---- pieces ------------------------------------------------------------------------------------


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
