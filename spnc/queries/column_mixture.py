"""The distribution of one column: a mixture of leaves, each perhaps within an interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats, Ints
from spnc.data.columns import Column
from spnc.leaves import Distribution
from spnc.leaves.finite import as_finite
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import as_numeric
from spnc.leaves.point import Point
from spnc.leaves.restricted import RestrictedLeaf, restricted
from spnc.program.program import LeafTable
from spnc.queries.evidence import probability_within
from spnc.queries.value_sets import Span, ValueSet, is_whole

_HALVINGS = 200  # until two doubles between which a quantile lies are neighbours
_NODES = 32  # of Gauss-Legendre quadrature in a panel
# Warps have tens of thousands of panels: fewer nodes in those that hold less of the probability.
_MANY_PANELS, _LIKELY, _FEW_NODES = 1024, 1e-3, 4
_MOST_CELLS = 2**22  # leaves times values that are computed at once
# The logits of the shares between which a density is integrated: from 1e-12 to 1 - 1e-12.
_LOGITS = np.linspace(-27.6, 27.6, 93)
_TAIL = 1e-17  # the probability beyond the values over which a count is summed
_PEAKS = 257  # values at which a density is compared to find its highest
_GRID, _ROUNDS = 17, 12  # values between the neighbours of the best one, and how often


@dataclass(frozen=True, eq=False)
class Part:
    """Leaves of one distribution, with their weights, and the interval to which all are restricted.

    `chances` is the probability of the interval under each leaf.
    """

    kind: type[Distribution]
    table: Floats
    columns: LeafColumns
    weights: Floats
    span: Span
    chances: Floats

    @staticmethod
    def restricted(
        leaf: LeafTable,
        table: Floats,
        columns: LeafColumns,
        weights: Floats,
        values: ValueSet | None,
    ) -> list[Part]:
        """Return leaves restricted to a set of values, one part for each of its intervals.

        `weights` are those of the leaves within the set.
        """
        if values is None:
            every = (-np.inf, np.inf)
            return [Part(leaf.kind, table, columns, weights, every, np.ones(len(table)))]
        total = probability_within(leaf, table, columns, values)
        found = []
        for span in values.spans:
            own = probability_within(leaf, table, columns, ValueSet((span,), values.whole))
            some = np.flatnonzero(own > 0.0)
            if len(some):
                shares = weights[some] * own[some] / total[some]
                taken = columns.take(some)
                found.append(Part(leaf.kind, table[some], taken, shares, span, own[some]))
        return found

    def cdf(self, values: Floats) -> Floats:
        """Return the weighted probability of at most each value, `[value]`."""
        return self._weighted(self._below, values)

    def density(self, values: Floats) -> Floats:
        """Return the weighted density at each value, `[value]`."""
        inside = (self.span[0] <= values) & (values <= self.span[1])
        return self._weighted(self._dense, values) * inside

    def _below(self, values: Floats) -> Floats:
        """Return the probability of at most each value, `[leaf, value]`."""
        low, high = self.span
        shape = (len(self.table), len(values))
        upper = np.broadcast_to(np.minimum(values, high), shape)
        if np.isinf(low):
            return self.kind.cdf(self.table, upper, self.columns)
        return self.kind.interval(self.table, np.full(shape, low), upper, self.columns)

    def _dense(self, values: Floats) -> Floats:
        """Return the density at each value, `[leaf, value]`."""
        found: Floats = np.exp(self.kind.log_density(self.table, values[None], self.columns))
        return found

    def _weighted(self, function: Callable[[Floats], Floats], values: Floats) -> Floats:
        """Return the weighted sum over leaves of a function of some values at once."""
        some = max(1, _MOST_CELLS // max(len(self.table), 1))
        shares = self.weights / self.chances
        begins = range(0, max(len(values), 1), some)
        return np.concatenate([shares @ function(values[i : i + some]) for i in begins])

    def moments(self) -> tuple[Floats, Floats]:
        """Return mean and variance of each leaf within the interval."""
        if self.span == (-np.inf, np.inf):
            return self.kind.mean(self.table, self.columns), self.kind.variance(
                self.table, self.columns
            )
        low, high = (np.full(len(self.table), end) for end in self.span)
        return self.kind.moments_within(self.table, low, high, self.columns)

    def modes(self) -> Floats:
        """Return the value of highest density of each leaf over numbers, within the interval."""
        low, high = (np.full(len(self.table), end) for end in self.span)
        return as_numeric(self.kind).mode_within(self.table, low, high, self.columns)

    def bounds(self) -> Span:
        """Return the least and the largest possible value."""
        low, high = self.kind.support(self.table, self.columns)
        return max(float(low.min()), self.span[0]), min(float(high.max()), self.span[1])


@dataclass(frozen=True, eq=False)
class ColumnMixture:
    """The distribution of a column; the weights of all parts together add up to one."""

    column: Column
    parts: Sequence[Part]

    def probabilities(self) -> Floats:
        """Return the probability of each state of a column with finitely many."""
        states = np.arange(self.column.states, dtype=np.float64)
        return self.density(states)

    def density(self, values: Floats) -> Floats:
        """Return the density at each value, or its probability if values are whole numbers."""
        return sum((part.density(values) for part in self.parts), np.zeros(len(values)))

    def cdf(self, values: Floats) -> Floats:
        """Return the probability of at most each value."""
        return np.minimum(sum((p.cdf(values) for p in self.parts), np.zeros(len(values))), 1.0)

    def mean(self) -> float:
        """Return the expectation; infinite or NaN if there is none."""
        means = self._moments()[1]
        return float(self._weights() @ means)

    def variance(self) -> float:
        """Return the variance; infinite or NaN if there is none."""
        weights, means, variances = self._moments()
        apart = means - float(weights @ means)
        return float(weights @ (variances + apart**2))

    def quantile(self, share: float) -> float:
        """Return the smallest value that is not exceeded with this probability."""
        return float(self.quantiles(np.array([share]))[0])

    def quantiles(self, shares: Floats) -> Floats:
        """Return the quantile of each share; the ends of the support for 0 and 1."""
        lows, highs = zip(*(part.bounds() for part in self.parts), strict=True)
        found: Floats = np.where(shares <= 0.0, min(lows), max(highs))
        inner = (shares > 0.0) & (shares < 1.0)
        if inner.any():
            found[inner] = self._inner_quantiles(shares[inner], min(lows), max(highs))
        return found

    def _inner_quantiles(self, shares: Floats, first: float, last: float) -> Floats:
        """Return the quantiles of shares between 0 and 1, by halving the interval of each."""
        whole = is_whole(self.column)
        low, high = self._bracket(shares, first - 1.0 if whole else first, last)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if whole:
                middle = np.floor(middle)
            open_still = (low < middle) & (middle < high)
            if not open_still.any():
                break
            reached = self.cdf(middle) >= shares
            high = np.where(open_still & reached, middle, high)
            low = np.where(open_still & ~reached, middle, low)
        return high

    def mode(self) -> float:
        """Return the most probable value; of a real column, that of the highest density found."""
        if self.column.is_finite:
            return float(np.argmax(self.probabilities()))
        tops = np.concatenate([part.modes() for part in self.parts])
        if self.column.kind == "count":
            near = np.unique(np.concatenate([tops + step for step in (-1, 0, 1)]))
            values = near[near >= 0.0]
            spread = self.quantiles(np.array([0.01, 0.99]))
            if spread[1] - spread[0] < _PEAKS * 4:
                values = np.unique(np.append(values, np.arange(spread[0], spread[1] + 1)))
            return float(values[np.argmax(self.density(values))])
        low, high = self.quantile(1e-3), self.quantile(1.0 - 1e-3)
        values = np.unique(np.append(tops, np.linspace(low, high, _PEAKS)))
        return _highest(self.density, values)

    def entropy(self) -> float:
        """Return the entropy in nats; that of a density for a real column or a date."""
        if self.column.is_finite:
            return _entropy(self.probabilities())
        return self.expectation(lambda _values, dense: -_log_or_zero(dense))

    def expectation(self, function: Callable[[Floats, Floats], Floats]) -> float:
        """Return the expectation of a function of values of a numeric column and of their density.

        It is a sum over counts. For a real column or a date it is integrated by quadrature between
        quantiles; panels end where the density may jump: at the ends of intervals and of leaves.
        """
        if self.column.kind == "count":
            low, high = self.quantiles(np.array([0.0, 1.0 - _TAIL]))
            values = np.arange(low, high + 1.0)
            dense = self.density(values)
            return float(dense @ function(values, dense))
        # Logistic shares: panels in the tails are as narrow as those in the middle.
        ends = [self.quantile(float(s)) for s in 1.0 / (1.0 + np.exp(-_LOGITS))]
        for part in self.parts:
            ends += [*part.span, *as_numeric(part.kind).breaks(part.table, part.columns).tolist()]
        edges = np.unique(
            [e for e in ends if np.isfinite(e) and ends[0] <= e <= ends[len(_LOGITS) - 1]]
        )
        if len(edges) <= _MANY_PANELS:
            return self._integral(function, edges[:-1], edges[1:], _NODES)
        likely = np.diff(self.cdf(edges)) > _LIKELY
        return sum(
            self._integral(function, edges[:-1][own], edges[1:][own], nodes)
            for own, nodes in ((likely, _NODES), (~likely, _FEW_NODES))
        )

    def _integral(
        self,
        function: Callable[[Floats, Floats], Floats],
        low: Floats,
        high: Floats,
        nodes: int,
    ) -> float:
        """Return the expectation of a function, as far as it comes from these panels."""
        places, weights = np.polynomial.legendre.leggauss(nodes)
        half = 0.5 * (high - low)
        values = (low + half)[:, None] + half[:, None] * places
        dense = self.density(values.ravel())
        terms = (dense * function(values.ravel(), dense)).reshape(values.shape)
        return float((terms @ weights * half).sum())

    def sample(self, rows: int, rng: np.random.Generator) -> Floats:
        """Draw values from the column's distribution."""
        weights = self._weights()
        counts = rng.multinomial(rows, weights / weights.sum())
        found, begin = [], 0
        for part in self.parts:
            own = np.repeat(np.arange(len(part.table)), counts[begin : begin + len(part.table)])
            begin += len(part.table)
            found.append(_drawn(part, own, rng))
        values = np.concatenate(found)
        rng.shuffle(values)
        return values

    def _weights(self) -> Floats:
        return np.concatenate([part.weights for part in self.parts])

    def _moments(self) -> tuple[Floats, Floats, Floats]:
        means, variances = zip(*(part.moments() for part in self.parts), strict=True)
        return self._weights(), np.concatenate(means), np.concatenate(variances)

    def _bracket(self, shares: Floats, first: float, last: float) -> tuple[Floats, Floats]:
        """Return numbers with less and with at least the probability of each share below them."""
        scale = self.column.scale
        centre, step = (0.0, 1.0) if scale is None else (scale.mean, scale.sd or 1.0)
        if is_whole(self.column):
            centre, step = np.floor(centre), np.ceil(step)
        low, high = np.clip(centre - step, first, last), np.clip(centre + step, first, last)
        while low > first and float(self.cdf(np.array([low]))[0]) >= shares.min():
            step *= 2.0
            low = max(first, low - step)
        while high < last and float(self.cdf(np.array([high]))[0]) < shares.max():
            step *= 2.0
            high = min(last, high + step)
        return np.full(len(shares), low), np.full(len(shares), high)


