"""Pairwise mutual information of data and model in one matrix, as in the paper's Fig. 3."""

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
from spnc.reports.plots.style import AMOUNT, FAINT, clipped, house_style, image, number

NAMED = 40  # so many columns have room for their names
PER_LINE = 3  # models beside one another


@dataclass(frozen=True, eq=False)
class Comparison:
    """A model's mutual information beside that of data; both are `[column, column]`, in nats."""

    name: str
    empirical: Floats
    model: Floats

    @property
    def matrix(self) -> Floats:
        """What is drawn: the data's below the diagonal, the model's above, NaN on it."""
        below = np.tri(len(self.model), k=-1, dtype=bool)
        drawn = np.where(below, self.empirical, self.model)
        np.fill_diagonal(drawn, np.nan)
        return drawn

    def facts(self) -> dict[str, Any]:
        """How far apart the two are, over all pairs; None where that has no meaning."""
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
        """The facts in one line."""
        facts = self.facts()
        if not facts["pairs"]:
            return "one column has no pairs"
        apart = f"mean |difference| {facts['mean_absolute_difference']:.3g} nats"
        alike = facts["correlation"]
        return apart if alike is None else f"{apart}, correlation {number(alike, '.4f')}"


def picture(
    comparisons: Sequence[Comparison], columns: Sequence[str], data: str, suffix: str
) -> bytes:
    """The content of a picture file: a matrix for each model, all on one scale."""
    with house_style():
        return image(draw(comparisons, columns, data), suffix)


def draw(comparisons: Sequence[Comparison], columns: Sequence[str], data: str) -> Figure:
    """The figure. `data` says which rows the empirical values are from.

    Shades go by the square root: a mutual information is about half the square of a correlation,
    and one pair that says far more than all others would leave these white.
    """
    wide = min(PER_LINE, len(comparisons))
    lines = -(-len(comparisons) // wide)
    figure = Figure(figsize=(4.9 * wide + 1.0, 5.5 * lines), layout="compressed")
    axes = figure.subplots(lines, wide, squeeze=False)
    matrices = [comparison.matrix for comparison in comparisons]
    top = max((float(np.nanmax(m)) for m in matrices if len(m) > 1), default=0.0)
    scale = PowerNorm(0.5, 0.0, top or 1.0)
    for place, comparison, matrix in zip(axes.flat, comparisons, matrices, strict=False):
        _draw_matrix(place, matrix, columns, scale)
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
    """Numbers such as 0.01, 0.02, 0.05 and 0.1 up to the top, as far as there is room for them."""
    if top <= 0.0:
        return []
    powers = range(math.floor(math.log10(top)) - 2, math.floor(math.log10(top)) + 1)
    ladder = [float(f"{first}e{power}") for power in powers for first in (1, 2, 5)]
    return [tick for tick in ladder if top / 60 <= tick <= top]


def _draw_matrix(axes: Axes, matrix: Floats, columns: Sequence[str], scale: Normalize) -> None:
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
