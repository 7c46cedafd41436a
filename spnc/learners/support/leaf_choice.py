"""Which distribution a leaf gets: the options of learners, and the choice that `auto` makes.

A binary column has Bernoulli leaves and a categorical one categorical leaves. For numbers there are
several distributions. A spec names one for each kind of column, or leaves the choice to `auto`: all
that fit the column's values are fitted, and the one with the best penalised log-likelihood is
taken, LL - k/2 · ln(rows) for k parameters.

A value that many rows share, such as a zero, gets a point mass of its own beside the distribution
of the other values. The two are then a small sum instead of a leaf: a `LeafModel` of several parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, cast

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.data.table import Table
from spnc.leaves import Distribution
from spnc.leaves.finite import as_finite
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.normal import NormalLeaf
from spnc.leaves.numeric import as_numeric
from spnc.leaves.point import Point
from spnc.leaves.restricted import RestrictedLeaf
from spnc.registry import LEAVES, Conflict, Options, option

AUTO = "auto"
# What `auto` chooses from. Leaves from outside are never chosen unless a spec names them:
# installing a package must not change other recipes.
CANDIDATES: dict[ColumnKind, tuple[str, ...]] = {
    "binary": ("bernoulli",),
    "categorical": ("categorical",),
    "count": ("poisson", "negative-binomial"),
    "real": ("gaussian", "student-t"),
    "date": ("gaussian",),
}
POSITIVE = ("log-normal", "gamma", "exponential")  # besides, for columns without negative numbers
# Leaves under which some numbers are impossible, and what stands beside them, by kind of column.
BOUNDED = (*POSITIVE, "histogram")
WIDE: dict[ColumnKind, str] = {
    "count": "negative-binomial",
    "real": "gaussian",
    "date": "gaussian",
}

SliceModel = Literal["factorised", "chow-liu", "joint-gaussian"]
JOINT = "warped-gaussian"  # what `auto` stands for in a joint Gaussian
FACTORS = 1  # of a joint Gaussian at most, if a spec says nothing

JOINED: tuple[ColumnKind, ...] = ("real", "date")  # columns of a joint Gaussian


class LeafModel(NamedTuple):
    """A leaf, or a mixture of several over the same column."""

    parts: tuple[Distribution, ...]
    weights: tuple[float, ...] = (1.0,)

    @staticmethod
    def of(leaf: Distribution, column: Column, rows: float, alpha: float) -> LeafModel:
        """Return the model of a leaf that was fitted to this many rows.

        A distribution that does not cover all numbers gets `alpha` pseudo-rows of one that does
        beside it, as wide as the whole column: later rows may hold a zero, or a number beyond all
        that were seen, and smoothing makes nothing impossible.
        """
        if leaf.plugin_name not in BOUNDED or alpha == 0.0:
            return LeafModel((leaf,))
        wide = LEAVES[WIDE[column.kind]]
        share = alpha / (rows + alpha)
        safe: Distribution = wide.from_row(np.array(wide.default(column)))
        return LeafModel((leaf, safe), (1.0 - share, share))

    def beside(self, points: Sequence[Distribution], weights: Sequence[float]) -> LeafModel:
        """Return the mixture of point masses and this model, which has the last of the weights."""
        rest = weights[-1]
        return LeafModel(
            (*points, *self.parts), (*weights[:-1], *(rest * own for own in self.weights))
        )


@dataclass(frozen=True, kw_only=True)
class LeafOptions(Options):
    """The distributions of leaves over numbers, by kind of column."""

    real: str = option(AUTO, "the leaf of real columns: its name, or auto")
    count: str = option(AUTO, "the leaf of columns of counts: its name, or auto")
    date: str = option(AUTO, "the leaf of dates: its name, or auto")
    points: Literal["auto", "none"] = option(
        "auto", "whether values that many rows share get point masses of their own"
    )

    def conflicts(self) -> Iterator[Conflict]:
        """Report names that are no leaf for the kind of column."""
        kinds: tuple[ColumnKind, ...] = ("real", "count", "date")
        for kind in kinds:
            name = getattr(self, kind)
            fitting = [n for n in LEAVES if kind in LEAVES[n].kinds and _is_learnable(LEAVES[n])]
            if name != AUTO and name not in fitting:
                yield Conflict(
                    kind,
                    f"`{name}` is not a leaf for {kind} columns",
                    f"choose auto, {', '.join(fitting)}",
                )

    @property
    def needs_warps(self) -> bool:
        """Whether a leaf is named that is normal on its column's warp."""
        named = [LEAVES[name] for name in (self.real, self.date) if name in LEAVES]
        return any(as_numeric(kind).needs_warp for kind in named)

    def joint_kinds(
        self, columns: Sequence[Column], variables: Sequence[int]
    ) -> dict[int, type[NormalLeaf]]:
        """Return the leaves of those columns, given by number, that can be jointly normal."""
        names = {v: getattr(self, columns[v].kind) for v in variables if columns[v].kind in JOINED}
        return {
            v: cast("type[NormalLeaf]", LEAVES[JOINT if name == AUTO else name])
            for v, name in names.items()
        }

    def joint_conflicts(self) -> Iterator[Conflict]:
        """Report leaves that are not normal on any scale, of columns that are to be jointly so."""
        for kind in JOINED:
            name = getattr(self, kind)
            normal = [n for n in LEAVES if kind in LEAVES[n].kinds and _is_normal(LEAVES[n])]
            if name != AUTO and name in LEAVES and name not in normal:
                yield Conflict(
                    kind,
                    f"`{name}` leaves cannot be parts of a joint Gaussian",
                    f"choose auto, {', '.join(normal)}",
                )

    def candidates(self, column: Column) -> tuple[type[Distribution], ...]:
        """Return the distributions that a leaf over this column may have."""
        named = getattr(self, column.kind, AUTO)
        if named != AUTO:
            return (LEAVES[named],)
        names = CANDIDATES[column.kind]
        scale = column.scale
        # Zeros are impossible for some of these. They are chosen where points hold all zeros.
        if column.kind == "real" and scale is not None and scale.low >= 0.0:
            names += POSITIVE
        return tuple(LEAVES[name] for name in names)


