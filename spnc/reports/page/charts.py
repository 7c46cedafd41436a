"""Charts as SVG, each with a text for screen readers; the CSS sets the colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spnc.common.wording import width
from spnc.reports.page.html import Html, brief, clipped, el, number

WIDTH, HALF = 760.0, 440.0  # units; about a pixel each on a wide screen


@dataclass(frozen=True)
class Frame:
    """The mapping of data to coordinates: x0, y0 to x1, y1 fill the space inside the margins."""

    x0: float
    x1: float
    y0: float
    y1: float
    height: float = 280.0
    width: float = WIDTH
    left: float = 74.0
    right: float = 14.0
    top: float = 12.0
    bottom: float = 44.0

    def x(self, value: float) -> float:
        """Return the horizontal coordinate of a value."""
        room = self.width - self.left - self.right
        return self.left + room * (value - self.x0) / ((self.x1 - self.x0) or 1.0)

    def y(self, value: float) -> float:
        """Return the vertical coordinate of a value; larger values are higher up."""
        room = self.height - self.top - self.bottom
        return self.height - self.bottom - room * (value - self.y0) / ((self.y1 - self.y0) or 1.0)


def svg(
    frame: Frame,
    title: str,
    *children: object,
    class_: str | None = None,
    style: str | None = None,
) -> Html:
    """Return the chart; `title` describes it for screen readers."""
    return el(
        "svg",
        *children,
        viewBox=f"0 0 {frame.width:g} {frame.height:g}",
        role="img",
        aria_label=title,
        class_=" ".join(filter(None, [class_, "half" if frame.width <= HALF else None])) or None,
        style=style,
    )


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers between two others."""
    span = high - low
    if not span > 0.0:
        return [low]
    raw = span / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def decimals(values: Sequence[float]) -> int:
    """Return the number of decimals that tells neighbouring ticks apart."""
    if len(values) < 2 or values[0] == values[1]:
        return 2
    return max(0, -math.floor(math.log10(abs(values[1] - values[0])) + 1e-9))


def axes(
    frame: Frame,
    xlabel: str,
    ylabel: str,
    *,
    whole: bool = False,
    x_ticks: bool = True,
    y_labels: bool = True,
    log: bool = False,
) -> Html:
    """Return grid lines at round numbers, their labels, and the names of both axes.

    With `log`, vertical values are exponents, labelled as powers of ten.
    """
    ys = ticks(frame.y0, frame.y1)
    if log:
        ys = [float(k) for k in range(math.floor(frame.y1) + 1)]
    xs = ticks(frame.x0, frame.x1, 6) if x_ticks else []
    xs = [v for v in xs if not whole or v == int(v)]
    end = frame.width - frame.right
    base = frame.height - frame.bottom
    places = decimals(ys)
    return el(
        "g",
        [el("line", x1=frame.left, x2=end, y1=frame.y(v), y2=frame.y(v)) for v in ys],
        [
            el(
                "text",
                f"{10**v:,.0f}" if log else number(v, places),
                x=frame.left - 8,
                y=frame.y(v) + 4,
                text_anchor="end",
            )
            for v in ys
            if y_labels
        ],
        [
            el("text", number(v, decimals(xs)), x=frame.x(v), y=base + 18, text_anchor="middle")
            for v in xs
        ],
        el("text", xlabel, x=(frame.left + end) / 2, y=frame.height - 6, class_="axis"),
        el(
            "text",
            ylabel,
            class_="axis",
            transform=f"translate(13 {(frame.top + base) / 2:g}) rotate(-90)",
        ),
        class_="axes",
    )


def path(points: Sequence[tuple[float, float]]) -> str:
    """Return an SVG path through the points, with a gap where one is not finite."""
    parts, pen = [], "M"
    for x, y in points:
        if math.isfinite(x) and math.isfinite(y):
            parts.append(f"{pen}{x:.1f} {y:.1f}")
            pen = "L"
        else:
            pen = "M"
    return "".join(parts)


def columns_chart(
    title: str,
    labels: Sequence[str],
    stacks: Sequence[tuple[str, str, Sequence[float]]],
    xlabel: str,
    ylabel: str,
    *,
    log: bool = False,
) -> Html:
    """Return stacked vertical bars; a stack is (CSS class, name, values).

    With `log`, the height of a bar is the logarithm of its total, and its colours divide that
    height in proportion to their values.
    """
    count = len(labels)
    totals = [sum(s[2][i] for s in stacks) for i in range(count)]
    most = max([*totals, 1.0])
    low, high = (-0.2, math.log10(most) + 0.1) if log else (0.0, most * 1.04)
    frame = Frame(0.0, float(count), low, high, height=240.0, width=HALF, left=76.0)
    step = frame.x(1) - frame.x(0)
    bars, hits = [], []
    # Letters are wider on small screens, so labels get as much room as they need there.
    every = max(1, math.ceil((10.0 + 8.0 * max(map(width, labels), default=1)) / step))
    base = frame.height - frame.bottom
    for i, label in enumerate(labels):
        at, bottom = frame.x(i), base
        full = base - frame.y(math.log10(max(1.0, totals[i])) if log else totals[i])
        for class_, _, values in stacks:
            if values[i] > 0:
                tall = full * values[i] / totals[i]
                bottom -= tall
                wide = step * 0.8
                bars.append(
                    el("rect", x=at + step * 0.1, y=bottom, width=wide, height=tall, class_=class_)
                )
        said = ", ".join(f"{name} {brief(v[i])}" for _, name, v in stacks if v[i] > 0)
        hits.append(
            el(
                "rect",
                x=at,
                y=frame.top,
                width=step,
                height=frame.height - frame.top - frame.bottom,
                class_="hit",
                data_tip=f"{xlabel} {label}: {said or 'none'}",
            )
        )
        if i % every == 0:
            bars.append(el("text", label, x=at + step / 2, y=base + 18, text_anchor="middle"))
    drawn = axes(frame, xlabel, ylabel, x_ticks=False, log=log)
    return el("div", svg(frame, title, drawn, bars, hits), class_="plot")


