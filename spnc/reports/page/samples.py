"""Rows drawn from the model, beside the real rows that are most like them."""

from __future__ import annotations

from spnc.reports.facts.gather import Facts
from spnc.reports.facts.samples import Samples
from spnc.reports.page.html import Html, el, joined, label, number
from spnc.reports.page.matrix import picture, strips
from spnc.reports.page.parts import Section, subheading, table
from spnc.reports.page.summary import words

WIDE = 24  # columns that a table has room for


def section(facts: Facts) -> Section | None:
    """Pictures, a table, or strips, by what the columns are."""
    samples = facts.samples
    if samples is None:
        return None
    columns = facts.run.model.columns
    if facts.shape is not None:
        body = _pictures(facts, samples)
    elif len(columns) <= WIDE:
        body = _table(facts, samples)
    else:
        states = [c.states for c in columns]
        heads = ("Drawn from the model", "The most similar training row of each")
        titles = (
            f"{len(samples.values)} drawn rows of {len(columns):,} columns",
            "the training rows that are most like them, in the same order",
        )
        pair = [
            el("div", subheading(head), el("div", strips(v, states, title), class_="plot"))
            for head, title, v in zip(heads, titles, (samples.values, samples.nearest), strict=True)
        ]
        body = joined(
            el("div", pair, class_="pair"),
            el(
                "p",
                "A line is a row, from left to right a cell for each column: paper for state 0, "
                "ink for the highest.",
                class_="note",
            ),
        )
    note = None
    if samples.missing:
        note = (
            "Rows lack cells: such a cell counts as the share of training rows that differ in it, "
            "and only a row with all its cells can be equal to a drawn one."
        )
    return Section("samples", "What it imagines", _finding(samples), body, note)


def _finding(samples: Samples) -> str:
    count = len(samples.values)
    own = float(samples.distances.mean())
    copies = samples.copies
    said = (
        f"{count} rows drawn from the model differ from the nearest training row in "
        f"{number(own, 1)} cells on average"
    )
    if samples.real is not None and len(samples.real_distances):
        real = float(samples.real_distances.mean())
        said += f"; {words(samples.real)} rows do in {number(real, 1)}"
    equal = f"{copies or 'none'} of the drawn rows {'is' if copies < 2 else 'are'}"
    return f"{said}, and {equal} equal to a training row."


def _pictures(facts: Facts, samples: Samples) -> Html:
    assert facts.shape is not None
    states = max(c.states for c in facts.run.model.columns)
    entries = []
    for i, (row, near) in enumerate(zip(samples.values, samples.nearest, strict=True), 1):
        value = number(float(samples.log_likelihoods[i - 1]), 1)
        apart = _apart(samples, i)
        drawn = picture(row, facts.shape, states, f"drawn row {i}, log-likelihood {value}")
        real = picture(
            near, facts.shape, states, f"the nearest training row, {apart} pixels different"
        )
        entries.append(el("li", drawn, real, el("span", f"{apart} differ")))
    note = "Left what the model drew, right the training row that is most like it."
    return joined(el("ul", entries, class_="gallery twins"), el("p", note, class_="note"))


def _apart(samples: Samples, i: int) -> str:
    """In how many cells the i-th drawn row differs: about so many where cells are missing."""
    return number(float(samples.distances[i - 1]), 1 if samples.missing else 0)


def _table(facts: Facts, samples: Samples) -> Html:
    columns = facts.run.model.columns
    rows = [
        (
            str(i),
            number(float(samples.log_likelihoods[i - 1])),
            _apart(samples, i),
            *(str(int(v)) for v in row),
        )
        for i, row in enumerate(samples.values, 1)
    ]
    head = ["drawn row", "log-likelihood", "cells off", *(label(c.name) for c in columns)]
    caption = "Rows drawn from the model; in how many cells the most similar training row differs"
    return table(head, rows, caption=caption, sortable=True)
