"""The histogram leaf: bins with fixed edges, each with a probability that is learned.

Within a bin all values are equally likely. On a count column the edges lie at half numbers, so that
the density of a whole number is its probability. Values outside the outermost edges are impossible.
`spnc.leaves.binning` finds edges that follow the data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.columns import Column, ColumnKind
from spnc.leaves import smoothing
from spnc.leaves.binning import adaptive_edges, even_edges
from spnc.leaves.bins import clipped_edges, inverse, mirrored
from spnc.leaves.leaf_columns import LeafColumns
from spnc.leaves.numeric import NumericLeaf, only_possible, too_narrow
from spnc.registry import LEAVES

_AROUND = np.array([-1.0, 0.0, 1.0])


@LEAVES.register("histogram")
@dataclass(frozen=True, slots=True)
class Histogram(NumericLeaf):
    """`histogram(e0, p0, e1, p1, …, ek)`: bins between edges, and the probability of each."""

    numbers: tuple[float, ...]

    kinds: ClassVar[tuple[ColumnKind, ...]] = ("real", "date", "count")
    arity: ClassVar[int | None] = None

    @property
    def row(self) -> tuple[float, ...]:
        """Edges and probabilities in turn, beginning and ending with an edge."""
        return self.numbers

    @classmethod
    def from_row(cls, row: Floats) -> Histogram:
        """Return the leaf with a table's row of parameters."""
        return cls(tuple(float(x) for x in row))

    @staticmethod
    def row_of(edges: Floats, probabilities: Floats) -> Floats:
        """Return the row of parameters for k + 1 edges and k probabilities."""
        row = np.empty(2 * len(edges) - 1)
        row[0::2], row[1::2] = edges, probabilities
        return row

    @staticmethod
    def slope(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return zero: the density is constant wherever it does not jump."""
        del columns
        return np.zeros((len(table), values.shape[1]))

    @classmethod
    def breaks(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the edges of all bins."""
        del columns
        return np.unique(table[:, 0::2])

    def problems(self, column: Column) -> list[str]:
        """List what is wrong with edges and probabilities for a leaf over this column."""
        if len(self.numbers) < 3 or len(self.numbers) % 2 == 0:
            return [
                f"{len(self.numbers)} numbers, where edges and probabilities take turns: "
                "e0, p0, e1, …, from one edge to another"
            ]
        edges, chances = self.numbers[0::2], self.numbers[1::2]
        found = [
            f"the probability {x:g} of bin {i} is not between 0 and 1"
            for i, x in enumerate(chances)
            if not 0.0 <= x <= 1.0
        ]
        if not found and abs(sum(chances) - 1.0) > smoothing.SUM_TOLERANCE:
            found.append(f"the probabilities sum to {sum(chances):.10g}, not to 1")
        if not np.isfinite(edges).all():
            return found + [f"the edge {x:g} is not finite" for x in edges if not np.isfinite(x)]
        rounding = 4.0 * float(np.spacing(max(map(abs, edges))))  # of a difference of edges
        for a, b in pairwise(edges):
            if not a < b:
                found.append(f"the edge {b:g} is not above {a:g}, the edge before it")
            else:
                width = b - a + rounding
                found += too_narrow(column, width, 1.0, f"the width of the bin from {a:g}")
        if column.kind == "count":
            wrong = [x for x in edges if not _is_half(np.array([x])).all()]
            found += [f"the edge {x:g} is not a half number from -0.5 on" for x in wrong]
        return found

    @staticmethod
    def default(column: Column) -> tuple[float, ...]:
        """Equal bins over the range of the column, all with the same density."""
        edges = even_edges(column)
        widths = np.diff(edges)
        return tuple(Histogram.row_of(edges, widths / widths.sum()).tolist())

    @classmethod
    def start(cls, column: Column, values: Floats, weights: Floats) -> tuple[float, ...]:
        """Bins that follow the values: narrow where their density changes."""
        edges = adaptive_edges(column, values, weights)
        widths = np.diff(edges)
        return tuple(cls.row_of(edges, widths / widths.sum()).tolist())

    @staticmethod
    def free_parameters(width: int) -> int:
        """All probabilities but one; the edges are fixed."""
        return (width - 1) // 2 - 1

    @staticmethod
    def is_valid(table: Floats, columns: LeafColumns) -> bool:
        """Whether edges rise, are half numbers for counts, and probabilities sum to one."""
        if table.shape[1] < 3 or table.shape[1] % 2 == 0 or not np.isfinite(table).all():
            return False
        edges, chances = table[:, 0::2], table[:, 1::2]
        half = _is_half(edges).all(axis=1) | ~columns.is_count
        sums = np.abs(chances.sum(axis=1) - 1.0) <= smoothing.SUM_TOLERANCE
        in_range = ((chances >= 0) & (chances <= 1)).all(axis=1)
        return bool((half & sums & in_range & (np.diff(edges) > 0).all(axis=1)).all())

    @staticmethod
    def log_density(table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return log p(value), `[leaf, row]`; zero where the value is missing."""
        del columns
        edges, chances = table[:, 0::2], table[:, 1::2]
        # One column before and one after the bins for what is outside, and a last for missing.
        heights = np.full((len(table), chances.shape[1] + 3), -np.inf)
        with np.errstate(divide="ignore"):
            heights[:, 1:-2] = np.log(chances) - np.log(np.diff(edges))
        heights[:, -1] = 0.0
        places = _places(edges, values)
        if len(places) == 1:
            return heights[:, places[0]]
        return np.take_along_axis(heights, places, axis=1)

    @classmethod
    def statistic_count(cls, width: int, states: int) -> int:
        """One for each bin."""
        del states
        return (width - 1) // 2

    @classmethod
    def statistics(
        cls, values: Floats, flows: Floats, table: Floats, columns: LeafColumns
    ) -> Floats:
        """Return the expected number of values in each bin."""
        del columns
        bins = (table.shape[1] - 1) // 2
        places = _places(table[:, 0::2], values)
        if len(places) == 1:
            member = places[0][:, None] == np.arange(1, bins + 1)
            found: Floats = flows @ member.astype(np.float64)
            return found
        leaves = len(flows)
        flat = (places + np.arange(leaves)[:, None] * (bins + 3)).reshape(-1)
        counts: Floats = np.bincount(flat, flows.reshape(-1), leaves * (bins + 3)).astype(float)
        return counts.reshape(leaves, -1)[:, 1 : bins + 1]

    @classmethod
    def estimate(
        cls, statistics: Floats, alpha: float, table: Floats, columns: LeafColumns
    ) -> Floats:
        """Return the table in which every bin has its smoothed share of the counts.

        The pseudo-rows are spread over the bins in proportion to their widths.
        """
        del columns
        counts = statistics + alpha * _shares(table)
        total = counts.sum(axis=1, keepdims=True)
        empty = total <= 0.0
        found = table.copy()
        found[:, 1::2] = np.where(empty, table[:, 1::2], counts / np.where(empty, 1.0, total))
        return found

    @classmethod
    def log_prior(cls, table: Floats, alpha: float, columns: LeafColumns) -> float:
        """The Dirichlet prior's log density, up to a constant."""
        del columns
        if alpha == 0.0:
            return 0.0
        with np.errstate(divide="ignore"):
            return float(alpha * (_shares(table) * np.log(table[:, 1::2])).sum())

    @classmethod
    def coordinates(cls, table: Floats, columns: LeafColumns) -> Floats | None:
        """The logarithms of the bins' probabilities; the edges have none."""
        del columns
        with np.errstate(divide="ignore"):
            return np.log(table[:, 1::2])

    @classmethod
    def from_coordinates(cls, coordinates: Floats, table: Floats, columns: LeafColumns) -> Floats:
        """Return the bins with the softmax of the coordinates as probabilities."""
        del columns
        found = table.copy()
        chances = np.exp(coordinates - coordinates.max(axis=1, keepdims=True))
        found[:, 1::2] = chances / chances.sum(axis=1, keepdims=True)
        return found

    @classmethod
    def gradient(cls, table: Floats, statistics: Floats, columns: LeafColumns) -> Floats:
        """Return the derivatives by the logarithms of the bins' probabilities."""
        del columns
        found: Floats = statistics - table[:, 1::2] * statistics.sum(axis=1, keepdims=True)
        return found

    @classmethod
    def weight_of(cls, statistics: Floats) -> Floats:
        """Return the sum over the bins."""
        found: Floats = statistics.sum(axis=1)
        return found

    @classmethod
    def information(cls, table: Floats, columns: LeafColumns) -> Floats:
        """Return the probabilities of the bins."""
        del columns
        return table[:, 1::2].copy()

    @staticmethod
    def sample(table: Floats, columns: LeafColumns, rng: np.random.Generator) -> Floats:
        """Draw a value from each leaf."""
        edges, chances = table[:, 0::2], table[:, 1::2]
        ends = np.cumsum(chances, axis=1)
        ends /= ends[:, -1:]
        drawn = (rng.random(len(table))[:, None] >= ends[:, :-1]).sum(axis=1)[:, None]
        low = np.take_along_axis(edges, drawn, axis=1)[:, 0]
        high = np.take_along_axis(edges, drawn + 1, axis=1)[:, 0]
        within = rng.uniform(low, high)
        whole = np.clip(np.rint(within), low + 0.5, high - 0.5)
        return np.where(columns.is_count, whole, within)

    @staticmethod
    def mean(table: Floats, columns: LeafColumns) -> Floats:
        """Return the average of the bins' centres."""
        del columns
        edges = table[:, 0::2]
        first = edges[:, :1]
        centres = 0.5 * ((edges[:, 1:] - first) + (edges[:, :-1] - first))
        found: Floats = first[:, 0] + (table[:, 1::2] * centres).sum(axis=1)
        return found

    @staticmethod
    def variance(table: Floats, columns: LeafColumns) -> Floats:
        """Return the variance within and between bins."""
        edges, chances = table[:, 0::2], table[:, 1::2]
        apart = 0.5 * (edges[:, 1:] + edges[:, :-1]) - Histogram.mean(table, columns)[:, None]
        within = (np.diff(edges) ** 2 - columns.is_count[:, None]) / 12.0
        found: Floats = (chances * (apart**2 + within)).sum(axis=1)
        return found

    @classmethod
    def cdf(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of at most the value."""
        edges, chances = table[:, 0::2], table[:, 1::2]
        values = np.where(columns.is_count[:, None], np.floor(values) + 0.5, values)
        found = np.zeros(values.shape)
        for i in range(chances.shape[1]):
            low, high = edges[:, i : i + 1], edges[:, i + 1 : i + 2]
            found += chances[:, i : i + 1] * np.clip((values - low) / (high - low), 0.0, 1.0)
        return np.minimum(found, 1.0)

    @classmethod
    def above(cls, table: Floats, values: Floats, columns: LeafColumns) -> Floats:
        """Return the probability of more than the value."""
        values = np.where(columns.is_count[:, None], np.floor(values) + 0.5, values)
        # The columns of the mirrored bins hold no counts any more: the values are moved already.
        others = replace(columns, is_count=np.zeros_like(columns.is_count))
        return cls.cdf(mirrored(table), -values, others)

    @classmethod
    def quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value whose cdf is at least the share."""
        found = inverse(table, shares)
        if columns.is_count.any():
            near = np.rint(found)[:, None] + _AROUND
            enough = cls.cdf(table, near, columns) >= shares[:, None]
            found = np.where(columns.is_count, _first(near, enough), found)
        return cls.ends_or(found, shares <= 0.0, shares >= 1.0, table, columns)

    @classmethod
    def upper_quantile(cls, table: Floats, shares: Floats, columns: LeafColumns) -> Floats:
        """Return the least value that is exceeded with a probability of at most the share."""
        found = -inverse(mirrored(table), shares)
        if columns.is_count.any():
            near = np.rint(found)[:, None] + _AROUND
            enough = cls.above(table, near, columns) <= shares[:, None]
            found = np.where(columns.is_count, _first(near, enough), found)
        return cls.ends_or(found, shares >= 1.0, shares <= 0.0, table, columns)

    @staticmethod
    def mode(table: Floats, columns: LeafColumns) -> Floats:
        """Return the centre of the highest bin, the first of several."""
        ends = np.full(len(table), np.inf)
        return Histogram.mode_within(table, -ends, ends, columns)

    @classmethod
    def mode_within(cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns) -> Floats:
        """Return the centre of what an interval leaves of the highest bin inside."""
        edges = clipped_edges(table, low, high, columns)
        heights = np.where(np.diff(edges) > 0.0, table[:, 1::2] / np.diff(table[:, 0::2]), -1.0)
        best = np.argmax(heights, axis=1)[:, None]
        ends = np.take_along_axis(edges, best, axis=1), np.take_along_axis(edges, best + 1, axis=1)
        centre = 0.5 * (ends[0] + ends[1])[:, 0]
        return np.where(columns.is_count, np.floor(centre), centre)

    @classmethod
    def moments_within(
        cls, table: Floats, low: Floats, high: Floats, columns: LeafColumns
    ) -> tuple[Floats, Floats]:
        """Return mean and variance of what an interval leaves of the bins."""
        mass = cls.interval(table, low[:, None], high[:, None], columns)[:, 0]
        edges = clipped_edges(table, low, high, columns)
        widths = np.diff(edges)
        share = table[:, 1::2] / np.diff(table[:, 0::2]) * widths
        with np.errstate(invalid="ignore"):
            share /= share.sum(axis=1, keepdims=True)
        start = edges[:, :1]
        centres = 0.5 * ((edges[:, 1:] - start) + (edges[:, :-1] - start))
        mean = (share * centres).sum(axis=1)
        within = (widths**2 - columns.is_count[:, None]) / 12.0
        variance = (share * ((centres - mean[:, None]) ** 2 + within)).sum(axis=1)
        return only_possible(mass, start[:, 0] + mean, variance)

    @staticmethod
    def support(table: Floats, columns: LeafColumns) -> tuple[Floats, Floats]:
        """Return the outer ends of the first and the last possible bin."""
        edges, possible = table[:, 0::2], table[:, 1::2] > 0.0
        first = np.argmax(possible, axis=1)[:, None]
        last = possible.shape[1] - np.argmax(possible[:, ::-1], axis=1)[:, None]
        half = np.where(columns.is_count, 0.5, 0.0)
        low = np.take_along_axis(edges, first, axis=1)[:, 0] + half
        return low, np.take_along_axis(edges, last, axis=1)[:, 0] - half


def _is_half(edges: Floats) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (edges >= -0.5) & (edges - 0.5 == np.floor(edges))
    return found


def _first(values: Floats, enough: NDArray[np.bool_]) -> Floats:
    """Return the first value of each row that is enough, or the last."""
    place = np.where(enough.any(axis=1), np.argmax(enough, axis=1), enough.shape[1] - 1)
    return np.take_along_axis(values, place[:, None], axis=1)[:, 0]


def _shares(table: Floats) -> Floats:
    """Return the share of each bin in the width of all bins, `[leaf, bin]`."""
    widths = np.diff(table[:, 0::2])
    found: Floats = widths / widths.sum(axis=1, keepdims=True)
    return found


def _places(edges: Floats, values: Floats) -> NDArray[np.intp]:
    """Return where values lie, in the shape of `values` or `[leaf, row]`.

    That is 0 below the first edge, 1 … k in the bins, k + 1 above the last edge, and k + 2 if the
    value is missing. A value on an edge belongs to the bin above it, but on the last edge to the
    last bin.
    """
    bins = edges.shape[1] - 1
    if len(edges) > 0 and bool((edges == edges[0]).all()):
        edges = edges[:1]
        found = np.searchsorted(edges[0], values.reshape(-1), side="right").reshape(values.shape)
    else:
        found = np.zeros(np.broadcast_shapes((len(edges), 1), values.shape), dtype=np.intp)
        for i in range(bins + 1):
            found += values >= edges[:, i : i + 1]
    found = np.where(values == edges[:, -1:], bins, found)
    return np.where(np.isnan(values), bins + 2, found)
