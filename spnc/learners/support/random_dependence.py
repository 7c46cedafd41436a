"""The randomised dependence coefficient of pairs of columns (Lopez-Paz, Hennig & Schölkopf 2013).

Every column becomes a few features: of numbers, random sine waves over their ranks; of states, an
indicator each. The coefficient of two columns is the largest canonical correlation of their
features: how well some function of one column follows some function of the other.

Features are whitened column by column, so that the canonical correlations of two columns are the
singular values of the block that a single product of matrices has for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column
from spnc.data.crossing import by_column, by_states
from spnc.data.table import PIECE_CELLS, Table
from spnc.learners.support.independence import Flags
from spnc.learners.support.leaf_fit import Indices

FEATURES = 20  # of a column with numbers, or with more states than this
# Standard deviation of the waves' frequencies, in radians over all ranks: about half a wave. Of 1,
# 3, 6 and 10, small ones miss a whole wave in 100 rows, and large ones a line in 50.
SPREAD = 3.0
LEAST = 1e-3  # of the largest variance: directions of less are finer than the waves
_TINY = 1e-9  # a variance that is a rounding error; rows that are none
_PARTS = 1024  # of all ranks: a wave is as good as level over one of them
_PAIRS_AT_ONCE = 1 << 12  # bounds memory


@dataclass(frozen=True, eq=False)
class Waves:
    """What is random in the coefficient: drawn once, and used for every slice of a table."""

    heights: Floats  # of the waves over the middles of even parts of the ranks, `[part, feature]`
    angles: Floats  # of the states of columns that have many, `[state, feature]`

    @staticmethod
    def draw(columns: Sequence[Column], rng: np.random.Generator) -> Waves:
        """Draw the waves for a table with these columns."""
        states = max((c.states for c in columns if c.is_finite), default=0)
        many = states if states > FEATURES else 0
        frequencies = rng.normal(scale=SPREAD, size=FEATURES)
        phases, angles = (rng.uniform(0.0, 2.0 * np.pi, n) for n in (FEATURES, (many, FEATURES)))
        ranks = (np.arange(_PARTS) + 0.5) / _PARTS
        return Waves(_sines(ranks[:, None] * frequencies + phases), angles)

    def of_ranks(self, ranks: Floats) -> Floats:
        """Return the features of numbers with these ranks, above 0 and below 1."""
        found: Floats = self.heights[(ranks * _PARTS).astype(np.intp)]
        return found

    def of_states(self, states: int) -> Floats:
        """Return the features of each state."""
        if states <= FEATURES:
            return np.eye(states)
        return _sines(self.angles[:states])


def _sines(angles: Floats) -> Floats:
    """Return a feature for each angle; the squares of all of a value sum up to one, or nearly."""
    found: Floats = np.sqrt(2.0 / FEATURES) * np.sin(angles)
    return found


class DependenceTest:
    """Tells which columns of a slice depend on one another, by their coefficients.

    Two columns are dependent when their coefficient reaches `correlation`, and Bartlett's test of
    all their canonical correlations says that independent columns would come as far with a
    probability of `level` at most: in a slice of few rows, large coefficients are no sign of
    anything. The number of rows is their weight.

    Missing cells are left out pair by pair: correlations and means are those of the rows that have
    both values. Only variances are those of all rows that have a column's value.
    """

    most_at_once = 128  # columns of which all pairs are tested by one product

    def __init__(
        self,
        columns: Sequence[Column],
        table: Table,
        waves: Waves,
        *,
        correlation: float,
        level: float,
    ) -> None:
        self.width = len(columns)
        self._correlation, self._level = correlation, level
        self._weights = table.weights
        self._features = [_Features.of(column, table, i, waves) for i, column in enumerate(columns)]
        self._degrees = np.array([own.degrees for own in self._features])
        self._sizes = np.maximum(self._degrees, 1)
        self._complete = all(own.known.all() for own in self._features)

    @cached_property
    def every_pair(self) -> Flags:
        """Whether each pair of columns is dependent, `[column, column]`."""
        every = np.arange(self.width)
        found = np.triu(self.between(every, every), 1)
        return found | found.T

    def between(self, some: Indices, others: Indices) -> Flags:
        """Return whether each of some columns depends on each of others."""
        first, second = self._places(some), self._places(others)
        blocks, rows = self._correlations(some, others)
        # The largest squared correlation is at most the sum of all.
        sums = by_column(by_column(blocks**2, first.ends, 0), second.ends, 1)
        found: Flags = (sums >= self._correlation**2) & (sums > 0.0)
        one, two = np.nonzero(found)
        for begin in range(0, len(one), _PAIRS_AT_ONCE):
            i, j = one[begin : begin + _PAIRS_AT_ONCE], two[begin : begin + _PAIRS_AT_ONCE]
            squared = _squared_correlations(blocks, first.of(i), second.of(j))
            degrees = self._degrees[some[i]], self._degrees[others[j]]
            found[i, j] = self._are_dependent(squared, rows[i, j], *degrees)
        return found

    def _are_dependent(self, squared: Floats, rows: Floats, own: Ints, other: Ints) -> Flags:
        """Return whether columns with these squared correlations, `[pair, number]`, depend."""
        from scipy.special import chdtrc

        scale = rows - 1.0 - (own + other + 1.0) / 2.0
        # Equal columns have a correlation of one, which one row more might show to be less.
        most = 1.0 - 1.0 / np.maximum(rows, 1.0)
        statistic = -scale * np.log1p(-np.minimum(squared, most[:, None])).sum(axis=1)
        chance = chdtrc(np.maximum(own * other, 1), np.maximum(statistic, 0.0))
        found: Flags = (squared.max(axis=1) >= self._correlation**2) & (chance <= self._level)
        return found

    def _correlations(self, some: Indices, others: Indices) -> tuple[Floats, Floats]:
        """Return the correlations of features, and how many rows have the values of both columns.

        The first is by pair of features, the second by pair of columns.
        """
        first, second = self._places(some), self._places(others)
        own, other = int(first.ends[-1]), int(second.ends[-1])
        products = self._products(some, others)
        if self._complete:
            total = float(self._weights.sum())
            return products / max(total, _TINY), np.full((len(some), len(others)), total)
        rows = products[own:, other:]
        shares = by_states(1.0 / np.maximum(rows, _TINY), first.ends, 0)
        means = by_states(products[:own, other:] * shares, second.ends, 1)
        means *= by_states(products[own:, :other], first.ends, 0)
        return (products[:own, :other] - means) * by_states(shares, second.ends, 1), rows

    def _products(self, some: Indices, others: Indices) -> Floats:
        """Return the sums, over all rows, of the products of the features of columns."""
        alike, found = np.array_equal(some, others), np.zeros(())
        most = max(int(self._sizes[columns].sum()) + len(columns) for columns in (some, others))
        step = max(1, PIECE_CELLS // most)
        for begin in range(0, len(self._weights), step):
            part = slice(begin, begin + step)
            first = self._cells(some, part)
            second = first if alike else self._cells(others, part)
            found = found + (first * self._weights[part, None]).T @ second
        return found

    def _cells(self, columns: Indices, part: slice) -> Floats:
        """Return the features of some rows; where cells are missing, then a one for each value."""
        own = [self._features[column] for column in columns.tolist()]
        cells = [features.lookup[features.codes[part]] for features in own]
        if not self._complete:
            cells += [features.known[part, None] for features in own]
        return np.concatenate(cells, axis=1)

    def _places(self, columns: Indices) -> _Places:
        """Return where the features of columns are when they lie one after another."""
        sizes = self._sizes[columns]
        return _Places(np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)]))


@dataclass(frozen=True, eq=False)
class _Places:
    """Where the features of columns are that lie one after another."""

    ends: Ints  # where those of each begin, and where the last ones end

    def of(self, columns: Indices) -> Ints:
        """Return the places of each column's features, and after the last of few the very end."""
        begins, sizes = self.ends[columns], np.diff(self.ends)[columns]
        places = np.arange(int(sizes.max()))
        return np.where(places < sizes[:, None], begins[:, None] + places, self.ends[-1])


