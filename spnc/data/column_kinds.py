"""From raw tables to columns: infer the kind of each column, and check that all values fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spnc.data.columns import Column
from spnc.data.file_report import FileReport
from spnc.data.raw_table import RawTable
from spnc.diagnostics import Sink, Span, counted, listed

MAX_STATE = 255
_NAMED = 100  # columns named in a warning; more would fill the screen
_SAME = "the columns must be the same, in the same order"


def typed_columns(
    tables: Mapping[str, RawTable], sink: Sink, columns: Sequence[Column] | None = None
) -> tuple[Column, ...] | None:
    """Return the columns of the tables; None if a problem was reported, here or while reading.

    Without `columns`, the kinds are inferred from all tables together: binary if every value is
    0 or 1, otherwise categorical. With `columns`, those of a model, the tables must match them.
    """
    agree = _same_as_first(tables, sink) if columns is None else _same_as(columns, tables, sink)
    fit = True
    for table in tables.values():
        known = columns if columns is not None and len(columns) == table.width else None
        fit = _values_fit(table, known, sink) and fit
    if not (agree and fit and all(table.sound for table in tables.values())):
        return None
    return tuple(columns) if columns is not None else _inferred(tables)


def _inferred(tables: Mapping[str, RawTable]) -> tuple[Column, ...]:
    """Return binary or categorical columns, as the values of all tables together require."""
    names = next((t.names for t in tables.values() if t.names), None)
    if names is None:
        names = next(iter(tables.values())).column_names
    # fmax ignores NaN; a column without any value counts as binary.
    largest = np.fmax.reduce([np.fmax.reduce(t.values, axis=0) for t in tables.values()], axis=0)
    largest = np.where(np.isnan(largest), 1, largest).astype(np.int64)
    return tuple(
        Column(name) if top <= 1 else Column(name, "categorical", int(top) + 1)
        for name, top in zip(names, largest, strict=True)
    )


def _same_as_first(tables: Mapping[str, RawTable], sink: Sink) -> bool:
    """Whether all splits have the columns of the first; report each split that has not."""
    (first, base), *others = tables.items()
    named, names = first, base.names
    agree = True
    for split, table in others:
        notes = _difference(table, base.width, names, f"the {named} split")
        if notes:
            agree = False
            message = f"the {split} split does not have the columns of the {named} split"
            sink.error("E307", message, notes=notes, help=_SAME, where=table.file)
        elif names is None and table.names is not None:
            named, names = split, table.names
    return agree


def _same_as(columns: Sequence[Column], tables: Mapping[str, RawTable], sink: Sink) -> bool:
    """Whether all tables have the columns of a model; report each table that has not."""
    names = tuple(c.name for c in columns)
    agree = True
    for table in tables.values():
        notes = _difference(table, len(columns), names, "the model")
        if notes:
            agree = False
            message = "the data does not have the columns of the model"
            sink.error("E307", message, notes=notes, help=_SAME, where=table.file)
    return agree


def _difference(
    table: RawTable, width: int, names: tuple[str, ...] | None, whose: str
) -> list[str]:
    """Return how the table's columns differ from the expected ones; an empty list if they agree."""
    notes = []
    if table.width != width:
        notes.append(f"{counted(table.width, 'column')} here, {width:,} in {whose}")
    if table.names is None or names is None or table.names == names:
        return notes
    absent = [f"`{n}`" for n in names if n not in set(table.names)]
    extra = [f"`{n}`" for n in table.names if n not in set(names)]
    if absent:
        notes.append(f"only in {whose}: {listed(absent)}")
    if extra:
        notes.append(f"only here: {listed(extra)}")
    if not notes:
        at = next(
            i for i, pair in enumerate(zip(table.names, names, strict=True)) if len({*pair}) > 1
        )
        notes.append(
            f"the same names in another order: column {at + 1} is `{table.names[at]}` here, "
            f"`{names[at]}` in {whose}"
        )
    return notes


def _values_fit(table: RawTable, known: Sequence[Column] | None, sink: Sink) -> bool:
    """Whether all values are states; report infinite and other unfit values column by column."""
    values = table.values
    top = (
        np.full(table.width, MAX_STATE)
        if known is None
        else np.array([c.states for c in known]) - 1
    )
    with np.errstate(invalid="ignore"):
        fits = ((values >= 0) & (values <= top) & (values == np.floor(values))) | np.isnan(values)
    if fits.all():
        return True
    names = tuple(c.name for c in known) if known is not None else table.column_names
    with FileReport(sink, table.file) as report:
        for column in np.flatnonzero(~fits.all(axis=0)).tolist():
            cells = values[:, column]
            infinite = np.isinf(cells)
            if infinite.any():
                _report_infinite(table, names[column], np.flatnonzero(infinite), report)
            bad = np.flatnonzero(~fits[:, column] & ~infinite)
            if len(bad):
                states = None if known is None else known[column].states
                _report_misfit(table, names[column], bad, cells, states, report)
    return False


def _report_infinite(
    table: RawTable, name: str, rows: NDArray[np.intp], report: FileReport
) -> None:
    first = int(rows[0])
    message = f"column `{name}` holds an infinite value{table.row_text(first)}"
    hint = "leave the cell empty if the value is unknown"
    report.error("E316", message, line=table.line_of(first), notes=_others(rows), help=hint)


def _report_misfit(
    table: RawTable,
    name: str,
    rows: NDArray[np.intp],
    cells: NDArray[np.float64],
    states: int | None,
    report: FileReport,
) -> None:
    first = int(rows[0])
    value = float(cells[first])
    if states is not None:
        reason = f"outside the model's states 0 to {states - 1}"
        hint = "correct the value, or leave the cell empty if it is unknown"
    elif value < 0:
        reason = "a negative number, which no leaf distribution covers"
        hint = "number the states of a column from 0"
    elif value != np.floor(value):
        reason = "a fractional number, which no leaf distribution covers"
        hint = "divide the column into ranges, numbered from 0"
    else:
        reason = f"above {MAX_STATE}, the largest state that a leaf distribution covers"
        hint = "group the values of the column into fewer states, numbered from 0"
    message = f"column `{name}` holds {value:.12g}, {reason}{table.row_text(first)}"
    report.error("E308", message, line=table.line_of(first), notes=_others(rows), help=hint)


def _others(rows: NDArray[np.intp]) -> tuple[str, ...]:
    more = len(rows) - 1
    return (f"and {counted(more, 'more such cell')} in this column",) if more else ()


def warn_of_uninformative_columns(
    values: NDArray[np.float64],
    columns: Sequence[Column],
    sink: Sink,
    *,
    span: Span | None = None,
    where: str | None = None,
) -> None:
    """Warn of columns that have the same value in every row (W301) or no value at all (W302)."""
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    empty = np.flatnonzero(np.isnan(low)).tolist()
    if empty:
        names = listed([f"`{columns[i].name}`" for i in empty], _NAMED)
        message = f"{counted(len(empty), 'column')} without any value: {names}"
        hint = "nothing can be learned about such a column; consider leaving it out"
        sink.warning("W302", message, span, help=hint, where=where)
    constant = np.flatnonzero(low == high).tolist()
    if len(values) > 1 and constant:
        names = listed([f"`{columns[i].name}` (always {low[i]:g})" for i in constant], _NAMED)
        message = f"{counted(len(constant), 'column')} with one value only: {names}"
        hint = "a constant column says nothing about the others; consider leaving it out"
        sink.warning("W301", message, span, help=hint, where=where)
