"""`FiniteLeaf`: what leaves over columns with finitely many states have in common.

A finite leaf says in `probabilities` how its parameters become the probability of each state, and
in `from_probabilities` the way back. Counting, estimation and questions follow from these two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, cast

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import ColumnKind
from spnc.leaves import Distribution, smoothing
from spnc.leaves.leaf_columns import LeafColumns


def as_finite(kind: type[Distribution]) -> type[FiniteLeaf]:
    """Return a distribution of which `is_finite` is known, as what it is."""
    assert kind.is_finite
    return cast("type[FiniteLeaf]", kind)


class FiniteLeaf(ABC):
    """A distribution over the states 0, 1, … of a column; see `spnc.leaves.Distribution`.

    A subclass adds `row`, `from_row`, `problems`, `default`, `free_parameters`, `is_valid`,
    `log_density` and `log_prior`.
    """

    __slots__ = ()

    plugin_name: ClassVar[str]
    kinds: ClassVar[tuple[ColumnKind, ...]] = ("categorical", "binary")
    arity: ClassVar[int | None] = 1
    fit_steps: ClassVar[int] = 1
    is_finite: ClassVar[bool] = True

    @staticmethod
    @abstractmethod
    def probabilities(table: Floats, states: int) -> Floats:
        """Return p(state) for every leaf and state, `[leaf, state]`."""

    @staticmethod
    @abstractmethod
    def from_probabilities(probabilities: Floats, table: Floats) -> Floats:
        """Return the table of leaves with these probabilities, `[leaf, state]`.

        A distribution with nothing to learn returns `table`, the current one.
        """

    @staticmethod
    def statistic_count(width: int, states: int) -> int:
        """One for each state."""
        del width
        return states

    @staticmethod
    def statistics(values: Floats, flows: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the expected number of each state, `[leaf, state]`."""
        del table
        every = range(columns.states)
        return np.stack([(flows * (values == v)).sum(axis=1) for v in every], axis=1)

    @classmethod
    def estimate(
        cls, statistics: Floats, alpha: float, table: Floats, columns: LeafColumns
    ) -> Floats:
        """Return the table in which every state has its smoothed share of the counts."""
        current = cls.probabilities(table, columns.states)
        return cls.from_probabilities(smoothing.smoothed(statistics, alpha, current), table)

    @classmethod
    def sample(cls, table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a state from each leaf."""
        ends = np.cumsum(cls.probabilities(table, columns.states), axis=1)
        ends /= ends[:, -1:]
        drawn: Floats = (rng.random(len(table))[:, None] >= ends[:, :-1]).sum(axis=1).astype(float)
        return drawn

    @classmethod
    def mode(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the most probable state, the first of several."""
        best: Floats = np.argmax(cls.probabilities(table, columns.states), axis=1).astype(float)
        return best

    @classmethod
    def mean(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the expected code of the state."""
        found: Floats = cls.probabilities(table, columns.states) @ np.arange(columns.states)
        return found

    @classmethod
    def variance(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the variance of the code of the state."""
        apart = np.arange(columns.states) - cls.mean(table, columns)[:, None]
        found: Floats = (cls.probabilities(table, columns.states) * apart**2).sum(axis=1)
        return found

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of a code of at most the value."""
        return cls.interval(table, np.zeros_like(values), values, columns)

    @classmethod
    def interval(cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of a code between low and high, both included."""
        p = cls.probabilities(table, columns.states)
        low, high = np.broadcast_arrays(low, high)
        found = np.zeros(np.broadcast_shapes((len(table), 1), low.shape))
        for state in range(columns.states):
            found += p[:, state, None] * ((low <= state) & (state <= high))
        return found

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance of the code given low <= code <= high; NaN if impossible."""
        codes = np.arange(columns.states, dtype=np.float64)
        inside = (low[:, None] <= codes) & (codes <= high[:, None])
        p = np.where(inside, cls.probabilities(table, columns.states), 0.0)
        with np.errstate(invalid="ignore"):
            p /= p.sum(axis=1, keepdims=True)
        mean: Floats = p @ codes
        return mean, (p * (codes - mean[:, None]) ** 2).sum(axis=1)

    @classmethod
    def quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least possible code whose cdf is at least the share."""
        ends = np.cumsum(cls.probabilities(table, columns.states), axis=1)
        low, high = cls.support(table, columns)
        found: Floats = np.clip((ends < shares[:, None]).sum(axis=1).astype(np.float64), low, high)
        return found

    @classmethod
    def support(cls, table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """Return the first and the last state that is possible."""
        possible = cls.probabilities(table, columns.states) > 0.0
        last = columns.states - 1 - np.argmax(possible[:, ::-1], axis=1)
        return np.argmax(possible, axis=1).astype(np.float64), last.astype(np.float64)
