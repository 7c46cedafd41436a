"""Restricted leaves: a leaf over numbers, given that its value lies in a closed interval.

`restricted-gaussian(mean, sd, low, high)` is a Gaussian leaf given low <= value <= high, and so on
for every leaf over numbers but points. Ends may be infinite. Conditioning a circuit on an interval
makes them; nothing is learned about them.

The probability of an interval depends on whether the column holds counts, and so does what its ends
may be. So a base for counts and for other numbers has two restricted kinds: `restricted-histogram`
and, for counts, `restricted-count-histogram`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, Self

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.data.warp import Warp
from spnc.leaves import Distribution
from spnc.leaves.exponential import Exponential
from spnc.leaves.fixed import FixedLeaf
from spnc.leaves.gamma import Gamma
from spnc.leaves.gaussian import Gaussian
from spnc.leaves.histogram import Histogram
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.log_normal import LogNormal
from spnc.leaves.negative_binomial import NegativeBinomial
from spnc.leaves.numeric import NumericLeaf, as_numeric
from spnc.leaves.point import Point
from spnc.leaves.poisson import Poisson
from spnc.leaves.student_t import StudentT
from spnc.leaves.uniform import Uniform
from spnc.leaves.warped_gaussian import WarpedGaussian
from spnc.registry import LEAVES

PREFIX = "restricted-"
COUNT_PREFIX = "restricted-count-"  # for counts, if the base is for other numbers as well
_LEAST_SHARE = 2.0**-54  # between zero and the least positive random number


@dataclass(frozen=True, slots=True)
class RestrictedLeaf(FixedLeaf):
    """A leaf of kind `base` given low <= value <= high; `restricted` makes the subclasses."""

    numbers: tuple[float, ...]  # the parameters of the base, then low and high

    base: ClassVar[Any]  # the class of the leaf without its restriction
    counts: ClassVar[bool]  # whether the column holds counts

    @property
    def row(self) -> tuple[float, ...]:
        """The parameters of the base, and the ends of the interval."""
        return self.numbers

    @classmethod
    def from_row(cls, row: Floats) -> Self:
        """Return the leaf with a table's row of parameters."""
        return cls(tuple(float(x) for x in row))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.base, self.counts, self.numbers)

    @property
    def whole(self) -> Distribution:
        """The leaf without its restriction."""
        found: Distribution = self.base.from_row(np.array(self.numbers[:-2]))
        return found

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with the parameters for a leaf over this column."""
        if len(self.numbers) < 3:
            return [f"{len(self.numbers)} numbers, where the last two are low and high"]
        found = self.whole.problems(column)
        low, high = self.numbers[-2:]
        if not (low < high or (self.counts and low == high)):
            found.append(f"low = {low:g} is not below high = {high:g}")
        elif self.counts:
            found += [
                f"{name} = {x:g} is neither a whole number nor infinite"
                for name, x in (("low", low), ("high", high))
                if np.isfinite(x) and x != np.floor(x)
            ]
        if not found and not self._mass(column) > 0.0:
            found.append(f"the interval from {low:g} to {high:g} has probability zero")
        return found

    def _mass(self, column: Column) -> float:
        """Return the probability of the interval."""
        known = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
        return float(_parts(type(self), np.array([self.numbers]), known).mass[0])

    @classmethod
    def default(cls, column: Column) -> tuple[float, ...]:
        """The default of the base, with infinite ends."""
        return (*cls.base.default(column), -np.inf, np.inf)

    @classmethod
    def is_valid(cls, table: Floats, columns: LeafColumns) -> bool:
        """Whether the base is valid, and the interval has a probability above zero."""
        if table.shape[1] < 3 or not cls.base.is_valid(table[:, :-2], columns):
            return False
        low, high = table[:, -2], table[:, -1]
        if not (low <= high).all() or bool((columns.is_count != cls.counts).any()):
            return False
        ends = table[:, -2:]
        whole = np.isinf(ends) | (ends == np.floor(ends)) | (not cls.counts)
        return bool(whole.all() and (_parts(cls, table, columns).mass > 0.0).all())

    @classmethod
    def log_density(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        parts = _parts(cls, table, columns)
        found: Floats = cls.base.log_density(parts.table, values, columns)
        found -= np.log(parts.mass)[:, None]
        outside = (values < parts.low[:, None]) | (values > parts.high[:, None])
        np.copyto(found, -np.inf, where=outside)
        np.copyto(found, 0.0, where=np.isnan(values))
        return found

    # -- questions -----------------------------------------------------------------------------

    @classmethod
    def quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value whose cdf is at least the share."""
        parts = _parts(cls, table, columns)
        taken = shares * parts.mass
        found = parts.base_quantile(
            cls.base, parts.below + taken, parts.above + parts.mass - taken, columns
        )
        return cls.ends_or(found, shares <= 0.0, shares >= 1.0, table, columns)

    @classmethod
    def upper_quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value that is exceeded with a probability of at most the share."""
        parts = _parts(cls, table, columns)
        left = shares * parts.mass
        found = parts.base_quantile(
            cls.base, parts.below + parts.mass - left, parts.above + left, columns
        )
        return cls.ends_or(found, shares >= 1.0, shares <= 0.0, table, columns)

    @classmethod
    def sample(cls, table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a value from each leaf, by the inverse of the cdf."""
        shares = np.maximum(rng.random(len(table)), _LEAST_SHARE)
        found = cls.quantile(table, shares, columns)
        # Some leaves have a density from zero on, but not at zero.
        first = np.isneginf(cls.log_density(table, found[:, None], columns)[:, 0])
        least = np.maximum(np.nextafter(found, np.inf), found + np.finfo(np.float64).tiny)
        return np.where(first & (found == cls.support(table, columns)[0]), least, found)

    @classmethod
    def mode(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the value of highest density within the interval."""
        low, high = cls.support(table, columns)
        found: Floats = cls.base.mode_within(table[:, :-2], low, high, columns)
        return found

    @classmethod
    def mode_within(cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns) -> Floats:
        """Return the value of highest density within both intervals."""
        ends = cls.support(table, columns)
        low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        found: Floats = cls.base.mode_within(table[:, :-2], low, high, columns)
        return found

    @classmethod
    def mean(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the conditional mean."""
        return cls.moments_within(table, table[:, -2], table[:, -1], columns)[0]

    @classmethod
    def variance(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the conditional variance."""
        return cls.moments_within(table, table[:, -2], table[:, -1], columns)[1]

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance of the base given both intervals."""
        low, high = np.maximum(low, table[:, -2]), np.minimum(high, table[:, -1])
        found: tuple[Floats, Floats] = cls.base.moments_within(table[:, :-2], low, high, columns)
        return found

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        return cls.interval(table, np.full_like(values, -np.inf), values, columns)

    @classmethod
    def above(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of more than the value."""
        after = np.floor(values) + 1.0 if cls.counts else values
        return cls.interval(table, after, np.full_like(values, np.inf), columns)

    @classmethod
    def interval(cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of low <= value <= high."""
        parts = _parts(cls, table, columns)
        low, high = np.maximum(low, table[:, -2:-1]), np.minimum(high, table[:, -1:])
        found: Floats = cls.base.interval(parts.table, low, high, columns) / parts.mass[:, None]
        return np.minimum(found, 1.0)

    @classmethod
    def breaks(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return those of the base, and the ends of the intervals."""
        ends = np.unique(table[:, -2:])
        own: Floats = cls.base.breaks(table[:, :-2], columns)
        return np.union1d(own, ends[np.isfinite(ends)])

    @classmethod
    def support(cls, table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """Return what the interval leaves of the base's support."""
        low, high = cls.base.support(table[:, :-2], columns)
        return np.maximum(low, table[:, -2]), np.minimum(high, table[:, -1])


@dataclass(frozen=True, eq=False, slots=True)
class _Parts:
    """A table of restricted leaves, taken apart."""

    table: Floats  # of the base
    low: Floats
    high: Floats
    mass: Floats  # the probability of the interval
    below: Floats  # the probability of less than low
    above: Floats  # the probability of more than high

    def base_quantile(
        self, base: type[NumericLeaf], below: Floats, above: Floats, columns: LeafColumns
    ) -> Floats:
        """Return the values with these probabilities below and above them, under the base.

        Where the interval is above the median, the probability above has more digits.
        """
        found = np.empty_like(below)
        is_upper = self.below > 0.5
        for own, inverse, shares in (
            (np.flatnonzero(~is_upper), base.quantile, below),
            (np.flatnonzero(is_upper), base.upper_quantile, above),
        ):
            if len(own) > 0:
                given = np.clip(shares[own], 0.0, 1.0)
                found[own] = inverse(self.table[own], given, columns.take(own))
        return found


def _parts(kind: type[RestrictedLeaf], table: Floats, columns: LeafColumns) -> _Parts:
    warps = columns.warps_by_leaf if kind.needs_warp else ()
    return _known_parts(kind, table.tobytes(), table.shape, warps)


@lru_cache(maxsize=16)  # a pass asks for the same few tables again and again
def _known_parts(
    kind: type[RestrictedLeaf],
    content: bytes,
    shape: tuple[int, int],
    warps: tuple[Warp, ...],
) -> _Parts:
    table = np.frombuffer(content).reshape(shape)
    own, low, high = table[:, :-2], table[:, -2], table[:, -1]
    # Nothing else of a column matters to the probability of an interval.
    name: ColumnKind = "count" if kind.counts else "real"
    by_leaf = warps or (None,) * len(table)
    place = {warp: i for i, warp in enumerate(dict.fromkeys(by_leaf))}
    known = [Column("x", name, 0, warp=warp) for warp in place]
    columns = LeafColumns.of(known, np.array([place[warp] for warp in by_leaf], dtype=np.int64))
    before = low[:, None] - 1.0 if kind.counts else low[:, None]
    return _Parts(
        own,
        low,
        high,
        kind.base.interval(own, low[:, None], high[:, None], columns)[:, 0],
        kind.base.cdf(own, before, columns)[:, 0],
        kind.base.above(own, high[:, None], columns)[:, 0],
    )


_MADE: dict[tuple[type[Any], bool], type[RestrictedLeaf]] = {}


def restricted(kind: type[Distribution], *, counts: bool = False) -> type[RestrictedLeaf]:
    """Return the restricted leaf of a kind of leaf over numbers; it is registered.

    `counts` says whether the column holds counts. It only matters for a kind that models counts
    and other numbers. Raises ValueError for kinds that have no restricted leaf: finite ones,
    points, and those that are restricted already.
    """
    if kind.is_finite or issubclass(kind, Point | RestrictedLeaf):
        raise ValueError(f"`{kind.plugin_name}` has no restricted leaf")
    own: tuple[ColumnKind, ...] = tuple(k for k in kind.kinds if (k == "count") == counts)
    if not own:
        own, counts = kind.kinds, not counts
    if (kind, counts) not in _MADE:
        prefix = COUNT_PREFIX if counts and own != kind.kinds else PREFIX
        builtin = kind.__module__.startswith("spnc.")
        made = type(
            f"Restricted{'Count' if prefix == COUNT_PREFIX else ''}{kind.__name__}",
            (RestrictedLeaf,),
            {
                "__slots__": (),
                "__module__": __name__ if builtin else kind.__module__,
                "__doc__": _described(kind, prefix),
                "base": as_numeric(kind),
                "counts": counts,
                "needs_warp": as_numeric(kind).needs_warp,
                "kinds": own,
                "arity": None if kind.arity is None else kind.arity + 2,
            },
        )
        _MADE[kind, counts] = LEAVES.register(prefix + kind.plugin_name)(made)
    return _MADE[kind, counts]


def _described(kind: type[Distribution], prefix: str) -> str:
    """Return the docstring of a restricted leaf, with its parameters."""
    form = re.match(r"`[\w-]+\(([^`]*)\)`", kind.__doc__ or "")
    parameters = f"{form[1]}, low, high" if form else "…, low, high"
    name = kind.plugin_name
    return f"`{prefix}{name}({parameters})`: {name} given low <= value <= high. Nothing is learned."


def _rebuilt(base: type[Any], counts: bool, numbers: tuple[float, ...]) -> RestrictedLeaf:
    """Return a restricted leaf that was pickled or copied."""
    return restricted(base, counts=counts)(numbers)


def _derived(kind: type[Distribution], *, counts: bool) -> type[RestrictedLeaf] | None:
    """Return the restricted leaf of a kind by name, for `LEAVES`; None if it has none."""
    is_both = "count" in kind.kinds and set(kind.kinds) != {"count"}
    if kind.is_finite or issubclass(kind, Point | RestrictedLeaf) or (counts and not is_both):
        return None
    return restricted(kind, counts=counts)


# The leaf of a plug-in has a restricted one as soon as a circuit or a model file names it.
LEAVES.derive(COUNT_PREFIX, partial(_derived, counts=True))
LEAVES.derive(PREFIX, partial(_derived, counts=False))
for _base in (
    Exponential,
    Gamma,
    Gaussian,
    Histogram,
    LogNormal,
    NegativeBinomial,
    Poisson,
    StudentT,
    Uniform,
    WarpedGaussian,
):
    restricted(_base)
restricted(Histogram, counts=True)
