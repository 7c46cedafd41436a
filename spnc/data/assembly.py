"""From raw tables to typed columns and stored tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.common.threads import in_threads
from spnc.data.column_kinds import Verdict
from spnc.data.column_warnings import warn_of_formats, warn_of_header, warn_of_left_out
from spnc.data.columns import Column
from spnc.data.declared import is_declared, rules_by_name
from spnc.data.encoding import Misfit, encoded
from spnc.data.file_report import FileReport
from spnc.data.matching import Matched, match_model, match_splits
from spnc.data.odd_cells import OddCells
from spnc.data.options import DataOptions
from spnc.data.raw_table import RawColumn, RawTable
from spnc.data.scales import scale_of
from spnc.data.table import PIECE_CELLS, Cells, Table
from spnc.data.table_rules import OTHER, TableRules, Unseen
from spnc.data.text_values import DATES, NUMBERS, Meaning, cleaned, converted
from spnc.data.typed_column import TypedColumn, typed_column
from spnc.diagnostics import Sink, counted, did_you_mean


@dataclass(frozen=True, eq=False)
class Assembled:
    """Columns with their cells by split; what was left out, with the reason; rules for later."""

    columns: tuple[Column, ...]
    cells: dict[str, list[Cells]]
    weights: dict[str, Floats]
    left_out: Mapping[str, str]
    rules: TableRules

    def tables(self) -> dict[str, Table]:
        """Return the tables, once: the memory of the cells is freed on the way."""
        return {
            split: Table.of_parts(cells, self.weights.get(split), [slice(None)])[0]
            for split, cells in self.cells.items()
        }

    def parts(self, split: str, rows: Sequence[NDArray[np.int64]]) -> list[Table]:
        """Return tables of some rows of a split each, once: see `tables`."""
        return Table.of_parts(self.cells[split], self.weights.get(split), rows)


def assembled(
    tables: Mapping[str, RawTable], options: DataOptions, sink: Sink, *, published: bool = False
) -> Assembled | None:
    """Return typed columns and tables as the options and the values say; None after errors.

    Raw columns are freed as they are converted. Scales are not known yet: see `with_scales`.
    """
    matched = match_splits(tables, sink)
    if matched is None:
        return None
    sound = all(table.sound for table in tables.values())
    reports = {split: FileReport(sink, table.file) for split, table in tables.items()}
    rules = rules_by_name(matched.names, options, sink)
    units = next(iter(tables.values())).units
    index = frozenset[str]().union(*(table.index for table in tables.values()))
    weights = _weights(matched, tables, options, reports, sink)
    columns: list[Column] = []
    cells: dict[str, list[Cells]] = {split: [] for split in tables}
    left_out: dict[str, str] = {}
    verdicts: list[tuple[str, Verdict]] = []
    odd_cells, odd_names = OddCells(), list[str]()
    delimiter = next((t.delimiter for t in tables.values() if t.delimiter is not None), None)

    def typed(position: int) -> TypedColumn:
        name = matched.names[position]
        parts = [
            cleaned(_taken(tables[split], places[position]), options.missing)
            for split, places in matched.places.items()
        ]
        if name in index and not is_declared(rules.get(name)):
            return TypedColumn(name, Verdict(None, [], omission="id"))
        return typed_column(
            name, parts, rules.get(name), units.get(name), options.unseen, delimiter
        )

    positions = [i for i, name in enumerate(matched.names) if name != options.weight]
    large = len(positions) * sum(table.rows for table in tables.values()) >= PIECE_CELLS
    for one in in_threads(typed, positions) if large else map(typed, positions):
        verdicts.append((one.name, replace(one.verdict, odd=None)))
        if one.verdict.odd is not None:
            what = "dates" if one.verdict.kind == "date" else "numbers"
            for split, part, odd in zip(tables, one.odd_parts, one.verdict.odd, strict=True):
                odd_cells.add(one.name, what, part, odd, tables[split])
            odd_names.append(one.name)
        if one.column is None:
            omission = one.verdict.omission
            left_out[one.name] = "ignore" if omission is None else omission
            continue
        columns.append(one.column)
        for split, (found, misfits) in zip(tables, one.cells, strict=True):
            cells[split].append(found)
            report_misfits(tables[split], one.name, misfits, reports[split])
    for report in reports.values():
        report.close()
    if sound:
        odd_cells.warn(sink)
    if sink.failed or not sound:
        return None
    where = next(iter(tables.values())).file
    if not columns:
        sink.error("E319", "no column can be modelled", where=where, notes=_reasons(verdicts))
        return None
    if not published:
        for table in tables.values():
            warn_of_header(table, sink)
        warn_of_left_out(verdicts, sink, where)
        warn_of_formats(verdicts, sink, where)
    skipped = tuple(name for name in matched.names if name in index and name in left_out)
    others = tuple(name for name in matched.names if name not in skipped)
    later = TableRules(
        others if len(others) > len(columns) else (),
        options.weight,
        options.unseen,
        options.header,
        options.missing,
        tuple(name for name in odd_names if name not in left_out),
        skipped,
        tuple((n, v.format) for n, v in verdicts if v.format is not None),
    )
    return Assembled(tuple(columns), cells, weights, left_out, later)


def _reasons(verdicts: Sequence[tuple[str, Verdict]]) -> list[str]:
    words = {
        "empty": "it has no values",
        "constant": "it has a single value",
        "id": "it identifies rows",
        "labels": "it has too many different labels",
        "nested": "it holds nested values",
    }
    return [f"`{n}`: {words.get(v.omission or '', 'the spec ignores it')}" for n, v in verdicts[:8]]


def _taken(table: RawTable, place: int | None) -> RawColumn:
    """Take a column out of its table, so that its memory is freed when it has been converted."""
    if place is None:
        return RawColumn("numbers", np.full(table.rows, np.nan))
    found = table.columns[place]
    table.columns[place] = RawColumn("numbers", found.cells[:0])
    if place == 0:  # the table counts its rows by its first column
        table.columns[0] = RawColumn("other", np.broadcast_to(np.uint8(0), found.rows))
    return found


def fitted(
    tables: Mapping[str, RawTable],
    columns: Sequence[Column],
    rules: TableRules,
    sink: Sink,
    odd: OddCells,
) -> dict[str, Table] | None:
    """Return tables of a model's columns; None after reporting what does not fit them.

    `odd` collects the texts that count as missing, as they did in training.
    """
    matched = match_model(columns, rules, tables, sink)
    if matched is None:
        return None
    sound = all(table.sound for table in tables.values())
    found = {}
    formats = {name: format.meaning for name, format in rules.formats}
    for split, table in tables.items():
        places = matched.places[split]
        cells = []
        with FileReport(sink, table.file) as report:
            for column, place in zip(columns, places, strict=False):
                raw = _taken(table, place)
                has_labels = column.labels is not None
                if table.coded and raw.kind == "numbers" and has_labels:
                    column = _as_in_arrays(column, raw, rules.unseen)
                if not has_labels or column.labels is not None:  # codes are no marks
                    raw = cleaned(raw, rules.missing)
                if column.name in rules.odd and raw.kind == "texts":
                    raw = _without_odd(raw, column, formats.get(column.name), table, odd)
                made, misfits = encoded(raw, column, rules.unseen, formats.get(column.name))
                cells.append(made)
                report_misfits(table, column.name, misfits, report)
            weights = None
            if rules.weight is not None and places[-1] is not None:
                raw = cleaned(_taken(table, places[-1]), rules.missing)
                weights = _weights_of(raw, rules.weight, table, report)
        found[split] = (cells, weights)
    if sink.failed or not sound:
        return None
    return {split: Table.of_columns(cells, weights) for split, (cells, weights) in found.items()}


def _as_in_arrays(column: Column, raw: RawColumn, unseen: Unseen) -> Column:
    """Return a column with labels as arrays of numbers hold it.

    An array of integers holds labels that one of doubles cannot.
    """
    numbers = column.array_labels
    if numbers is not None and raw.cells.dtype.kind in "iu":
        pairs = zip(column.labels or (), numbers, strict=True)
        numbers = tuple(b if isinstance(a, str) else a for a, b in pairs)
    if numbers is None or unseen != "other":
        return replace(column, labels=numbers)
    pairs = zip(column.labels or (), numbers, strict=True)
    return replace(column, labels=tuple(OTHER if a == OTHER else b for a, b in pairs))


def _without_odd(
    raw: RawColumn, column: Column, meaning: Meaning | None, table: RawTable, odd: OddCells
) -> RawColumn:
    """Return a column of texts as numbers or dates; collect the texts that are neither."""
    is_date = column.kind == "date"
    found, wrong = converted(raw, meaning or (DATES if is_date else NUMBERS))
    odd.add(column.name, "dates" if is_date else "numbers", raw, wrong, table)
    return found


def with_scales(
    columns: Sequence[Column], train: Table, options: DataOptions | None = None
) -> tuple[Column, ...]:
    """Return the columns, numeric ones with the scale of their training values."""
    given = {}
    if options is not None:
        given = rules_by_name([c.name for c in columns], options, Sink())

    def scaled(i: int) -> Column:
        column = columns[i]
        if column.is_finite:
            return column
        rule = given.get(column.name)
        step = rule.resolution if rule is not None else None
        if column.kind == "count":
            step = 1.0
        scale = scale_of(train.column(i), train.weights, unit=column.unit, resolution=step)
        return replace(column, scale=scale)

    if train.rows * train.width < PIECE_CELLS:
        return tuple(scaled(i) for i in range(len(columns)))
    return tuple(in_threads(scaled, range(len(columns))))


# ---- weights ---------------------------------------------------------------------------------


def _weights(
    matched: Matched,
    tables: Mapping[str, RawTable],
    options: DataOptions,
    reports: Mapping[str, FileReport],
    sink: Sink,
) -> dict[str, Floats]:
    """Return the row weights by split, if a column holds them; report bad ones (E321)."""
    if options.weight is None:
        return {}
    if options.weight not in matched.names:
        message = f"there is no column `{options.weight}` to take row weights from"
        help = did_you_mean(options.weight, matched.names)
        sink.error("E320", message, options.span_of("weight"), help=help)
        return {}
    position = matched.names.index(options.weight)
    found = {}
    for split, table in tables.items():
        raw = cleaned(_taken(table, matched.places[split][position]), options.missing)
        found[split] = _weights_of(raw, options.weight, table, reports[split])
    return found


def _weights_of(raw: RawColumn, name: str, table: RawTable, report: FileReport) -> Floats:
    numbers = converted(raw, NUMBERS)[0] if raw.kind == "texts" else raw
    values = numbers.doubles()
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~((values > 0) & np.isfinite(values)))
    if len(bad):
        first = int(bad[0])
        message = f"the weight in column `{name}` is not a positive number{table.row_text(first)}"
        line, file = table.line_of(first), table.file_of(first)
        report.error("E321", message, line=line, file=file, notes=_others(len(bad)))
    return values


# ---- messages --------------------------------------------------------------------------------


def report_misfits(
    table: RawTable, name: str, misfits: Sequence[Misfit], report: FileReport
) -> None:
    """Report the cells that a column cannot have: the first of each kind, and a count."""
    for misfit in misfits:
        first = int(misfit.rows[0])
        reason = f", {misfit.reason}" if misfit.reason else ""
        message = f"column `{name}` holds {misfit.value}{table.row_text(first)}{reason}"
        notes = _others(len(misfit.rows))
        line, file = table.line_of(first), table.file_of(first)
        report.error(misfit.code, message, line=line, file=file, notes=notes, help=misfit.help)


def _others(cells: int) -> tuple[str, ...]:
    return (f"and {counted(cells - 1, 'more such cell')} in this column",) if cells > 1 else ()
