"""Random columns, values and parameters on which the promises of a leaf are checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, Scale
from spnc.leaves import Distribution
from spnc.leaves.finite import as_finite
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import as_numeric
from spnc.leaves.restricted import RestrictedLeaf
from spnc.leaves.warp_fit import fitted_warp

Leaf = type[Distribution]
LEAVES = 4  # in a table
ROWS = 300  # of a column
_RESOLUTIONS = (1.0, 0.1, 1e-3)
_PARTS, _NODES = 4, 20  # of a piece on which a density is smooth
_WARPED = 0.75  # of the columns have a warp, if the leaf has a use for it
_WARP_ROWS = 60  # by which it is fitted


@dataclass(frozen=True)
class LeafCase:
    """A leaf distribution over a random column, with a table of random parameters."""

    leaf: Leaf
    rng: np.random.Generator
    column: Column
    columns: LeafColumns
    values: Floats  # of the column: all states, or the numbers of some rows
    table: Floats

    @staticmethod
    def of(leaf: Leaf, seed: int) -> LeafCase:
        """Return the case of one seed."""
        rng = np.random.default_rng(seed)
        column, values = random_column(leaf, rng)
        columns = LeafColumns.of([column], np.zeros(LEAVES, dtype=np.int64))
        return LeafCase(
            leaf, rng, column, columns, values, random_table(leaf, rng, column, columns, values)
        )

    def other_table(self) -> Floats:
        """Return other random parameters."""
        return random_table(self.leaf, self.rng, self.column, self.columns, self.values)

    def some_values(self, count: int, rows: int = LEAVES) -> Floats:
        """Draw values of the column, `[row, value]`."""
        return self.rng.choice(self.values, size=(rows, count))

    def samples(self, count: int) -> Floats:
        """Draw values from the leaves of the table, `[leaf, value]`."""
        own = np.repeat(np.arange(len(self.table)), count)
        drawn = self.leaf.sample(self.table[own], self.columns.take(own), self.rng)
        return drawn.reshape(len(self.table), count)


def smooth_pieces(
    leaf: Leaf, table: Floats, columns: LeafColumns, low: float, high: float
) -> tuple[Floats, Floats]:
    """Return values between two others, and weights by which one leaf's density is integrated.

    The density is smooth between the values at which it may jump.
    """
    breaks = as_numeric(leaf).breaks(table, columns)
    ends = np.array([low, *breaks[(low < breaks) & (breaks < high)], high])
    steps = np.linspace(0.0, 1.0, _PARTS + 1)[:-1]
    ends = np.append((ends[:-1, None] + np.diff(ends)[:, None] * steps).ravel(), ends[-1])
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = 0.5 * np.diff(ends)[:, None]
    return (ends[:-1, None] + half * (1.0 + nodes)).ravel(), (half * weights).ravel()


def is_fixed(leaf: Leaf) -> bool:
    """Whether training cannot change a leaf."""
    kind = leaf.kinds[0] if not leaf.is_finite else "binary"
    column = Column("x", kind, 2) if leaf.is_finite else Column("x", kind, 0)
    return leaf.free_parameters(len(leaf.default(column))) == 0


def random_column(leaf: Leaf, rng: np.random.Generator) -> tuple[Column, Floats]:
    """Return a column that a leaf can model, and values of it."""
    if leaf.is_finite:
        states = int(rng.integers(2, 6)) if "categorical" in leaf.kinds else 2
        return finite_column(states), np.arange(states, dtype=np.float64)
    kind = leaf.kinds[int(rng.integers(len(leaf.kinds)))]
    spread = rng.gamma(rng.uniform(0.5, 5.0), rng.uniform(0.5, 20.0), size=ROWS)
    if kind == "count":
        values, resolution = rng.poisson(spread).astype(np.float64), 1.0
    else:
        resolution = float(rng.choice(_RESOLUTIONS))
        far = 0.0 if _is_positive(leaf) else rng.normal() * 10.0 ** rng.integers(0, 7)
        values = np.maximum(np.rint(spread / resolution), 1.0) * resolution + far
    warp = None
    if as_numeric(leaf).needs_warp and rng.random() < _WARPED:
        some = values[:_WARP_ROWS]
        warp = fitted_warp(some, np.ones(len(some)), resolution)
    return Column("x", kind, 0, scale=scale_of_values(values, resolution), warp=warp), values


def finite_column(states: int) -> Column:
    """Return a column with this number of states."""
    return Column("x", "binary" if states == 2 else "categorical", states)


def scale_of_values(values: Floats, resolution: float) -> Scale:
    """Return the scale of a column with these values."""
    low, high = float(values.min()), float(values.max())
    mean, sd = float(values.mean()), float(values.std())
    positive = np.log(values[values > 0.0])
    if len(positive) == 0:
        return Scale(resolution, low, high, mean, sd)
    return Scale(resolution, low, high, mean, sd, float(positive.mean()), float(positive.std()))


def random_table(
    leaf: Leaf, rng: np.random.Generator, column: Column, columns: LeafColumns, values: Floats
) -> Floats:
    """Return parameters of a few leaves, valid and otherwise random.

    Leaves over numbers are fitted to values of the column with random weights.
    """
    if issubclass(leaf, RestrictedLeaf):
        whole = random_table(leaf.base, rng, column, columns, values)
        return np.concatenate([whole, random_ends(leaf.base, rng, whole, columns)], axis=1)
    start = np.tile(np.asarray(leaf.default(column), dtype=np.float64), (LEAVES, 1))
    if is_fixed(leaf):
        codes = rng.integers(max(column.states, 1), size=(LEAVES, 1)).astype(np.float64)
        return codes if leaf.is_finite and leaf.arity == 1 else start
    if leaf.is_finite:
        chances = rng.dirichlet(np.ones(column.states), size=LEAVES)
        return as_finite(leaf).from_probabilities(chances, start)
    own = rng.choice(values, size=(LEAVES, int(rng.integers(2, 12))))
    weights, alpha = rng.random(own.shape), float(rng.choice([0.1, 1.0]))
    table = start
    for _ in range(min(leaf.fit_steps, 3)):  # they need not be the best
        counts = leaf.statistics(own, weights, table, columns)
        table = leaf.estimate(counts, alpha, table, columns)
    return table


def random_ends(
    leaf: Leaf, rng: np.random.Generator, table: Floats, columns: LeafColumns
) -> Floats:
    """Return ends of an interval for each leaf over numbers, `[leaf, 2]`; some are infinite.

    One leaf in four is restricted to a tail that has almost no probability.
    """
    numeric = as_numeric(leaf)
    shares = np.sort(rng.uniform(0.01, 0.99, size=(2, len(table))), axis=0)
    low, high = (leaf.quantile(table, part, columns) for part in shares)
    far = numeric.upper_quantile(table, 10.0 ** -rng.uniform(3.0, 12.0, size=len(table)), columns)
    tail = rng.random(len(table)) < 0.25
    low = np.where(tail, far, np.where(rng.random(len(table)) < 0.25, -np.inf, low))
    high = np.where(tail | (rng.random(len(table)) < 0.25), np.inf, high)
    possible = numeric.interval(table, low[:, None], high[:, None], columns)[:, 0] > 0.0
    end = np.minimum(high, leaf.support(table, columns)[1])
    wide = (end - low >= columns.resolution) & (low < high)
    low = np.where(possible & wide, low, -np.inf)
    return np.stack([low, high], axis=1)


def _is_positive(leaf: Leaf) -> bool:
    """Whether only values from zero on are possible, wherever the column lies."""
    column = Column("x", "real", 0, scale=Scale(1.0, -9.0, -1.0, -5.0, 1.0))
    table = np.asarray([leaf.default(column)], dtype=np.float64)
    low, _ = leaf.support(table, LeafColumns.of([column], np.zeros(1, dtype=np.int64)))
    return bool(low[0] >= 0.0)