def _entropy(chances: Floats) -> float:
    some = chances[chances > 0.0]
    return float(-(some * np.log(some)).sum())


def _log_or_zero(values: Floats) -> Floats:
    return np.log(np.where(values > 0.0, values, 1.0))


def _highest(density: Callable[[Floats], Floats], values: Floats) -> float:
    """Return where a density is highest, near the best of some values."""
    for _ in range(_ROUNDS):
        best = int(np.argmax(density(values)))
        low, high = values[max(best - 1, 0)], values[min(best + 1, len(values) - 1)]
        values = np.unique(np.append(np.linspace(low, high, _GRID), values[best]))
    return float(values[np.argmax(density(values))])


def _drawn(part: Part, leaves: Ints, rng: np.random.Generator) -> Floats:
    """Draw a value from each of these leaves, within the interval of the part."""
    table, columns = part.table[leaves], part.columns.take(leaves)
    if part.span == (-np.inf, np.inf):
        return part.kind.sample(table, columns, rng)
    if part.kind.is_finite:
        chances = as_finite(part.kind).probabilities(table, columns.states).copy()
        states = np.arange(columns.states)
        chances[:, (states < part.span[0]) | (states > part.span[1])] = 0.0
        ends = np.cumsum(chances, axis=1)
        at = rng.random(len(table)) * ends[:, -1]
        found: Floats = (at[:, None] >= ends[:, :-1]).sum(axis=1).astype(np.float64)
        return found
    if issubclass(part.kind, Point):
        return part.kind.sample(table, columns, rng)
    if issubclass(part.kind, RestrictedLeaf):
        table[:, -2] = np.maximum(table[:, -2], part.span[0])
        table[:, -1] = np.minimum(table[:, -1], part.span[1])
        return part.kind.sample(table, columns, rng)
    kind = restricted(part.kind, counts=bool(columns.is_count.any()))
    wide = np.broadcast_to(part.span, (len(table), 2))
    return kind.sample(np.hstack([table, wide]), columns, rng)
