"""Simple densities of single columns, chosen on validation rows: what independence gives.

A real column is a Gaussian or a histogram, whichever describes the validation cells better, with a
Cauchy distribution in the background so that a value far outside is unlikely instead of impossible.
A discrete column has smoothed shares of its states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.stats import cauchy, norm

from benchmarks.common.density_tables import DensityTable
from benchmarks.common.hidden_tables import Floats

BINS = tuple(2**power for power in range(1, 18))
PRIORS = (0.1, 0.5, 1.0, 2.0)  # pseudo-rows for every state of a discrete column
SPREAD = 1.0  # pseudo-rows of a histogram, spread evenly over its bins
BACKGROUND = 0.01  # the share of the Cauchy distribution around a real column's median


class Marginal(Protocol):
    """The density of a column."""

    def density(self, values: Floats) -> Floats:
        """Return the density at each value, of which none is missing."""
        ...


@dataclass(frozen=True, eq=False)
class Shares:
    """Probabilities of the states of a discrete column."""

    chances: Floats

    def density(self, values: Floats) -> Floats:
        """Return the probability of each state."""
        found: Floats = self.chances[values.astype(np.int64)]
        return found

    @staticmethod
    def fit(values: Floats, states: int, prior: float) -> Shares:
        """Return the shares of states, with pseudo-rows for each."""
        counts = np.bincount(values.astype(np.int64), minlength=states) + prior
        return Shares(counts / counts.sum())


@dataclass(frozen=True)
class Background:
    """The Cauchy distribution around a column's median, as wide as its standard deviation."""

    median: float
    sd: float

    def mixed(self, density: Floats, values: Floats) -> Floats:
        """Return the density at each value, mixed with that of the background."""
        far: Floats = cauchy.pdf(values, self.median, self.sd)
        return (1 - BACKGROUND) * density + BACKGROUND * far


@dataclass(frozen=True)
class Normal:
    """A Gaussian, and the background."""

    mean: float
    background: Background

    def density(self, values: Floats) -> Floats:
        """Return the density at each value."""
        near = norm.pdf(values, self.mean, self.background.sd)
        return self.background.mixed(near, values)


@dataclass(frozen=True, eq=False)
class Histogram:
    """Bins of even density, and the background."""

    edges: Floats
    chances: Floats
    background: Background

    def density(self, values: Floats) -> Floats:
        """Return the density at each value."""
        heights = np.concatenate([[0.0], self.chances / np.diff(self.edges), [0.0]])
        within = heights[np.searchsorted(self.edges, values, side="right")]
        return self.background.mixed(within, values)

    @staticmethod
    def fit(values: Floats, edges: Floats, background: Background) -> Histogram:
        """Return the histogram of values in these bins."""
        counts = np.histogram(values, edges)[0] + SPREAD / (len(edges) - 1)
        return Histogram(edges, counts / counts.sum(), background)


def real_marginals(values: Floats, resolution: float) -> list[Marginal]:
    """Return the candidates for a real column: a Gaussian, and histograms of two kinds of bins."""
    background = Background(float(np.median(values)), max(float(values.std()), resolution))
    low, high = float(values.min()) - resolution / 2, float(values.max()) + resolution / 2
    found: list[Marginal] = [Normal(float(values.mean()), background)]
    for count in BINS:
        if (high - low) / count < resolution:
            break  # narrower bins would describe the noise of dequantising
        even = np.linspace(low, high, count + 1)
        inner = np.quantile(values, np.linspace(0.0, 1.0, count + 1)[1:-1])
        equal = _thinned(np.concatenate([[low], inner, [high]]), resolution)
        found += [Histogram.fit(values, edges, background) for edges in (even, equal)]
    return found


def _thinned(edges: Floats, least: float) -> Floats:
    """Return the edges without those that are too close to the one before; the ends stay."""
    kept = [float(edges[0])]
    for edge in edges[1:-1].tolist():
        if edge - kept[-1] >= least and edges[-1] - edge >= least:
            kept.append(edge)
    return np.array([*kept, float(edges[-1])])


def best(candidates: Sequence[Marginal], values: Floats) -> Marginal:
    """Return the candidate under which values are most likely; the first of equally good ones."""
    return max(candidates, key=lambda each: total(each, values))


def total(marginal: Marginal, values: Floats) -> float:
    """Return the sum of the log densities of values."""
    with np.errstate(divide="ignore"):
        return float(np.log(marginal.density(values)).sum())


@dataclass(frozen=True, eq=False)
class Independent:
    """A density of independent columns."""

    marginals: tuple[Marginal, ...]

    def log_density(self, rows: Floats) -> Floats:
        """Return the log density of each row; a missing cell adds nothing."""
        found = np.zeros(len(rows))
        for place, marginal in enumerate(self.marginals):
            known = ~np.isnan(rows[:, place])
            with np.errstate(divide="ignore"):
                found[known] += np.log(marginal.density(rows[known, place]))
        return found


def independent(
    table: DensityTable, real: Callable[[DensityTable, int], Marginal] | None = None
) -> Independent:
    """Return independent columns, fitted to training rows and chosen on validation rows.

    `real` makes the density of a real column from the table and its number.
    """
    real = real or _real
    made = [
        real(table, place) if is_real else _discrete(table, place)
        for place, is_real in enumerate(table.is_real.tolist())
    ]
    return Independent(tuple(made))


def known_cells(rows: Floats, place: int) -> Floats:
    """Return the cells of a column that are not missing."""
    cells = rows[:, place]
    return cells[~np.isnan(cells)]


def _real(table: DensityTable, place: int) -> Marginal:
    train, valid = (known_cells(table.dequantised[s], place) for s in ("train", "valid"))
    return best(real_marginals(train, float(table.resolution[place])), valid)


def _discrete(table: DensityTable, place: int) -> Marginal:
    train, valid = (known_cells(table.plain[s], place) for s in ("train", "valid"))
    states = int(table.states[place])
    return best([Shares.fit(train, states, prior) for prior in PRIORS], valid)
