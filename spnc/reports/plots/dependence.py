"""How strongly every two columns of a model depend on each other, as a heat map."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from spnc.common.wording import clipped
from spnc.queries.dependence import Dependence
from spnc.reports.plots.mutual_information import draw_matrix
from spnc.reports.plots.style import AMOUNT, INK, house_style, image

NUMBERED = 12  # columns up to which every field shows its number
DARK = 0.5  # share from which on numbers are white


def picture(found: Dependence, name: str, suffix: str) -> bytes:
    """Return the content of a picture file; `name` is that of the model."""
    with house_style():
        return image(draw(found, name), suffix)


def draw(found: Dependence, name: str) -> Figure:
    """Return the figure: the share of the smaller entropy that two columns have in common."""
    side = min(4.0 + 0.3 * len(found.columns), 12.0)
    figure = Figure(figsize=(side + 1.2, side), layout="compressed")
    axes = figure.subplots()
    matrix = found.shares.copy()
    np.fill_diagonal(matrix, np.nan)
    scale = Normalize(0.0, 1.0)
    draw_matrix(axes, matrix, [column.name for column in found.columns], scale)
    if len(found.columns) <= NUMBERED:
        for i, j in np.argwhere(~np.isnan(matrix)).tolist():
            shade = "white" if matrix[i, j] > DARK else INK
            axes.text(j, i, f"{matrix[i, j]:.2f}", ha="center", va="center", color=shade)
    axes.set_title(f"{clipped(name, 45)}: dependence of columns", loc="left")
    bar = figure.colorbar(mpl.cm.ScalarMappable(scale, AMOUNT), ax=axes, shrink=0.8, pad=0.02)
    bar.set_label("mutual information, share of the smaller entropy")
    bar.outline.set_visible(False)
    return figure
