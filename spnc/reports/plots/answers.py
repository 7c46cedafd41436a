"""Pictures of answers: densities as curves, probabilities and values of groups as bars."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from spnc.common.wording import clipped
from spnc.data.cells import cell_text, heading, number_text
from spnc.questions.answers import Answer
from spnc.questions.curve import Curve
from spnc.questions.group_table import GroupTable
from spnc.reports.plots.style import COLOURS, GREY, house_style, image

_NAME, _TITLE = 24, 90  # terminal columns of a label and of a title
_TICKS = 6
_MOST_BARS = 60  # with a label each


def can_be_drawn(answer: Answer) -> bool:
    """Whether there is a picture of an answer."""
    return answer.curve is not None or answer.table is not None


def picture(answer: Answer, suffix: str) -> bytes:
    """Return the content of a picture file of an answer that can be drawn."""
    with house_style():
        return image(draw(answer), suffix)


def draw(answer: Answer) -> Figure:
    """Return the figure."""
    figure = Figure(figsize=(7.6, 4.4), layout="constrained")
    axes = figure.subplots()
    if answer.curve is not None and answer.curve.is_density:
        _draw_curves(axes, answer.curve)
    elif answer.curve is not None:
        _draw_bars(axes, answer.curve)
    elif answer.table is not None:
        _draw_table(axes, answer.table)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y")
    axes.set_title(clipped(answer.question, _TITLE))
    return figure


def _draw_curves(axes: Axes, curve: Curve) -> None:
    for i, name in enumerate(curve.groups):
        colour = COLOURS[i % len(COLOURS)]
        label = clipped(name, _NAME) if name else None
        axes.plot(curve.values, curve.densities[i], color=colour, lw=1.8, label=label)
        if len(curve.groups) == 1:
            axes.fill_between(curve.values, curve.densities[i], color=colour, alpha=0.15)
    if curve.column.kind == "date":
        ticks = np.linspace(curve.values[0], curve.values[-1], _TICKS)
        axes.set_xticks(ticks, [number_text(curve.column, float(v)) for v in ticks])
    axes.set_xlabel(heading(curve.column))
    axes.set_ylabel(f"density per {curve.unit}" if curve.unit else "density")
    axes.set_ylim(bottom=0.0)
    if curve.groups != ("",):
        axes.legend()


def _draw_bars(axes: Axes, curve: Curve) -> None:
    groups = len(curve.groups)
    wide = 0.8 / groups
    places = np.arange(len(curve.values), dtype=np.float64)
    for i, name in enumerate(curve.groups):
        at = places + (i - (groups - 1) / 2) * wide
        colour = COLOURS[i % len(COLOURS)]
        label = clipped(name, _NAME) if name else None
        axes.bar(at, np.nan_to_num(curve.densities[i]), wide, color=colour, label=label)
    _name_bars(axes, [cell_text(curve.column, v) for v in curve.values.tolist()])
    axes.set_xlabel(heading(curve.column))
    axes.set_ylabel("probability")
    if curve.groups != ("",):
        axes.legend()


def _draw_table(axes: Axes, found: GroupTable) -> None:
    places = np.arange(len(found), dtype=np.float64)
    if found.column is not None and found.column.kind == "date":  # no date is zero
        axes.plot(places, found.values, "o", color=COLOURS[0])
        ticks = axes.get_yticks()
        axes.set_yticks(ticks, [number_text(found.column, float(v)) for v in ticks])
    else:
        axes.bar(places, np.nan_to_num(found.values), 0.8, color=COLOURS[0])
        axes.axhline(0.0, color=GREY, lw=0.8)
    _, rows = found.texts()
    _name_bars(axes, [", ".join(row[: len(found.by)]) for row in rows])
    axes.set_xlabel(", ".join(map(heading, found.by)))
    unit = f" ({found.unit})" if found.unit else ""
    axes.set_ylabel(f"{found.value_name}{unit}")


def _name_bars(axes: Axes, names: list[str]) -> None:
    step = max(1, -(-len(names) // _MOST_BARS))
    places = range(0, len(names), step)
    turned = sum(map(len, names[::step])) > 60
    shown = [clipped(names[i], _NAME) for i in places]
    axes.set_xticks(list(places), shown, rotation=90 if turned else 0)
