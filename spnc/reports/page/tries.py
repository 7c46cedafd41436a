"""The tries of a search: a table, and charts of score against time and size."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from spnc.reports.facts.gather import Facts
from spnc.reports.page.charts import Dot, scatter
from spnc.reports.page.html import Html, brief, clipped, el, joined, label, number
from spnc.reports.page.parts import Section, TableCell, cut_to, figure, table
from spnc.runs.metrics import TryMetrics
from spnc.spec.search_section import value_text
from spnc.spec.space import short_names

MOST = 1000  # tries in the table


def section(facts: Facts) -> Section | None:
    """Return all tries, the chosen one marked; None if there was no search."""
    search = facts.run.metrics.search
    if search is None or not search.tries:
        return None
    tries = search.tries
    names = list(tries[0].values)
    short = short_names(dict.fromkeys(names))
    ordered = sorted(tries, key=_rank, reverse=True)[:MOST]
    impossible = any(t.valid_impossible for t in tries)
    rows = [
        [
            TableCell(str(t.number), t.number),
            *(TableCell(label(_said(v), 40), _sort(v)) for v in t.values.values()),
            _number(t.valid, 4),
            *([TableCell(f"{t.valid_impossible:,}", t.valid_impossible)] if impossible else []),
            _number(t.train, 4),
            TableCell(f"{t.edges:,}", t.edges),
            TableCell(str(t.iterations), t.iterations),
            TableCell(brief(t.seconds), t.seconds),
        ]
        for t in ordered
    ]
    rows_lost = ["impossible valid rows"] if impossible else []
    head = [
        "try",
        *map(label, short),
        "valid",
        *rows_lost,
        "train",
        "edges",
        "iterations",
        "seconds",
    ]
    marked = [i for i, t in enumerate(ordered) if t.chosen]
    caption = "Tries, best on validation rows first; the chosen one is marked"
    if impossible:
        caption += ". Tries with fewer impossible validation rows rank higher"
    body = [table(head, rows, caption=caption, sortable=True, marked=marked)]
    if len(tries) > 1:
        pictures = [
            _picture(tries, short, "seconds", "seconds"),
            _picture(tries, short, "edges", "edges"),
        ]
        body.insert(0, el("div", pictures, class_="pair"))
    note = cut_to(f"the {MOST:,} best", MOST, len(tries), "tries")
    return Section("tries", "Tries", _finding(tries, short), joined(body), note)


def _finding(tries: Sequence[TryMetrics], short: list[str]) -> str:
    chosen = next((t for t in tries if t.chosen), tries[0])
    what = _choices(chosen, short)
    if len(tries) == 1:
        return f"The only try was chosen ({what})."
    said = f"Try {chosen.number} of {len(tries):,} was chosen ({what})"
    rivals = [t for t in tries if t is not chosen]
    alike = [t.valid for t in rivals if t.valid_impossible <= chosen.valid_impossible]
    others = [valid for valid in alike if valid is not None]
    if others and chosen.valid is not None and chosen.valid >= max(others):
        ahead = number(chosen.valid - max(others), 4)
        tied = float(ahead.replace(",", "")) == 0.0
        lead = "as good as the next" if tied else f"{ahead} nats ahead of the next"
        said += f"; it is {lead} on validation rows"
        if len(alike) < len(rivals):
            said += " among tries with no more impossible rows"
    elif not alike:
        said += "; the others have more impossible validation rows"
    return said + "."


def _picture(tries: Sequence[TryMetrics], short: list[str], key: str, label: str) -> Html:
    dots = [
        Dot(
            float(getattr(t, key)),
            float(t.valid),
            f"try {t.number}: valid {number(t.valid, 4)}, {getattr(t, key):,} {label}; "
            + _choices(t, short),
            bool(t.chosen),
        )
        for t in tries
        if t.valid is not None
    ]
    if not dots:
        return el("p", "No try gave any validation row a positive probability.")
    title = f"Validation log-likelihood against {label} of {len(dots)} tries; numbers in the table."
    return figure(
        scatter(title, dots, label, "validation log-likelihood"),
        f"Validation log-likelihood against {label}; the diamond is the chosen try.",
    )


def _choices(one: TryMetrics, short: list[str]) -> str:
    """Return the choices of a try in one line."""
    values = zip(short, one.values.values(), strict=True)
    return ", ".join(f"{name} = {clipped(_said(v), 40)}" for name, v in values)


def _said(value: Any) -> str:
    """Return a chosen value as people write it."""
    return json.dumps(value) if isinstance(value, dict | list) else value_text(value)


def _number(value: float | None, digits: int) -> TableCell:
    return TableCell(number(value, digits), -1e9 if value is None else value)


def _rank(one: TryMetrics) -> tuple[float, float]:
    """Rank tries as the search does: fewer impossible rows first, then the average."""
    valid = one.valid
    return -one.valid_impossible, -math.inf if valid is None else valid


def _sort(value: Any) -> float | str:
    return value if isinstance(value, int | float) else str(value)
