"""Rows drawn from the model, beside the most similar training rows."""

from __future__ import annotations

from spnc.data.cells import cell_texts, heading
from spnc.queries.discretise import BINS
from spnc.reports.facts.gather import Facts
from spnc.reports.facts.samples import Samples
from spnc.reports.page.html import Html, clipped, el, joined, label, number
from spnc.reports.page.matrix import levels, picture, strips
from spnc.reports.page.parts import Section, subheading, table
from spnc.reports.page.summary import words

WIDE = 24  # columns; with more, rows are shown as strips instead of a table


def section(facts: Facts) -> Section | None:
    """Return pictures if the columns are pixels, else a table, or strips of many columns."""
    samples = facts.samples
    if samples is None:
        return None
    columns = facts.run.model.columns
    if facts.shape is not None:
        body = _pictures(facts, samples)
    elif len(columns) <= WIDE:
        body = _table(facts, samples)
    else:
        heads = ("Drawn from the model", "The most similar training rows")
        titles = (
            f"{len(samples.values)} drawn rows of {len(columns):,} columns",
            "the most similar training row of each, in the same order",
        )
        pair = [
            el("div", subheading(head), el("div", strips(levels(v, columns), title), class_="plot"))
            for head, title, v in zip(heads, titles, (samples.values, samples.nearest), strict=True)
        ]
        body = joined(
            el("div", pair, class_="pair"),
            el(
                "p",
                "Each line is a row, with one cell per column: blank for state 0 or the lowest "
                "number, solid for the highest.",
                class_="note",
            ),
        )
    note = None
    if not all(c.is_finite for c in columns):
        note = (
            f"Numbers count as different if they lie in different parts of {BINS} that hold "
            "equally many training rows."
        )
    if samples.missing:
        note = (f"{note} " if note else "") + (
            "Some training rows have missing cells. A missing cell counts as the share of training "
            "rows that differ in it; only a complete row can be equal to a drawn one."
        )
    return Section("samples", "Samples", _finding(samples), body, note)


def _finding(samples: Samples) -> str:
    count = len(samples.values)
    own = float(samples.distances.mean())
    copies = samples.copies
    said = (
        f"{count} rows drawn from the model differ from their nearest training rows in "
        f"{number(own, 1)} cells on average"
    )
    if samples.real is not None and len(samples.real_distances):
        real = float(samples.real_distances.mean())
        said += f", {words(samples.real)} rows in {number(real, 1)}"
    equal = f"{copies or 'none'} of the drawn rows {'is' if copies < 2 else 'are'}"
    return f"{said}; {equal} equal to a training row."


def _pictures(facts: Facts, samples: Samples) -> Html:
    assert facts.shape is not None
    columns = facts.run.model.columns
    entries = []
    for i, (row, near) in enumerate(zip(samples.values, samples.nearest, strict=True), 1):
        value = number(float(samples.log_likelihoods[i - 1]), 1)
        apart = _apart(samples, i)
        title = f"drawn row {i}, log-likelihood {value}"
        drawn = picture(levels(row, columns), facts.shape, title)
        title = f"the nearest training row, {apart} pixels different"
        real = picture(levels(near, columns), facts.shape, title)
        entries.append(el("li", drawn, real, el("span", f"{apart} differ")))
    note = "Left: a row drawn from the model. Right: the most similar training row."
    return joined(el("ul", entries, class_="gallery twins"), el("p", note, class_="note"))


def _apart(samples: Samples, i: int) -> str:
    """Return the number of cells in which the i-th drawn row differs; an estimate if some miss."""
    return number(float(samples.distances[i - 1]), 1 if samples.missing else 0)


def _table(facts: Facts, samples: Samples) -> Html:
    columns = facts.run.model.columns
    rows = [
        (
            str(i),
            number(float(samples.log_likelihoods[i - 1])),
            _apart(samples, i),
            *(clipped(text, 40) for text in cell_texts(columns, row)),
        )
        for i, row in enumerate(samples.values, 1)
    ]
    head = [
        "drawn row",
        "log-likelihood",
        "cells that differ",
        *(label(heading(c)) for c in columns),
    ]
    caption = "Rows drawn from the model, and how many cells differ in the nearest training row"
    return table(head, rows, caption=caption, sortable=True)
