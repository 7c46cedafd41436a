"""Pairwise mutual information of data and model in one matrix, as in Fig. 3 of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from spnc.common.arrays import Floats
from spnc.common.wording import clipped
from spnc.reports.plots.style import AMOUNT, FAINT, house_style, image, number

NAMED = 40  # columns; with more, there is no room for their names
PER_LINE = 3  # models side by side


@dataclass(frozen=True, eq=False)
class Comparison:
    """Mutual information of data and of a model, both `[column, column]`, in nats."""

    name: str
    empirical: Floats
    model: Floats

    @property
    def matrix(self) -> Floats:
        """Return the matrix to draw: data below the diagonal, model above it, NaN on it."""
        below = np.tri(len(self.model), k=-1, dtype=bool)
        drawn = np.where(below, self.empirical, self.model)
        np.fill_diagonal(drawn, np.nan)
        return drawn

    def facts(self) -> dict[str, Any]:
        """Return how far apart the two are over all pairs; None where a number is undefined."""
        above = np.triu_indices(len(self.model), k=1)
        data, model = self.empirical[above], self.model[above]
        varied = len(data) > 1 and np.ptp(data) > 0.0 and np.ptp(model) > 0.0
        return {
            "pairs": len(data),
            "mean_empirical": float(data.mean()) if len(data) else None,
            "mean_model": float(model.mean()) if len(data) else None,
            "mean_absolute_difference": float(np.abs(data - model).mean()) if len(data) else None,
            "correlation": float(np.corrcoef(data, model)[0, 1]) if varied else None,
        }

    def summary(self) -> str:
        """Return the facts in one line."""
        facts = self.facts()
        if not facts["pairs"]:
            return "one column has no pairs"
        apart = f"mean |difference| {facts['mean_absolute_difference']:.3g} nats"
        alike = facts["correlation"]
        return apart if alike is None else f"{apart}, correlation {number(alike, '.4f')}"


def picture(
    comparisons: Sequence[Comparison], columns: Sequence[str], data: str, suffix: str
) -> bytes:
    """Return the content of a picture file with a matrix per model, all on one scale."""
    with house_style():
        return image(draw(comparisons, columns, data), suffix)


def draw(comparisons: Sequence[Comparison], columns: Sequence[str], data: str) -> Figure:
    """Return the figure; `data` says in words which rows the values of the data are from.

    The colour scale is a square root: mutual information is about half the square of a
    correlation, and on a linear scale one very strong pair would leave all others white.
    """
    wide = min(PER_LINE, len(comparisons))
    lines = -(-len(comparisons) // wide)
    figure = Figure(figsize=(4.9 * wide + 1.0, 5.5 * lines), layout="compressed")
    axes = figure.subplots(lines, wide, squeeze=False)
    matrices = [comparison.matrix for comparison in comparisons]
    top = max((float(np.nanmax(m)) for m in matrices if len(m) > 1), default=0.0)
    scale = PowerNorm(0.5, 0.0, top or 1.0)
    for place, comparison, matrix in zip(axes.flat, comparisons, matrices, strict=False):
        draw_matrix(place, matrix, columns, scale)
        above, below = clipped(comparison.name, 45), clipped(data, 50)
        place.set_title(f"above the diagonal: {above}\nbelow: {below}", loc="left")
        place.set_xlabel(comparison.summary(), loc="left", labelpad=8)
    for place in axes.flat[len(comparisons) :]:
        place.set_axis_off()
    shades = mpl.cm.ScalarMappable(scale, AMOUNT)
    bar = figure.colorbar(shades, ax=axes, shrink=0.8, aspect=30, pad=0.02)
    bar.set_label("mutual information of two columns, nats")
    ticks = [0.0, *_round_numbers(top)]
    bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    bar.outline.set_visible(False)
    return figure


def _round_numbers(top: float) -> list[float]:
    """Return numbers such as 0.01, 0.02, 0.05 and 0.1 up to `top`, if there is room for them."""
    if top <= 0.0:
        return []
    powers = range(math.floor(math.log10(top)) - 2, math.floor(math.log10(top)) + 1)
    ladder = [float(f"{first}e{power}") for power in powers for first in (1, 2, 5)]
    return [tick for tick in ladder if top / 60 <= tick <= top]


def draw_matrix(axes: Axes, matrix: Floats, columns: Sequence[str], scale: Normalize) -> None:
    """Draw a matrix of columns with their names."""
    axes.imshow(matrix, cmap=AMOUNT.with_extremes(bad=FAINT), norm=scale, interpolation="nearest")
    axes.spines[:].set(color=FAINT)
    axes.tick_params(length=0)
    if len(columns) <= NAMED:
        names = [clipped(name, 18) for name in columns]
        size = 9.0 if len(columns) <= 20 else 6.0
        axes.set_xticks(range(len(columns)), names, rotation=90, fontsize=size)
        axes.set_yticks(range(len(columns)), names, fontsize=size)
    else:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(10, integer=True, steps=[1, 2, 5, 10]))
        axes.set_ylabel("columns, the first being 0")
