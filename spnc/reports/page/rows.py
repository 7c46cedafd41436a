"""The least likely rows, and their least expected cells."""

from __future__ import annotations

import math

from spnc.data.cells import cell_text
from spnc.data.columns import Column
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
from spnc.reports.page.matrix import levels, picture
from spnc.reports.page.parts import Section, figure, legend, subheading, table
from spnc.reports.page.summary import words

LIKELY = math.log(0.5)  # cells that are more likely than this are not listed


def section(facts: Facts) -> Section | None:
    """Return a histogram of all rows, then the least likely ones."""
    fit = facts.rows
    if fit is None:
        return None
    body = [_histogram(fit), subheading("The least likely rows"), _worst(facts, fit)]
    return Section("rows", "Rows", _finding(facts, fit), joined(body))


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
            f"The median {words(fit.split)} row has a log-likelihood of {number(fit.median)} nats; "
            f"the least likely is {where} with {number(worst.log_likelihood)}"
        )
    if worst.cells:
        cell = worst.cells[0]
        p = chance(cell.log_probability)
        said += f", where {_valued(cell, columns, 40)} was least expected ({p})"
    if fit.impossible and math.isfinite(fit.median):
        said += f"; the median {words(fit.split)} row has {number(fit.median)} nats"
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
        "Distribution of the log-likelihoods of rows. The strokes on the axis are the least "
        "likely rows, listed below. Up to 0.1 % of the rows may lie outside at either end."
    )
    if fit.looked_at < fit.all_rows:
        caption += f" Computed from {fit.looked_at:,} of {fit.all_rows:,} rows, drawn at random."
    edges = fit.edges.tolist()
    wide = edges[1] - edges[0]
    rows = [
        (number(edges[i]), number(edges[i + 1]), *(percent(v[i] * wide) for _, v in series))
        for i in range(len(edges) - 1)
    ]
    head = ["from", "to", *(words(n) for n in names)]
    marked = [(f"line {classes[n]}", f"{words(n)} rows") for n in names]
    return joined(
        legend([*marked, ("stroke", "least likely rows")]),
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
                "Rings mark the pixels that are least likely given the rest of the picture. "
                f"Row numbers count {_counted_in(fit)}.",
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
    head = ["row", "log-likelihood", "least expected cells, given the rest of the row"]
    note = None
    if any(not column.is_finite for column in columns):
        note = el(
            "p",
            "The probability of a number is that of a range around it, as wide as a bin of the "
            "column's histogram above.",
            class_="note",
        )
    caption = f"Least likely {words(fit.split)} rows; row numbers count {_counted_in(fit)}"
    return joined(table(head, rows, caption=caption, left=3, scroll=False), note)


def _counted_in(fit: RowsFit) -> str:
    """Return what row numbers count: `the test rows`, or `the rows of rows.csv`."""
    own = fit.numbered_in.startswith("the ") and fit.numbered_in.endswith(" rows")
    return fit.numbered_in if own else f"the rows of {fit.numbered_in}"


def _cells(row: BadRow, columns: tuple[Column, ...]) -> Html:
    if not row.cells:
        return el("span", "impossible even without any single cell", class_="note")
    return el(
        "ul",
        [
            el(
                "li",
                el("code", label(columns[c.column].name, 40), f" = {_value(c, columns)}"),
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
    value = number(row.log_likelihood)
    image = picture(
        levels(row.values, columns),
        facts.shape,
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
    return f"{_valued(cell, columns, 20)}: {chance(cell.log_probability)}"


def _valued(cell: UnexpectedCell, columns: tuple[Column, ...], limit: int) -> str:
    """Return a cell with the name of its column: `mass = 4150 g`."""
    return f"{shortened(columns[cell.column].name, limit)} = {_value(cell, columns)}"


def _value(cell: UnexpectedCell, columns: tuple[Column, ...]) -> str:
    column = columns[cell.column]
    unit = f" {column.unit}" if column.unit and column.kind != "date" else ""
    return shortened(cell_text(column, cell.value) + unit, 40)
