"""`NumericLeaf`: what leaves over numbers (counts, reals and dates) have in common.

Most of them need three things: `features` of a value whose weighted sums are all that training has
to know, the `average` of these features over the training column, and `best`, the parameters that
maximise the expected log density for given averages of the features.

Smoothing with `alpha` adds `alpha` pseudo-rows that are distributed like the training column:
`alpha` times the column's average features are added to the sums, and the log prior is `alpha`
times the expected log density of such a row. No leaf is narrower than the resolution of its column:
`best` is the maximum among the parameters for which the density of a value that the column can hold
is at most one per resolution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind, Scale
from spnc.leaves import Distribution
from spnc.leaves.inverse_cdf import inverse_cdf
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.quadrature import numerical_moments

# The height of a normal density times its standard deviation, 1/sqrt(2 pi): a normal density with
# a standard deviation of this many resolutions has a height of one per resolution.
NORMAL_HEIGHT = float(1.0 / np.sqrt(2.0 * np.pi))
_DIFFERENCE = 6e-6  # relative: the cube root of the accuracy of doubles
WIDTH_TOLERANCE = 1e-9  # how much narrower than allowed a leaf that was written down may be


def as_numeric(kind: type[Distribution]) -> type[NumericLeaf]:
    """Return a distribution that is known not to be finite, as what it is."""
    assert not kind.is_finite
    return cast("type[NumericLeaf]", kind)


class NumericLeaf(ABC):
    """A distribution over numbers; see `spnc.leaves.Distribution`.

    A subclass is a dataclass whose fields are its parameters. It adds `problems`, `default`,
    `is_valid`, `log_density`, `sample`, `mode`, `mean`, `variance`, `cdf` and `support`, and
    either `features`, `average`, `best` and `expected_log_density`, or its own `statistics` and
    `log_prior` where the features depend on the parameters.
    """

    __slots__ = ()

    plugin_name: ClassVar[str]
    kinds: ClassVar[tuple[ColumnKind, ...]] = ("real", "date")
    arity: ClassVar[int | None] = 2
    fit_steps: ClassVar[int] = 1
    is_finite: ClassVar[bool] = False
    needs_warp: ClassVar[bool] = False  # whether it is normal on its column's warp
    feature_count: ClassVar[int] = 1

    @property
    def row(self) -> tuple[float, ...]:
        """The parameters, as a row of a table."""
        own: Any = self
        return tuple(getattr(self, field.name) for field in fields(own))

    @classmethod
    def from_row(cls, row: Floats) -> Self:
        """Return the leaf with a table's row of parameters."""
        return cls(*(float(x) for x in row))

    @classmethod
    def start(cls, column: Column, values: Floats, weights: Floats) -> tuple[float, ...]:
        """Return the parameters from which leaves over a column with these values are fitted.

        `values[row]` are those of all training rows, NaN where missing. By default, these are the
        parameters of `default`: what is learned does not depend on where fitting begins.
        """
        del values, weights
        leaf: Any = cls
        found: tuple[float, ...] = leaf.default(column)
        return found

    @staticmethod
    def free_parameters(width: int) -> int:
        """All parameters."""
        return width

    # -- training ------------------------------------------------------------------------------

    @classmethod
    def statistic_count(cls, width: int, states: int) -> int:
        """The weight of all values, and the weighted sum of each feature."""
        del width, states
        return 1 + cls.feature_count

    @staticmethod
    def features(values: Floats, columns: LeafColumns) -> list[Floats]:
        """Return the features of values, each in the shape of `values`.

        The first array is one where the value counts, and zero where it is missing or outside the
        support. All others are zero there.
        """
        raise NotImplementedError

    @staticmethod
    def average(table: Floats, columns: LeafColumns) -> Floats:
        """Return the average features of the training column, `[leaf, feature]`.

        Only features that depend on the parameters need `table`.
        """
        raise NotImplementedError

    @staticmethod
    def best(averages: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the table of highest expected log density for `averages[leaf, feature]`."""
        raise NotImplementedError

    @staticmethod
    def expected_log_density(table: Floats, averages: Floats, columns: LeafColumns) -> Floats:
        """Return the average log density by leaf, without terms that do not depend on the table."""
        raise NotImplementedError

    @classmethod
    def statistics(
        cls, values: Floats, flows: Floats, table: Floats, columns: LeafColumns
    ) -> Floats:
        """Return the weight of all values and the weighted sums of their features."""
        del table
        shared = columns.take(slice(0, 1)) if _is_shared(values, columns) else columns
        return weighted_sums(flows, cls.features(values, shared))

    @classmethod
    def estimate(
        cls, statistics: Floats, alpha: float, table: Floats, columns: LeafColumns
    ) -> Floats:
        """Return the table of highest expected log-likelihood plus log prior."""
        usual = cls.average(table, columns)
        weight, sums = statistics[:, :1] + alpha, statistics[:, 1:] + alpha * usual
        empty = weight <= 0.0
        averages = np.where(empty, usual, sums / np.where(empty, 1.0, weight))
        return np.where(empty, table, cls.best(averages, table, columns))

    @classmethod
    def log_prior(cls, table: Floats, alpha: float, columns: LeafColumns) -> float:
        """Return `alpha` times the expected log density of a row like the training column."""
        if alpha == 0.0:
            return 0.0
        with np.errstate(divide="ignore"):
            expected = cls.expected_log_density(table, cls.average(table, columns), columns)
        return float(alpha * expected.sum())

    @classmethod
    def slope(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the derivative of the log density by the value; zero where it is missing.

        By differences, exact to some eight digits: a subclass provides a formula. Whole numbers
        have no derivative, and leaves over counts only need not provide any.
        """
        leaf: Any = cls
        step = _DIFFERENCE * np.maximum(np.abs(np.nan_to_num(values)), 1.0)
        upper, lower = (leaf.log_density(table, values + move, columns) for move in (step, -step))
        with np.errstate(invalid="ignore"):
            found: Floats = (upper - lower) / (2.0 * step)
        return np.where(np.isfinite(found), found, 0.0)

    # -- gradients -----------------------------------------------------------------------------

    @classmethod
    def coordinates(cls, table: Floats, columns: LeafColumns) -> Floats | None:
        """Return the parameters in coordinates that have no bounds, `[leaf, coordinate]`.

        Return None if there are no gradients; objectives that need them keep the parameters.
        """
        del table, columns
        return None

    @classmethod
    def from_coordinates(cls, coordinates: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the table with these coordinates; what has none stays as it is in `table`.

        No leaf becomes narrower than the resolution of its column.
        """
        raise NotImplementedError

    @classmethod
    def gradient(cls, table: Floats, statistics: Floats, columns: LeafColumns) -> Floats:
        """Return the derivatives, by coordinate, of the summed log density of values.

        `statistics` are those of the values under the parameters in `table`, and may be the
        difference of two such sums.
        """
        raise NotImplementedError

    @classmethod
    def weight_of(cls, statistics: Floats) -> Floats:
        """Return the weight of the values that statistics were summed over, by leaf."""
        return statistics[:, 0]

    @classmethod
    def information(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the Fisher information of one value in each coordinate, `[leaf, coordinate]`.

        Half of it, times the square of a small change, is the divergence that the change causes.
        """
        raise NotImplementedError

    # -- questions -----------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""

    @classmethod
    def above(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of more than the value.

        A subclass whose `cdf` comes close to one provides it without a loss of digits.
        """
        return 1.0 - cls.cdf(table, values, columns)

    @classmethod
    def interval(cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of low <= value <= high, from the smaller of the two tails."""
        before = np.where(columns.is_count[:, None], np.ceil(low) - 1.0, low)
        below = cls.cdf(table, before, columns)
        lower = cls.cdf(table, high, columns) - below
        upper = cls.above(table, before, columns) - cls.above(table, high, columns)
        found: Floats = np.where(below > 0.5, upper, lower)
        return np.where(low <= high, np.clip(found, 0.0, 1.0), 0.0)

    @classmethod
    def breaks(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return all values at which the density of a leaf may jump: the ends of the support."""
        leaf: Any = cls
        ends = np.concatenate(leaf.support(table, columns))
        return np.unique(ends[np.isfinite(ends)])

    @classmethod
    def quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value whose cdf is at least the share, by bisection."""

        def is_enough(values: Floats) -> NDArray[np.bool_]:
            found: NDArray[np.bool_] = cls.cdf(table, values[:, None], columns)[:, 0] >= shares
            return found

        found = inverse_cdf(_as_kind(cls), is_enough, table, columns)
        return cls.ends_or(found, shares <= 0.0, shares >= 1.0, table, columns)

    @classmethod
    def upper_quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value that is exceeded with a probability of at most the share.

        This is the quantile of 1 - share without a loss of digits for small shares.
        """

        def is_enough(values: Floats) -> NDArray[np.bool_]:
            found: NDArray[np.bool_] = cls.above(table, values[:, None], columns)[:, 0] <= shares
            return found

        found = inverse_cdf(_as_kind(cls), is_enough, table, columns)
        return cls.ends_or(found, shares >= 1.0, shares <= 0.0, table, columns)

    @classmethod
    def ends_or(
        cls,
        values: Floats,
        is_low: NDArray[np.bool_],
        is_high: NDArray[np.bool_],
        table: Floats,
        columns: LeafColumns,
    ) -> Floats:
        """Return values within the support; its ends where `is_low` or `is_high`."""
        low, high = _as_kind(cls).support(table, columns)
        return np.where(is_low, low, np.where(is_high, high, np.clip(values, low, high)))

    @classmethod
    def mode_within(cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns) -> Floats:
        """Return the value of highest density between low and high, `[leaf]` both.

        A subclass whose density has several peaks provides its own.
        """
        return np.clip(_as_kind(cls).mode(table, columns), low, high)

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance given low <= value <= high, by numerical integration.

        A subclass whose density has jumps, or tails so heavy that moments barely converge,
        provides its own.
        """
        return numerical_moments(_as_kind(cls), table, low, high, columns)


def _as_kind(cls: type[NumericLeaf]) -> type[Distribution]:
    """Return the class of a leaf, which has all methods that its base class leaves out."""
    return cast("type[Distribution]", cls)


def _is_shared(values: Floats, columns: LeafColumns) -> bool:
    """Whether all leaves see the same values on the same scale."""
    if len(values) > 1 or len(columns) == 0:
        return False
    own = (columns.mean, columns.sd, columns.log_mean, columns.log_sd, columns.low)
    return all(bool((array == array[0]).all()) for array in own)


def weighted_sums(flows: Floats, features: list[Floats]) -> Floats:
    """Return the sums of `flows[leaf, row]` times each feature, `[leaf, feature]`.

    A feature is `[leaf, row]`, or `[1, row]` for values that all leaves share.
    """
    if len(flows) > 1 and all(len(feature) == 1 for feature in features):
        found: Floats = flows @ np.concatenate(features).T
        return found
    wide = [np.broadcast_to(feature, flows.shape) for feature in features]
    return np.stack([np.einsum("lr,lr->l", flows, feature) for feature in wide], axis=1)


def column_unit(columns: LeafColumns) -> Floats:
    """Return the unit in which a column's values are summed: the standard deviation."""
    return np.where(columns.sd > 0.0, columns.sd, resolution_of(columns))


def resolution_of(columns: LeafColumns) -> Floats:
    """Return the resolution of each column, at least the distance between neighbouring floats."""
    largest = np.maximum(
        np.maximum(np.abs(columns.low), np.abs(columns.high)), np.abs(columns.mean)
    )
    return np.maximum(columns.resolution, np.spacing(largest))


def scale_of(column: Column) -> Scale:
    """Return a column's scale, or the standard one."""
    return column.scale or Scale()


def too_narrow(column: Column, width: float, least: float, what: str) -> list[str]:
    """Return the problem of a leaf whose `width` is below `least` resolutions, if it has one.

    `what` names the width. Without a scale, nothing is known about the resolution.
    """
    if column.scale is None or not width > 0.0:
        return []
    bound = least * column.scale.resolution
    if width >= bound * (1.0 - WIDTH_TOLERANCE):
        return []
    return [
        f"{what} = {width:g} is narrower than the column's resolution "
        f"{column.scale.resolution:g} allows: at least {bound:.4g}"
    ]


def not_finite(**parameters: float) -> list[str]:
    """List the parameters that are not finite numbers."""
    return [f"{name} = {x:g} is not finite" for name, x in parameters.items() if not np.isfinite(x)]


def not_positive(**parameters: float) -> list[str]:
    """List the parameters that are not finite numbers above zero."""
    return [
        f"{name} = {x:g} is not a finite number above 0"
        for name, x in parameters.items()
        if not (np.isfinite(x) and x > 0.0)
    ]


def only_possible(mass: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return moments within intervals of probability `mass`: NaN where it is zero."""
    possible = mass > 0.0
    return np.where(possible, mean, np.nan), np.where(possible, variance, np.nan)


def positive_mean(columns: LeafColumns) -> Floats:
    """Return the mean of each column's positive values.

    It is known where all values are positive. Otherwise it follows from the logarithms: half the
    values lie one standard deviation of the logarithm above their mean, half as far below.
    """
    spread = np.exp(columns.log_mean) * np.cosh(columns.log_sd)
    return np.where(columns.low > 0.0, columns.mean, spread)
