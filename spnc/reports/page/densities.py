"""Charts of numeric columns: a histogram of the rows, and the model's density over it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spnc.common.arrays import Floats
from spnc.common.wording import width
from spnc.data.cells import heading, number_text
from spnc.reports.facts.columns import ColumnFit
from spnc.reports.facts.histograms import Histogram
from spnc.reports.page.charts import HALF, Frame, axes, path, svg, ticks
from spnc.reports.page.date_ticks import date_ticks
from spnc.reports.page.html import Html, el, percent, shortened

_TALL = 220.0
_LETTER = 9.0  # width of a letter of a tick's label, in units of the chart


def density_charts(columns: Sequence[ColumnFit], split: str, rows: str) -> Html | None:
    """Return a chart for each column that has a curve; `rows` says which rows the bars are."""
    charts = [_chart(column, split, rows) for column in columns if column.curve is not None]
    return el("div", charts, class_="pair") if charts else None


def _chart(column: ColumnFit, split: str, rows: str) -> Html:
    histogram = column.histogram
    assert histogram is not None
    assert column.curve is not None
    seen = np.nan_to_num(column.observed[split].frequencies)
    edges, wide = histogram.edges, histogram.widths
    bars = (seen / wide)[1:-1]
    points, density = column.curve
    if column.column.kind == "count":  # between whole numbers there is no density
        points, density = _steps(edges, (column.model / wide)[1:-1])
    high = max(float(bars.max()), float(density[np.isfinite(density)].max(initial=0.0))) or 1.0
    frame = Frame(float(edges[0]), float(edges[-1]), 0.0, 1.06, height=_TALL, width=HALF, left=30.0)
    drawn = []
    for i, tall in enumerate((bars / high).tolist()):
        left, right = frame.x(float(edges[i])), frame.x(float(edges[i + 1]))
        top = frame.y(tall)
        said = (
            f"{histogram.texts[i + 1]}: {percent(float(seen[i + 1]))} of the {rows}, "
            f"model {percent(float(column.model[i + 1]))}"
        )
        drawn.append(
            el(
                "rect",
                x=left + 0.5,
                y=top,
                width=max(0.5, right - left - 1.0),
                height=frame.y(0.0) - top,
                class_="f1",
            )
        )
        drawn.append(
            el(
                "rect",
                x=left,
                y=frame.top,
                width=right - left,
                height=frame.y(0.0) - frame.top,
                class_="hit",
                data_tip=said,
            )
        )
    curve = path(
        [
            (frame.x(float(x)), frame.y(min(float(y) / high, 1.06)))
            for x, y in zip(points, density, strict=True)
        ]
    )
    name = shortened(heading(column.column), 50)
    title = (
        f"Histogram of {name} in the {rows}, with the density of the model; "
        f"{_outside(column, seen)}"
    )
    return el(
        "div",
        svg(
            frame,
            title,
            axes(frame, name, "density", x_ticks=False, y_labels=False),
            _labels(histogram, frame),
            drawn,
            el("path", d=curve, class_="outline model"),
        ),
        class_="plot",
    )


def _steps(edges: Floats, heights: Floats) -> tuple[Floats, Floats]:
    """Return the corners of the outline of bars."""
    return np.repeat(edges, 2)[1:-1], np.repeat(heights, 2)


def _outside(column: ColumnFit, seen: Floats) -> str:
    """Return how much lies in the tails, which the chart leaves out."""
    rows, model = float(seen[0] + seen[-1]), float(column.model[0] + column.model[-1])
    return f"{percent(rows)} of the rows and {percent(model)} of the model lie outside"


def _labels(histogram: Histogram, frame: Frame) -> Html:
    """Return labels of round numbers, or of dates, on the horizontal axis."""
    column = histogram.column
    low, high = float(histogram.edges[0]), float(histogram.edges[-1])
    room = frame.width - frame.left - frame.right
    wide = _LETTER * max(width(number_text(column, x)) for x in (low, high)) + 16.0
    count = max(1, int(room // wide) - 1)
    made = []
    most = min(6, count)
    is_date = column.kind == "date"
    values = date_ticks(low, high, column.unit, most) if is_date else ticks(low, high, most)
    for value in values:
        x = frame.x(value)
        text = number_text(column, value)
        base = frame.height - frame.bottom
        made += [
            el("text", text, x=x, y=base + 18, text_anchor="middle"),
            el("line", x1=x, x2=x, y1=base, y2=base + 5, class_="tick"),
        ]
    return el("g", made, class_="axes")
