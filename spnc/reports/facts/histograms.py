"""Numeric columns as histograms: where the bins lie, how they are called, the model's density."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.cells import number_text, range_text
from spnc.data.columns import Column, Scale
from spnc.data.table import Table
from spnc.model import Model
from spnc.queries.discretise import weighted_quantiles

BINS = 24
_TAIL = 0.005  # share of the rows that may lie outside the histogram, at either end
_LONG = 1.5  # a histogram is cut at the tails if it would be longer than this many times without
_POINTS = 4  # of the model's density, per bin


@dataclass(frozen=True, eq=False)
class Histogram:
    """Bins of equal width, `edges[i] < value <= edges[i + 1]`, and a tail at either end.

    As a column with states: the values below, those of each bin, the values above.
    """

    column: Column
    edges: Floats

    @property
    def states(self) -> int:
        """The number of bins, and the two tails."""
        return len(self.edges) + 1

    @property
    def cuts(self) -> Floats:
        """The edges, repeated at the end so that all columns have the same number of them."""
        return np.pad(self.edges, (0, BINS + 1 - len(self.edges)), mode="edge")

    def shares(self, by_cut: Floats) -> Floats:
        """Return the shares by state, given those between `cuts`, of which some are empty."""
        last = len(self.edges)
        return np.concatenate([by_cut[:last], by_cut[last:].sum(keepdims=True)])

    @property
    def bin_width(self) -> float:
        """The width of every bin."""
        return float(self.edges[1] - self.edges[0])

    @property
    def widths(self) -> Floats:
        """The width of each state; that of a tail reaches to the last training value."""
        scale, wide = _scale(self.column), self.bin_width
        low = max(wide, float(self.edges[0]) - scale.low)
        high = max(wide, scale.high - float(self.edges[-1]))
        return np.concatenate([[low], np.diff(self.edges), [high]])

    @property
    def texts(self) -> list[str]:
        """Each state in words: `below 2700 g`, `2700 to 2875 g`, …"""
        half = 0.5 * _scale(self.column).resolution
        values = [
            (float(a) + half, float(b) - half)
            for a, b in zip(self.edges[:-1], self.edges[1:], strict=True)
        ]
        unit = f" {self.column.unit}" if self.column.unit and self.column.kind != "date" else ""
        below, above = ("before", "after") if self.column.kind == "date" else ("below", "above")
        return [
            f"{below} {number_text(self.column, values[0][0])}{unit}",
            *(range_text(self.column, low, max(low, high)) for low, high in values),
            f"{above} {number_text(self.column, values[-1][1])}{unit}",
        ]


def histogram_of(column: Column, table: Table, place: int) -> Histogram:
    """Return bins for a numeric column, given rows; each holds equally many rounded values."""
    step = _scale(column).resolution
    shares = np.array([1e-12, _TAIL, 1.0 - _TAIL, 1.0])
    least, low, high, most = weighted_quantiles(table.column(place), table.weights, shares).tolist()
    if most - least <= _LONG * (high - low) or high == low:
        low, high = least, most
    steps = max(1, math.ceil((high - low + step) / (BINS * step) - 1e-9))
    count = max(1, math.ceil((high - low + step) / (steps * step) - 1e-9))
    start = low - 0.5 * step
    return Histogram(column, start + steps * step * np.arange(min(count, BINS) + 1))


def histograms_of(model: Model, table: Table) -> dict[int, Histogram]:
    """Return the histogram of every numeric column of a model, by its place."""
    return {
        i: histogram_of(column, table, i)
        for i, column in enumerate(model.columns)
        if not column.is_finite
    }


def density_curve(model: Model, place: int, histogram: Histogram) -> tuple[Floats, Floats]:
    """Return points inside a histogram, and the model's density there, exactly.

    All other columns are missing in the rows that are evaluated, so they are summed out.
    """
    points = np.linspace(
        histogram.edges[0], histogram.edges[-1], _POINTS * (len(histogram.edges) - 1) + 1
    )
    rows = np.full((len(points), len(model.columns)), np.nan)
    rows[:, place] = points
    found = model.engine.log_likelihood(model.parameters, model.engine.load(Table(rows), once=True))
    return points, np.exp(found)


def cuts_of(histograms: Mapping[int, Histogram]) -> dict[int, Floats]:
    """Return the cuts of every histogram, as `spnc.queries.discretise` takes them."""
    return {place: histogram.cuts for place, histogram in histograms.items()}


def _scale(column: Column) -> Scale:
    return column.scale or Scale()
