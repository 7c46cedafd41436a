"""A known network over columns of every kind: rows can be drawn, and their density is known.

The columns form a tree. A categorical column depends on its parent's state, a count is Poisson and
a real column is Gaussian given the state of its parent; a real column below a real one depends on
it linearly. So log p(row) is a sum of simple terms, and its mean over rows is minus the entropy.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma

import numpy as np

from spnc.common.arrays import Floats

STATES = 4


@dataclass(frozen=True, eq=False)
class MixedNetwork:
    """Ten columns: four categorical, two counts, four real."""

    tables: tuple[Floats, ...]  # p(state | parent's state) of the categorical columns
    rates: Floats  # `[count, state]`
    means: Floats  # `[real, state]`
    sds: Floats

    names = (
        "region",
        "kind",
        "grade",
        "mood",
        "visits",
        "defects",
        "length",
        "mass",
        "age",
        "speed",
    )
    _parents = (-1, 0, 0, 1, 1, 2, 0, 6, 2, 8)  # lengths and ages have real children

    @staticmethod
    def of(seed: int) -> MixedNetwork:
        """Return a network with random parameters."""
        rng = np.random.default_rng(seed)
        tables = tuple(rng.dirichlet(np.full(STATES, 0.7), size=STATES) for _ in range(4))
        return MixedNetwork(
            tables,
            rng.uniform(1.0, 12.0, size=(2, STATES)),
            rng.normal(0.0, 10.0, size=(2, STATES)),
            rng.uniform(1.0, 3.0, size=(2, STATES)),
        )

    def draw(self, rows: int, rng: np.random.Generator) -> Floats:
        """Return complete rows, `[row, column]`; categories are codes."""
        found = np.empty((rows, len(self.names)))
        found[:, 0] = _drawn(np.repeat(self.tables[0][:1], rows, axis=0), rng)
        for column in (1, 2, 3):
            parent = found[:, self._parents[column]].astype(int)
            found[:, column] = _drawn(self.tables[column][parent], rng)
        for i, column in enumerate((4, 5)):
            parent = found[:, self._parents[column]].astype(int)
            found[:, column] = rng.poisson(self.rates[i, parent])
        for i, column in enumerate((6, 8)):
            parent = found[:, self._parents[column]].astype(int)
            found[:, column] = rng.normal(self.means[i, parent], self.sds[i, parent])
            found[:, column + 1] = rng.normal(2.0 * found[:, column] + 1.0, 4.0)
        return found

    def log_density(self, rows: Floats) -> Floats:
        """Return log p of complete rows."""
        codes = rows[:, :4].astype(int)
        found: Floats = np.log(self.tables[0][0, codes[:, 0]])
        for column in (1, 2, 3):
            found += np.log(self.tables[column][codes[:, self._parents[column]], codes[:, column]])
        for i, column in enumerate((4, 5)):
            rate, count = self.rates[i, codes[:, self._parents[column]]], rows[:, column]
            found += count * np.log(rate) - rate - np.vectorize(lgamma)(count + 1.0)
        for i, column in enumerate((6, 8)):
            parent = codes[:, self._parents[column]]
            found += _gaussian(rows[:, column], self.means[i, parent], self.sds[i, parent])
            found += _gaussian(rows[:, column + 1], 2.0 * rows[:, column] + 1.0, 4.0)
        return found

    def entropy(self, rows: int = 200_000, seed: int = 99) -> float:
        """Return the entropy in nats, from this many rows."""
        return -float(self.log_density(self.draw(rows, np.random.default_rng(seed))).mean())


def hidden(rows: Floats, share: float, rng: np.random.Generator) -> Floats:
    """Return the rows with a share of their cells missing, at random."""
    return np.where(rng.random(rows.shape) < share, np.nan, rows)


def _drawn(probabilities: Floats, rng: np.random.Generator) -> Floats:
    ends = np.cumsum(probabilities, axis=1)
    drawn: Floats = (rng.random(len(ends))[:, None] >= ends[:, :-1]).sum(axis=1).astype(float)
    return drawn


def _gaussian(values: Floats, mean: Floats | float, sd: Floats | float) -> Floats:
    found: Floats = -0.5 * ((values - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2.0 * np.pi)
    return found