@dataclass(frozen=True, eq=False)
class _Features:
    """The whitened features of a column of a slice: uncorrelated, with mean 0 and variance 1.

    A row has the features at its code in `lookup`; the last code is that of missing cells, whose
    features are zeros. A column with a single value has a feature that is zero everywhere.
    """

    codes: Indices
    lookup: Floats  # [code, feature]
    degrees: int  # features that are not zero everywhere

    @property
    def known(self) -> Flags:
        """Which rows have a value."""
        found: Flags = self.codes < len(self.lookup) - 1
        return found

    @staticmethod
    def of(column: Column, table: Table, place: int, waves: Waves) -> _Features:
        """Return the features of a column of a slice."""
        values, codes = np.unique(table.column(place), return_inverse=True)
        values = values[~np.isnan(values)]
        held = np.bincount(codes, weights=table.weights, minlength=len(values))[: len(values)]
        total = max(float(held.sum()), _TINY)
        if column.is_finite:
            raw = waves.of_states(column.states)[values.astype(np.intp)]
        else:
            raw = waves.of_ranks((np.cumsum(held) - held / 2.0) / total)
        found = _whitened(raw, held / total, 0.0 if column.is_finite else LEAST)
        found = found[:, _bearable(found, total)]
        degrees = found.shape[1]
        lookup = np.zeros((len(values) + 1, max(1, degrees)))
        lookup[:-1, :degrees] = found
        return _Features(codes, lookup, degrees)


def _whitened(features: Floats, shares: Floats, least: float) -> Floats:
    """Return uncorrelated combinations of features, those of the largest variance first.

    `shares` of the rows have each value. Directions of less variance than `least` times the
    largest are left out.
    """
    if len(features) < 2:
        return np.zeros((len(features), 0))
    centred = features - shares @ features
    variances, directions = np.linalg.eigh((centred * shares[:, None]).T @ centred)
    some = np.flatnonzero(variances > max(_TINY, least * variances[-1]))[::-1]
    found: Floats = centred @ (directions[:, some] / np.sqrt(variances[some]))
    return found


def _bearable(features: Floats, rows: float) -> Indices:
    """Return the features whose chance correlations in this many rows are those of normal values.

    A rare state is not among them: its feature is far out in few rows, and should another column's
    be so in one of these, they are highly correlated. A state with a share p of the rows reaches
    the square 1/p - 1, so that two states below the bound are expected to meet in a row. More
    features than half that bound would be too many for the rows.
    """
    root = np.sqrt(rows)
    some = np.flatnonzero((features**2).max(axis=0, initial=0.0) <= root + _TINY)
    return some[: max(1, int(root / 2.0))]


def _squared_correlations(blocks: Floats, first: Indices, second: Indices) -> Floats:
    """Return the squared canonical correlations of pairs of columns, `[pair, number]`.

    The places of each pair's features are those of rows and columns of `blocks`, or the very end.
    """
    padded = np.pad(blocks, (0, 1))
    own: Floats = padded[first[:, :, None], second[:, None, :]]
    if own.shape[1] > own.shape[2]:
        own = own.transpose(0, 2, 1)
    found: Floats = np.linalg.eigvalsh(own @ own.transpose(0, 2, 1)).clip(0.0, 1.0)
    return found
