"""A picture of each real column of a table: the rows' histogram and the model's density."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.common.density_tables import DensityTable
from benchmarks.tabular.fit import column_cdf
from spnc.model import Model
from spnc.reports.plots.style import COLOURS, house_style, image

ACROSS = 3  # panels side by side
BINS = 40
TAIL = 0.005  # the share of values beyond each end of a panel


def picture(model: Model, table: DensityTable) -> bytes:
    """Return a PNG with a panel for each real column, of the test rows.

    The model's line is its probability of each bin over the bin's width, so that a box of one
    resolution is as high as the bar that it belongs to.
    """
    places = np.flatnonzero(table.is_real).tolist()
    down = math.ceil(len(places) / ACROSS)
    across = min(ACROSS, len(places))
    with house_style():
        figure = Figure(figsize=(3.6 * across, 2.4 * down), layout="constrained")
        for number, place in enumerate(places, 1):
            _draw(figure.add_subplot(down, across, number), model, table, place)
        figure.axes[0].legend(fontsize=7)
        return image(figure, ".png")


def _draw(panel: Axes, model: Model, table: DensityTable, place: int) -> None:
    """Draw the histogram of a column's test rows, and the model's line over it."""
    edges, values = _edges(table, place), table.plain["test"][:, place]
    bars = np.histogram(values, edges)[0] / len(values) / np.diff(edges)
    line = np.diff(column_cdf(model, table.columns[place], edges)) / np.diff(edges)
    panel.stairs(bars, edges, fill=True, color="0.8", label="test rows")
    panel.stairs(line, edges, color=COLOURS[0], label="model")
    panel.set_title(table.columns[place])
    panel.set_yticks([])
    panel.tick_params(labelsize=7)


def _edges(table: DensityTable, place: int) -> np.ndarray:
    """Return the edges of bins, each a whole number of resolutions wide, between rounded values."""
    values, step = table.plain["test"][:, place], float(table.resolution[place])
    low, high = np.quantile(values, [TAIL, 1.0 - TAIL])
    wide = step * max(1.0, math.ceil((high - low + step) / step / BINS))
    count = math.ceil((high - low + step) / wide)
    found: np.ndarray = low - step / 2 + wide * np.arange(count + 1)
    return found
