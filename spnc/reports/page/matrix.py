"""Matrices as shades of colour, and rows as pictures of pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.wording import width
from spnc.data.columns import Column, Scale
from spnc.data.images import Shape
from spnc.reports.page.charts import Frame, svg
from spnc.reports.page.html import Html, brief, el, shortened

SHADES = 16  # as the CSS has them, --q0 to --q15
NAMED = 40  # columns; with more, there is no room for their names
LETTERS = 14  # of a name, at most
LETTER = 9.0  # width of a letter on a small screen, in units of the chart


def _levels(values: Floats, top: float) -> Floats:
    """Return the shade of each value, on a square-root scale as in `spnc plot mi`."""
    share = np.sqrt(np.clip(values / (top or 1.0), 0.0, 1.0))
    found: Floats = np.minimum(np.floor(share * SHADES), SHADES - 1)
    return found


def matrix(
    title: str, values: Floats, names: Sequence[str], top: float, *, sides: tuple[str, str]
) -> Html:
    """Return a square of shades; NaN stays blank. `sides` name the rows and the columns."""
    n = len(values)
    named = n <= NAMED
    left = 24.0 + (
        8.0 + LETTER * max(width(shortened(s, LETTERS)) for s in names) if named else 34.0
    )
    size = min(520.0, 72.0 * n)
    cell = size / n
    bottom = left if named else 56.0
    tall, wide = size + bottom + 8, left + size + 4
    frame = Frame(0, n, 0, n, height=tall, width=wide, left=left, top=8, bottom=bottom)
    levels = _levels(values, top)
    drawn = [el("rect", x=0, y=0, width=n, height=n, class_="paper")]
    for q in range(SHADES):
        rows, columns = np.nonzero(levels == q)
        places = zip(columns.tolist(), rows.tolist(), strict=True)
        if len(rows):
            d = "".join(f"M{x} {y}h1v1h-1z" for x, y in places)
            drawn.append(el("path", d=d, class_=f"q{q}"))
    drawn.append(el("rect", x=-1, y=-1, width=1, height=1, class_="cursor"))
    square = el("g", drawn, transform=f"translate({left:g} 8) scale({cell:.4f})", class_="cells")
    return svg(
        frame,
        title,
        square,
        _names(names, left, cell, size, named),
        _sides(sides, left, size, frame),
        class_="matrix" if n <= 16 else "matrix fine",
        style=f"max-width:{1.12 * wide:.0f}px",
    )


def _names(names: Sequence[str], left: float, cell: float, size: float, named: bool) -> Html:
    n, made = len(names), []
    step = 1 if named else max(1, math.ceil(n / 10 / 10) * 10)
    font = f"font-size:{max(6.0, cell * 0.85):.1f}px" if named and cell < 14.0 else None
    for i in range(0, n, step):
        text = shortened(names[i], LETTERS) if named else str(i + 1)
        at = (i + 0.5) * cell
        made.append(el("text", text, x=left - 6, y=8 + at + 4, text_anchor="end", style=font))
        turned = f"translate({left + at + 4:.1f} {8 + size + 6:.1f}) rotate(-90)"
        if named:
            made.append(el("text", text, transform=turned, text_anchor="end", style=font))
        else:
            made.append(el("text", text, x=left + at, y=8 + size + 18, text_anchor="middle"))
    return el("g", made, class_="names")


def _sides(sides: tuple[str, str], left: float, size: float, frame: Frame) -> Html:
    middle = left + size / 2
    return el(
        "g",
        el(
            "text",
            sides[0],
            class_="axis",
            transform=f"translate(13 {8 + size / 2:g}) rotate(-90)",
        ),
        el("text", sides[1], class_="axis", x=middle, y=frame.height - 4),
    )


def scale(top: float, unit: str) -> Html:
    """Return a legend of the shades in one line."""
    swatches = [
        el("rect", x=i * 12, y=0, width=12, height=12, class_=f"q{i}") for i in range(SHADES)
    ]
    picture = el(
        "svg", swatches, viewBox="0 0 192 12",
        preserveAspectRatio="none", role="img", class_="scale",
        aria_label=f"shades from 0 to {brief(top)} {unit}, on a square-root scale",
    )  # fmt: skip
    return el("p", "0 ", picture, f" {brief(top)} {unit}", class_="legend")


def levels(values: Floats, columns: Sequence[Column]) -> Floats:
    """Return rows as darkness: 0 for the lowest state or number of a column, 1 for the highest.

    Numbers have as many levels as there are shades.
    """
    found = np.array(values, dtype=np.float64)
    for i, column in enumerate(columns):
        if column.is_finite:
            found[..., i] /= max(1, column.states - 1)
        else:
            scale = column.scale or Scale()
            share = (found[..., i] - scale.low) / ((scale.high - scale.low) or 1.0)
            found[..., i] = np.round(np.clip(share, 0.0, 1.0) * (SHADES - 1)) / (SHADES - 1)
    return found


def picture(darkness: Floats, shape: Shape, title: str, surprise: Floats | None = None) -> Html:
    """Return a row, given by its `levels`, as an image; rings mark the most surprising pixels."""
    flat = np.full(shape.height * shape.width, np.nan)
    flat[shape.places] = darkness
    grid = flat.reshape(shape.height, shape.width)
    drawn = _inked(grid)
    hidden = _runs(np.isnan(grid))
    if hidden:
        drawn.append(el("path", d=hidden, class_="missing"))
    if surprise is not None:
        for column in np.argsort(-np.where(np.isnan(surprise), 0.0, surprise))[:6].tolist():
            if surprise[column] > 1.0:
                y, x = divmod(int(shape.places[column]), shape.width)
                drawn.append(
                    el("rect", x=x + 0.12, y=y + 0.12, width=0.76, height=0.76, class_="ring")
                )
    box = f"0 0 {shape.width} {shape.height}"
    return el("svg", drawn, viewBox=box, role="img", aria_label=title, class_="pixels")


def shades(values: Floats, shape: Shape, top: float, title: str) -> Html:
    """Return a number for each pixel as an image of shades, on a linear scale up to `top`."""
    flat = np.zeros(shape.height * shape.width)
    flat[shape.places] = np.clip(values / (top or 1.0), 0.0, 1.0)
    level = np.minimum(np.floor(flat * SHADES), SHADES - 1).reshape(shape.height, shape.width)
    drawn = [el("path", d=_runs(level == q), class_=f"q{q}") for q in np.unique(level).astype(int)]
    box = f"0 0 {shape.width} {shape.height}"
    return el("svg", drawn, viewBox=box, role="img", aria_label=title, class_="pixels")


def _inked(darkness: Floats) -> list[Html]:
    """Return a path for each level above zero."""
    return [
        el("path", d=_runs(darkness == level), class_="ink", opacity=level if level < 1 else None)
        for level in np.unique(darkness[darkness > 0.0]).tolist()
    ]


def strips(darkness: Floats, title: str) -> Html:
    """Return rows, given by their `levels`, below one another, one cell per column."""
    rows, columns = darkness.shape
    drawn = _inked(darkness)
    box = f"0 0 {columns} {rows}"
    return el(
        "svg", drawn, viewBox=box, preserveAspectRatio="none", role="img", aria_label=title,
        class_="strips",
    )  # fmt: skip


def _runs(cells: Floats) -> str:
    """Return the true cells as one SVG path, with neighbours in a line joined."""
    parts = []
    for y, line in enumerate(np.asarray(cells, dtype=np.int8)):
        change = np.flatnonzero(np.diff(np.concatenate([[0], line, [0]])))
        for begin, end in zip(change[::2].tolist(), change[1::2].tolist(), strict=True):
            parts.append(f"M{begin} {y}h{end - begin}v1h-{end - begin}z")
    return "".join(parts)