@dataclass(frozen=True, kw_only=True)
class JointOptions(LeafOptions):
    """The distributions of leaves over numbers; those of real columns and dates are normal."""

    def conflicts(self) -> Iterator[Conflict]:
        """Report leaves that cannot be parts of a joint Gaussian."""
        yield from super().conflicts()
        yield from self.joint_conflicts()

    @property
    def needs_warps(self) -> bool:
        """Whether a leaf is named, or chosen by `auto`, that is normal on its column's warp."""
        return AUTO in (self.real, self.date) or super().needs_warps


@dataclass(frozen=True, kw_only=True)
class SliceOptions(LeafOptions):
    """The model of a slice that is not split, and the distributions of its leaves."""

    one_value_for: ClassVar[tuple[str, ...]] = ("model",)

    model: SliceModel = option(
        "factorised",
        "the model of a slice that is not split: independent columns, a Chow-Liu tree for each "
        "group of dependent columns, or a Gaussian over all real columns and dates together, with "
        "the others independent of these",
    )
    factors: int | None = option(
        None,
        "with `joint-gaussian`, at most how many factors the columns have in common (without a "
        "word: 1); fewer if the rows do not support them",
        min=1,
        max=3,
    )

    def __post_init__(self) -> None:
        """Set the default of `factors` for joint Gaussians."""
        if self.model == "joint-gaussian" and self.factors is None:
            object.__setattr__(self, "factors", FACTORS)

    def as_word(self) -> str | None:
        """The model of a slice, if nothing is said about distributions."""
        return self.model if self == SliceOptions(model=self.model) else None

    def conflicts(self) -> Iterator[Conflict]:
        """Report leaves that are not normal on any scale, and factors of other models."""
        yield from super().conflicts()
        if self.model != "joint-gaussian":
            if self.factors is not None:
                yield Conflict(
                    "factors",
                    "`factors` is for `model: joint-gaussian` only",
                    "drop `factors`, or choose `joint-gaussian`",
                )
            return
        yield from self.joint_conflicts()

    @property
    def needs_warps(self) -> bool:
        """Whether a leaf is named, or chosen by `auto`, that is normal on its column's warp."""
        joint = self.model == "joint-gaussian" and AUTO in (self.real, self.date)
        return joint or super().needs_warps


DEFAULT = LeafOptions()


def _is_learnable(kind: type[Distribution]) -> bool:
    """Whether a leaf can be learned from rows: a point or a restricted leaf stays what it is."""
    return not issubclass(kind, Point | RestrictedLeaf)


def _is_normal(kind: type[Distribution]) -> bool:
    """Whether a leaf is normal on some scale, and can be learned."""
    return issubclass(kind, NormalLeaf) and _is_learnable(kind)


def finite_leaf(column: Column) -> type[Distribution]:
    """Return the leaf of a binary or categorical column."""
    (name,) = CANDIDATES[column.kind]
    found: type[Distribution] = LEAVES[name]
    return found


def finite_leaf_with(column: Column, probabilities: Floats) -> Distribution:
    """Return the leaf of a binary or categorical column with these probabilities of its states."""
    kind = finite_leaf(column)
    before = np.array([kind.default(column)])
    row = as_finite(kind).from_probabilities(probabilities[None], before)[0]
    found: Distribution = kind.from_row(row)
    return found


def penalised(
    kind: type[Distribution],
    table: Floats,
    columns: LeafColumns,
    values: Floats,
    weights: Floats,
) -> Floats:
    """Return the penalised log-likelihood of each leaf, given `values` and `weights`, [leaf, row].

    Impossible values make it minus infinity.
    """
    known = ~np.isnan(values)
    held = weights * known
    terms = np.where(held > 0.0, kind.log_density(table, values, columns), 0.0)
    rows = held.sum(axis=1)
    found: Floats = (held * terms).sum(axis=1)
    found -= 0.5 * kind.free_parameters(table.shape[1]) * np.log(np.maximum(rows, 1.0))
    return found


def start_of(kind: type[Distribution], columns: Sequence[Column], table: Table, i: int) -> Floats:
    """Return the parameters from which leaves over the column with this number are fitted."""
    if kind.is_finite:
        return np.array(kind.default(columns[i]), dtype=np.float64)
    row = as_numeric(kind).start(columns[i], table.column(i), table.weights)
    return np.array(row, dtype=np.float64)
