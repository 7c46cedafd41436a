"""Learning curves: log-likelihood of training and validation rows by iteration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from spnc.common.wording import clipped
from spnc.reports.plots.style import COLOURS, GREY, house_style, image, number
from spnc.runs.history import History

EARLY = 0.1  # share of a curve, at its start, that may lie below the visible range
TRAIN: dict[str, Any] = {"lw": 1.4, "ls": (0, (4, 2))}
VALID: dict[str, Any] = {"lw": 1.8, "ls": "-"}
KEPT: dict[str, Any] = {"marker": "o", "ms": 7, "mec": "white", "mew": 1.2, "ls": ""}


def picture(histories: Sequence[History], suffix: str) -> bytes:
    """Return the content of a picture file with all curves, the kept iterations marked."""
    with house_style():
        return image(draw(histories), suffix)


def draw(histories: Sequence[History]) -> Figure:
    """Return the figure."""
    figure = Figure(figsize=(7.6 if len(histories) == 1 else 9.6, 4.6), layout="constrained")
    axes = figure.subplots()
    for history, colour in zip(histories, _colours(len(histories)), strict=True):
        _draw_curve(axes, history, colour)
    low, high = limits(histories)
    axes.set_ylim(low, high)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y")
    axes.xaxis.set_major_locator(MaxNLocator(10, integer=True, steps=[1, 2, 5, 10]))
    axes.margins(x=0.02)
    one = histories[0].name if len(histories) == 1 else None
    axes.set_title(f"Learning curve: {one}" if one else "Learning curves", loc="left")
    axes.set_ylabel("average log-likelihood, nats")
    below = [note for note in (_below(h, low) for h in histories) if note]
    note = below[0] if one and below else "first iterations far below are cut off"
    axes.set_xlabel(f"iteration\n{note}" if below else "iteration")
    _add_legend(figure, axes, histories)
    return figure


def limits(histories: Sequence[History]) -> tuple[float, float]:
    """Return the lowest and highest log-likelihood to show.

    The first iterations are often so low that the others would look like one flat line. The first
    tenth of every curve may be cut off if that makes the rest at least twice as tall.
    """
    late = [v for h in histories for v in _finite(h, math.ceil(EARLY * (len(h.train) - 1)))]
    every = [v for h in histories for v in _finite(h, 0)]
    if not every:
        return -1.0, 0.0
    low, high = min(late or every), max(every)
    if high - min(every) < 2.0 * (high - low):  # cutting off gains little
        low = min(every)
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room


def _finite(history: History, begin: int) -> list[float]:
    values = (*history.train[begin:], *history.valid[begin:])
    return [value for value in values if math.isfinite(value)]


def _draw_curve(axes: Axes, history: History, colour: str) -> None:
    axes.plot(history.iterations, history.train, color=colour, **TRAIN)
    if history.valid:
        axes.plot(history.iterations, history.valid, color=colour, **VALID)
    if history.kept is not None:
        curve = history.valid or history.train
        at = (history.iterations[history.kept], curve[history.kept])
        axes.plot(*at, color=colour, zorder=3, **KEPT)


def _colours(count: int) -> list[str]:
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    shades = mpl.colormaps["viridis"]
    return [mpl.colors.to_hex(shades(i / (count - 1) * 0.85)) for i in range(count)]


def described(history: History) -> str:
    """Return the result of a curve in a line or two: `kept: iteration 41, valid −54.9003`."""
    kept, name = history.kept, "valid" if history.valid else "train"
    curve = history.valid or history.train
    doing = "" if history.finished else f"\nnot finished, at iteration {history.iterations[-1]}"
    if kept is None:
        return f"{name} {number(curve[-1], '.4f')}{doing}"
    word = "kept" if history.finished else "best so far"
    value = number(curve[kept], ".4f")
    return f"{word}: iteration {history.iterations[kept]}, {name} {value}{doing}"


def _below(history: History, low: float) -> str | None:
    """Return which iterations are below the visible range, in words; None if none are."""
    curves = [c for c in (history.train, history.valid) if c]
    cut = [i for i, values in enumerate(zip(*curves, strict=True)) if max(values) < low]
    if not cut:
        return None
    first, last = history.iterations[cut[0]], history.iterations[cut[-1]]
    which = f"iteration {first} is" if first == last else f"iterations {first} to {last} are"
    start = number(min(curve[cut[0]] for curve in curves), ".2f")
    return f"{which} below the picture, from {start} on"


def _add_legend(figure: Figure, axes: Axes, histories: Sequence[History]) -> None:
    several = len(histories) > 1
    colours = _colours(len(histories))
    plain = GREY if several else colours[0]
    entries = [(Line2D([], [], color=plain, **TRAIN), "train")]
    if any(h.valid for h in histories):
        entries.append((Line2D([], [], color=plain, **VALID), "valid"))
    if any(h.kept is not None for h in histories):
        word = "kept" if several else described(histories[0])
        entries.append((Line2D([], [], color=plain, **KEPT), word))
    if several:
        for history, colour in zip(histories, colours, strict=True):
            text = f"{clipped(history.name, 40)}\n{described(history)}"
            entries.append((Line2D([], [], color=colour, lw=4), text))
    handles, labels = zip(*entries, strict=True)
    if several:
        figure.legend(handles, labels, loc="outside right upper", labelspacing=0.7)
    else:
        axes.legend(handles, labels, loc="best")