@dataclass(frozen=True)
class Bar:
    """A horizontal bar, with a mark at another value if there is one."""

    label: str
    value: float
    text: str
    tip: str
    mark: float | None = None
    class_: str = "f1"


def bars_chart(title: str, bars: Sequence[Bar], *, line: float = 24.0) -> Html:
    """Return horizontal bars with their names on the left and their numbers on the right."""
    left = min(230.0, 24.0 + 11.0 * max(width(clipped(b.label, 22)) for b in bars))
    top = max(max(b.value, b.mark or 0.0) for b in bars) or 1.0
    frame = Frame(
        0.0, top, 0.0, 1.0, height=line * len(bars) + 8, left=left, right=110.0, top=4, bottom=4
    )
    drawn = []
    for i, bar in enumerate(bars):
        y = 4 + i * line
        long = max(0.0, frame.x(bar.value) - left)
        drawn += [
            el("text", clipped(bar.label, 22), x=left - 10, y=y + line * 0.68, text_anchor="end"),
            el("rect", x=left, y=y + 4, width=long, height=line - 8, class_=bar.class_),
            el("text", bar.text, x=frame.x(max(bar.value, bar.mark or 0)) + 8, y=y + line * 0.68),
            el("rect", x=0.0, y=y, width=WIDTH, height=line, class_="hit", data_tip=bar.tip),
        ]
        if bar.mark is not None:
            at = frame.x(bar.mark)
            drawn.append(el("line", x1=at, x2=at, y1=y + 1, y2=y + line - 1, class_="mark"))
    return el("div", svg(frame, title, drawn), class_="plot")


@dataclass(frozen=True)
class Dot:
    """A point of a scatter plot."""

    x: float
    y: float
    tip: str
    chosen: bool = False


def scatter(title: str, dots: Sequence[Dot], xlabel: str, ylabel: str) -> Html:
    """Return a scatter plot; the chosen point is a large diamond."""
    xs, ys = [d.x for d in dots], [d.y for d in dots]
    wide, tall = (max(xs) - min(xs)) or 1.0, (max(ys) - min(ys)) or 1.0
    frame = Frame(
        max(0.0, min(xs) - 0.06 * wide) if min(xs) >= 0 else min(xs) - 0.06 * wide,
        max(xs) + 0.06 * wide,
        min(ys) - 0.08 * tall,
        max(ys) + 0.08 * tall,
        height=300,
        width=HALF,
        left=62.0,
    )
    points = []
    for dot in sorted(dots, key=lambda d: d.chosen):
        x, y = frame.x(dot.x), frame.y(dot.y)
        if dot.chosen:
            shape = f"M{x:.1f} {y - 10:.1f}l10 10l-10 10l-10-10z"
            points.append(el("path", d=shape, class_="f2 chosen", data_tip=dot.tip))
        else:
            points.append(el("circle", cx=x, cy=y, r=6, class_="f1 dot", data_tip=dot.tip))
    return el("div", svg(frame, title, axes(frame, xlabel, ylabel), points), class_="plot")


def steps(
    title: str,
    edges: Sequence[float],
    series: Sequence[tuple[str, Sequence[float]]],
    marks: Sequence[tuple[float, str]],
    xlabel: str,
    ylabel: str,
) -> Html:
    """Return histograms as outlines; `marks` are (value, tooltip) of small strokes on the axis."""
    high = max((v for _, values in series for v in values), default=1.0) or 1.0
    frame = Frame(edges[0], edges[-1], 0.0, high * 1.06, height=270)
    drawn = []
    for class_, values in series:
        points = [(edges[0], 0.0)]
        for i, v in enumerate(values):
            points += [(edges[i], v), (edges[i + 1], v)]
        points.append((edges[-1], 0.0))
        line = path([(frame.x(x), frame.y(y)) for x, y in points])
        drawn.append(el("path", d=line, class_=f"outline {class_}"))
    base = frame.height - frame.bottom
    for x, tip in marks:
        at = min(max(frame.x(x), frame.left), frame.width - frame.right)
        drawn.append(el("line", x1=at, x2=at, y1=base - 14, y2=base, class_="mark", data_tip=tip))
    return el("div", svg(frame, title, axes(frame, xlabel, ylabel), drawn), class_="plot")
