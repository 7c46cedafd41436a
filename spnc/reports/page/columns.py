"""Shares of the states of each column, in the rows and in the model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from spnc.common.arrays import Floats
from spnc.diagnostics import counted
from spnc.reports.facts.columns import ColumnFit, ColumnsFit
from spnc.reports.facts.gather import Facts
from spnc.reports.page.densities import density_charts
from spnc.reports.page.html import Html, brief, el, joined, label, number, percent, shortened
from spnc.reports.page.matrix import shades
from spnc.reports.page.parts import Section, TableCell, cut_to, legend, subheading, table
from spnc.reports.page.summary import words

MOST = 2000  # columns in the table
BARS = 24  # states that a small picture has room for


def section(facts: Facts) -> Section | None:
    """Return a sortable table with a small chart per column."""
    fit = facts.columns
    if fit is None or facts.rows is None:
        return None
    judged = facts.rows.split
    others = [name for name in ("train",) if name != judged and name in fit.columns[0].observed]
    ordered = sorted(fit.columns, key=lambda c: -c.observed[judged].divergence)
    shown = ordered[:MOST]
    many = any(c.states > 2 or c.column.labels is not None for c in fit.columns)
    worded = any(c.column.labels is not None or not c.column.is_finite for c in fit.columns)
    cut = any(c.states > BARS and c.histogram is None for c in fit.columns)
    missing = any(c.observed[judged].missing for c in fit.columns)
    rows = [_row(column, judged, others, many, missing) for column in shown]
    head = [
        "column",
        _charted(fit, cut) if many else "share of state 1",
        *(["value" if worded else "state"] if many else []),
        "model",
        words(judged),
        "difference",
        *(words(name) for name in others),
        "KL divergence, nats",
        "beyond chance",
        *(["missing"] if missing else []),
    ]
    caption = f"Shares of states, largest divergence of {words(judged)} rows from the model first"
    note = cut_to(f"the {MOST:,} worst", MOST, len(ordered), "columns")
    rows_shown = f"{words(judged)} rows"
    body = el(
        "div",
        _as_pictures(facts, judged) if facts.shape is not None else None,
        _curves(ordered, judged),
        legend([("box f1", rows_shown), ("stroke", "model")]),
        table(head, rows, caption=caption, left=2, sortable=True),
        el(
            "p",
            "“Beyond chance” is the result of a likelihood-ratio test at a level of 5 % over all "
            "columns together, with rare states merged. The divergence is the Kullback–Leibler "
            "divergence of the shares in the rows from those in the model. "
            + (
                f"The {'value' if worded else 'state'} shown is the one that adds most to it; for "
                f"a binary column, {'the second' if worded else 'state 1'}. "
                if many
                else ""
            )
            + (
                "Numbers are counted in the bins of a histogram. "
                if any(c.histogram is not None for c in fit.columns)
                else ""
            )
            + (f"Charts show at most {BARS} states, the largest." if cut else ""),
            class_="note",
        ),
    )
    return Section("columns", "Columns", _finding(fit, judged), body, note)


def _finding(fit: ColumnsFit, judged: str) -> str:
    off = [c for c in fit.columns if c.observed[judged].beyond_chance]
    worst = max(fit.columns, key=lambda c: c.observed[judged].divergence)
    total = counted(len(fit.columns), "column")
    if len(fit.columns) == 1:
        how = "differ" if off else "do not differ"
        said = f"The {words(judged)} rows {how} from the model beyond chance"
    else:
        who = f"{len(off):,} of {total} {'differs' if len(off) == 1 else 'differ'}"
        who = who if off else f"None of {total} differs"
        said = f"{who} from the model beyond chance in the {words(judged)} rows"
    state = furthest(worst, judged)
    seen, own = worst.observed[judged].frequencies[state], float(worst.model[state])
    return (
        f"{said}; the largest divergence is that of {shortened(worst.column.name, 40)}, whose "
        f"{_named(worst, state)} has a share of {percent(float(seen))} in the rows and "
        f"{percent(own)} in the model."
    )


def _named(column: ColumnFit, state: int) -> str:
    """Return a state in a sentence: `state 1`, `value Gentoo` or `range 2700 to 2850 g`."""
    noun = "state" if column.column.labels is None else "value"
    noun = noun if column.histogram is None else "range"
    return f"{noun} {shortened(column.texts[state], 40)}"


def _charted(fit: ColumnsFit, cut: bool) -> str:
    """Return what the small charts show."""
    if any(c.histogram is not None for c in fit.columns):
        return "values"
    return "states" if cut else "all states"


def _curves(columns: Sequence[ColumnFit], judged: str) -> Html | None:
    """Return large charts of the numeric columns that differ most, with a legend."""
    charts = density_charts(columns, judged, f"{words(judged)} rows")
    if charts is None:
        return None
    numeric = sum(c.histogram is not None for c in columns)
    shown = sum(c.curve is not None for c in columns)
    which = cut_to(f"the {shown} that differ most", shown, numeric, "numeric columns")
    return joined(
        subheading("Numbers"),
        legend([("box f1", f"{words(judged)} rows"), ("line model", "density of the model")]),
        charts,
        el("p", which, class_="note") if which else None,
        subheading("All columns"),
    )


def furthest(column: ColumnFit, split: str) -> int:
    """Return the state that adds most to the divergence: an impossible one first; 1 if binary."""
    if column.states == 2:
        return 1
    seen = np.nan_to_num(column.observed[split].frequencies)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(seen > 0.0, seen * (np.log(seen) - np.log(column.model)), 0.0)
    if np.isposinf(terms).any():
        return int(np.argmax(np.where(np.isposinf(terms), seen, -1.0)))
    return int(np.argmax(terms))


def _as_pictures(facts: Facts, judged: str) -> Html:
    """Return the mean state of every pixel: in the rows, in the model, and their difference."""
    assert facts.columns is not None
    assert facts.shape is not None
    fits = facts.columns.columns

    def mean(shares: Sequence[Floats]) -> Floats:
        levels = [np.arange(len(s)) / max(1, len(s) - 1) for s in shares]
        return np.array([float(s @ v) for s, v in zip(shares, levels, strict=True)])

    seen = mean([np.nan_to_num(c.observed[judged].frequencies) for c in fits])
    model = mean([c.model for c in fits])
    apart = np.abs(seen - model)
    most = float(apart.max())
    shown = [
        (f"{words(judged)} rows", seen, 1.0),
        ("model", model, 1.0),
        (f"difference, at most {percent(most)}", apart, most),
    ]
    entries = [
        el("li", shades(v, facts.shape, top, f"the mean of every pixel: {name}"), el("span", name))
        for name, v, top in shown
    ]
    return el("ul", entries, class_="gallery three")


def _row(
    column: ColumnFit, judged: str, others: list[str], many: bool, missing: bool
) -> list[object]:
    state = furthest(column, judged)
    seen = column.observed[judged]
    own = float(column.model[state])
    here = float(seen.frequencies[state])
    apart = here - own

    def share(value: float) -> TableCell:
        return TableCell(number(100 * value, 1) + "\u202f%", _sort(value))

    divergence = seen.divergence
    return [
        TableCell(label(column.column.name), column.column.name),
        TableCell(_picture(column, judged), _sort(own)),
        *([TableCell(shortened(column.texts[state], 40), state)] if many else []),
        share(own),
        share(here),
        TableCell(("+" if apart > 0 else "") + number(100 * apart, 1), _sort(apart)),
        *(share(float(column.observed[name].frequencies[state])) for name in others),
        TableCell(brief(divergence) if divergence > 5e-7 else "0", _sort(divergence)),
        TableCell("yes" if seen.beyond_chance else "no", int(seen.beyond_chance)),
        *([TableCell(f"{seen.missing:,.0f}", seen.missing)] if missing else []),
    ]


def _picture(column: ColumnFit, split: str) -> Html:
    """Return a bar for each state and a stroke for the model; of a binary column, for state 1."""
    seen, model = column.observed[split].frequencies, column.model
    states = list(range(column.states)) if column.states > 2 else [1]
    which = ""
    if len(states) > BARS and column.histogram is None:
        larger = np.fmax(seen, model)
        states = sorted(np.argsort(-larger, kind="stable")[:BARS].tolist())
        which = f"the {BARS} largest of {column.states:,} states: "
    drawn = []
    if len(states) == 1:
        x, at = (100 * float(np.nan_to_num(v[1])) for v in (seen, model))
        drawn = [
            el("rect", x=0, y=2, width=100, height=10, class_="paper"),
            el("rect", x=0, y=2, width=x, height=10, class_="f1"),
            el("rect", x=min(98.0, max(0.0, at - 1)), y=0, width=2, height=14, class_="stroke"),
        ]
    else:
        wide = 100 / len(states)
        most = max(float(np.nan_to_num(v).max()) for v in (seen, model)) or 1.0
        for k, i in enumerate(states):
            tall, at = (13 * float(np.nan_to_num(v[i])) / most for v in (seen, model))
            left = k * wide + wide * 0.12
            drawn += [
                el("rect", x=left, y=14 - tall, width=wide * 0.76, height=tall, class_="f1"),
                el("rect", x=left, y=13.2 - at, width=wide * 0.76, height=1.6, class_="stroke"),
            ]
    plain = "state " if column.column.is_finite and column.column.labels is None else ""
    said = which + "; ".join(
        f"{plain}{shortened(column.texts[i], 30)}: {percent(float(seen[i]), 0)}, "
        f"model {percent(float(model[i]), 0)}"
        for i in states
    )
    return el(
        "svg",
        drawn,
        viewBox="0 0 100 14",
        role="img",
        class_="mini",
        aria_label=said,
        data_tip=f"{shortened(column.column.name, 60)}: {said}",
    )


def _sort(value: float) -> float:
    return round(value, 9) if math.isfinite(value) else 1e9
