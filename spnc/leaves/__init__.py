"""Leaf distributions: one file each, found through `spnc.registry.LEAVES`.

A distribution object holds the parameters of one leaf. The static and class methods work on a table
of many leaves of that distribution at once, `table[leaf, parameter]`, and are all that lowering,
the backends, EM and queries need to know about it. `columns` says where the values of the leaves'
columns lie. `spnc.leaves.finite` has a base class for leaves over columns with finitely many
states, `spnc.leaves.numeric` one for leaves over numbers.

Densities are with respect to the unit of the column: a probability for a binary, categorical or
count column, a probability per unit for a real column or a date.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves.leaf_columns import LeafColumns


class Distribution(Protocol):
    """What a leaf distribution provides."""

    plugin_name: ClassVar[str]
    kinds: ClassVar[tuple[ColumnKind, ...]]  # the kinds of column that it can model
    arity: ClassVar[int | None]  # how many parameters it takes; None: it varies
    fit_steps: ClassVar[int]  # how often statistics and estimate alternate to fit given values
    is_finite: ClassVar[bool]  # whether it is over finitely many states: see `FiniteLeaf`

    @property
    def row(self) -> tuple[float, ...]:
        """The parameters, as a row of a table and as the circuit language writes them."""
        ...

    @classmethod
    def from_row(cls, row: Floats) -> Distribution:
        """Return the leaf with a table's row of parameters."""
        ...

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the parameters for a leaf over this column."""
        ...

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """Return the parameters of a leaf that knows nothing but the column itself."""
        ...

    @staticmethod
    def free_parameters(width: int) -> int:
        """Return how many independent numbers training can choose in a row of this width."""
        ...

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether all parameters in a table are valid for these columns."""
        ...

    # -- training ------------------------------------------------------------------------------

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value) for `values[leaf, row]`; zero where the value is missing.

        `values` may have a single row of values that all leaves share, `[1, row]`.
        """
        ...

    @staticmethod
    def statistic_count(width: int, states: int) -> int:
        """Return the number of statistics of a leaf with this number of parameters and states."""
        ...

    @staticmethod
    def statistics(values: Floats, flows: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return expected statistics `[leaf, statistic]`, sums over `flows[leaf, row]`.

        `values` is as in `log_density`; missing values count nothing. `table` holds the parameters
        with which the flows were computed.
        """
        ...

    @staticmethod
    def estimate(statistics: Floats, alpha: float, table: Floats, columns: LeafColumns) -> Floats:
        """Return the table that maximises the expected log-likelihood plus the log prior.

        Leaves without any counts keep their parameters in `table` if `alpha` is zero.
        """
        ...

    @staticmethod
    def log_prior(table: Floats, alpha: float, columns: LeafColumns) -> float:
        """Return the log prior density of a table, up to a constant."""
        ...

    # -- questions -----------------------------------------------------------------------------

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw one value from each leaf."""
        ...

    @staticmethod
    def mode(table: Floats, columns: LeafColumns) -> Floats:
        """Return the value of highest density of each leaf."""
        ...

    @staticmethod
    def mean(table: Floats, columns: LeafColumns) -> Floats:
        """Return the expectation of each leaf; infinite or NaN where there is none."""
        ...

    @staticmethod
    def variance(table: Floats, columns: LeafColumns) -> Floats:
        """Return the variance of each leaf; infinite or NaN where there is none."""
        ...

    @staticmethod
    def cdf(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value, for `values` as in `log_density`."""
        ...

    @staticmethod
    def interval(table: Floats, low: Floats, high: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of low <= value <= high, for arrays as in `log_density`."""
        ...

    @staticmethod
    def moments_within(
        table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance of each leaf given low <= value <= high, `[leaf]` all four.

        Ends may be infinite. Moments are NaN where the interval has probability zero, infinite
        where they do not converge, and exact also where the interval is narrow or far away.
        """
        ...

    @staticmethod
    def quantile(table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value of each leaf whose cdf is at least the share, `[leaf]` both.

        Shares are from 0, for the lower end of the support, to 1, for the upper one.
        """
        ...

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """Return the least and the largest possible value of each leaf."""
        ...
