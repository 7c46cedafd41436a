"""The rows that the model explains worst, and which of their cells it did not expect."""

from __future__ import annotations

import math

from spnc.data.dataset import Column
from spnc.diagnostics import counted
from spnc.reports.facts.gather import Facts
from spnc.reports.facts.rows import BadRow, RowsFit, UnexpectedCell
from spnc.reports.page.charts import steps
from spnc.reports.page.html import (
    Html,
    chance,
    el,
    joined,
    label,
    number,
    percent,
    shortened,
)
from spnc.reports.page.matrix import picture
from spnc.reports.page.parts import Section, figure, legend, subheading, table
from spnc.reports.page.summary import words

LIKELY = math.log(0.5)  # cells that were rather expected are not worth a word


def section(facts: Facts) -> Section | None:
    """A histogram of all rows, then the worst ones."""
    fit = facts.rows
    if fit is None:
        return None
    body = [_histogram(fit), subheading("The worst explained rows"), _worst(facts, fit)]
    return Section("rows", "Where it is bad", _finding(facts, fit), joined(body))


def _finding(facts: Facts, fit: RowsFit) -> str:
    columns = facts.run.model.columns
    worst = fit.worst[0]
    where = f"row {worst.number:,} of {fit.numbered_in}"
    if fit.impossible:
        said = (
            f"{fit.impossible:,} of {counted(fit.looked_at, f'{words(fit.split)} row')} "
            f"{'is' if fit.impossible == 1 else 'are'} impossible for the model"
        )
        said += f": {where}" if fit.impossible == 1 else f", the first of them {where}"
    else:
        said = (
            f"Half of the {words(fit.split)} rows lie above {number(fit.median)} nats; "
            f"the worst explained is {where}, with {number(worst.log_likelihood)}"
        )
    if worst.cells:
        cell = worst.cells[0]
        p = chance(cell.log_probability)
        name = shortened(columns[cell.column].name, 40)
        said += f", where {name} = {cell.state} was least expected ({p})"
    if fit.impossible and math.isfinite(fit.median):
        said += f"; half of all {words(fit.split)} rows lie above {number(fit.median)} nats"
    return said + "."


def _histogram(fit: RowsFit) -> Html:
    names = [name for name in ("train", fit.split) if name in fit.densities]
    names = list(dict.fromkeys(names))
    classes = {"train": "train", "valid": "valid", "test": "test"}
    series = [(classes[name], fit.densities[name].tolist()) for name in names]
    marks = [
        (row.log_likelihood, f"row {row.number:,}: {number(row.log_likelihood)} nats")
        for row in fit.worst
        if math.isfinite(row.log_likelihood)
    ]
    title = (
        f"Histogram of log-likelihoods of {' and '.join(words(n) for n in names)} rows; "
        f"the median {words(fit.split)} row has {number(fit.median)} nats."
    )
    caption = (
        "Rows by log-likelihood; strokes on the axis are the worst explained rows below. The "
        "lowest and the highest thousandth may lie outside."
    )
    if fit.looked_at < fit.all_rows:
        caption += f" {fit.looked_at:,} of {fit.all_rows:,} rows were looked at, drawn at random."
    edges = fit.edges.tolist()
    wide = edges[1] - edges[0]
    rows = [
        (number(edges[i]), number(edges[i + 1]), *(percent(v[i] * wide) for _, v in series))
        for i in range(len(edges) - 1)
    ]
    head = ["from", "to", *(words(n) for n in names)]
    marked = [(f"line {classes[n]}", f"{words(n)} rows") for n in names]
    return joined(
        legend([*marked, ("stroke", "the worst")]),
        figure(
            steps(title, edges, series, marks, "log-likelihood, nats", "share of rows per nat"),
            caption,
            table(head, rows, caption="Share of rows by log-likelihood", left=0),
        ),
    )


def _worst(facts: Facts, fit: RowsFit) -> Html:
    columns = facts.run.model.columns
    if facts.shape is not None:
        pictures = [_pictured(facts, fit, row) for row in fit.worst]
        return joined(
            el("ul", pictures, class_="gallery large"),
            el(
                "p",
                "Ringed are the pixels that the rest of the picture makes least likely. "
                f"Numbers count {_counted_in(fit)}.",
                class_="note",
            ),
        )
    rows = [
        (
            f"{row.number:,}" + (f" (and {row.times - 1:,} equal)" if row.times > 1 else ""),
            number(row.log_likelihood),
            _cells(row, columns),
        )
        for row in fit.worst
    ]
    head = ["row", "log-likelihood", "least expected, given the rest of the row"]
    caption = f"Worst explained {words(fit.split)} rows; numbers count {_counted_in(fit)}"
    return table(head, rows, caption=caption, left=3, scroll=False)


def _counted_in(fit: RowsFit) -> str:
    """What row numbers count: `the test rows`, or `the rows of rows.csv`."""
    own = fit.numbered_in.startswith("the ") and fit.numbered_in.endswith(" rows")
    return fit.numbered_in if own else f"the rows of {fit.numbered_in}"


def _cells(row: BadRow, columns: tuple[Column, ...]) -> Html:
    if not row.cells:
        return el("span", "without any one cell, the rest is still impossible", class_="note")
    return el(
        "ul",
        [
            el(
                "li",
                el("code", label(columns[c.column].name, 40), f" = {c.state}"),
                " ",
                el("span", chance(c.log_probability), class_="chance"),
            )
            for c in row.cells
            if c is row.cells[0] or (c.log_probability or 0.0) < LIKELY
        ],
        class_="chips",
    )


def _pictured(facts: Facts, fit: RowsFit, row: BadRow) -> Html:
    assert facts.shape is not None
    columns = facts.run.model.columns
    states = max(c.states for c in columns)
    value = number(row.log_likelihood)
    image = picture(
        row.values,
        facts.shape,
        states,
        f"row {row.number} of {fit.numbered_in}, log-likelihood {value}",
        row.surprise,
    )
    return el(
        "li",
        image,
        el("strong", f"row {row.number:,}"),
        el("span", f"{value} nats"),
        el("small", _said(row.cells[0], columns)) if row.cells else None,
    )


def _said(cell: UnexpectedCell, columns: tuple[Column, ...]) -> str:
    name = shortened(columns[cell.column].name, 20)
    return f"{name} = {cell.state}: {chance(cell.log_probability)}"
