"""Reading a table from a file or a named source, for a model and to be carried along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from spnc.common.observer import Progress
from spnc.data.cells import as_column
from spnc.data.columns import Column
from spnc.data.dataset import UNSPLIT
from spnc.data.load import load_table
from spnc.data.raw_table import RawColumn, RawTable
from spnc.data.sources import read_tables
from spnc.data.table import Table
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Sink, did_you_mean, listed
from spnc.tables.carried import Carried, check_free, warn_of_strangers
from spnc.tables.table_files import ARROW_FORMS, arrow_column

EVERY_COLUMN = frozenset({"*"})


class SourceRows(NamedTuple):
    """The rows for a model, the table as it came in, and whether its cells are texts."""

    table: Table
    carried: Carried
    texts: bool


def read_rows(
    source: str,
    sink: Sink,
    *,
    columns: tuple[Column, ...],
    rules: TableRules,
    new: Sequence[str] = (),
    split: str | None = None,
    typed: bool = False,
    progress: Progress | None = None,
) -> SourceRows | None:
    """Return the table that a command line names; None after reporting problems.

    Columns that the model does not know are carried along. The cells of a text file stay the texts
    that they are; with `typed`, those of the model's columns become numbers, dates and labels.
    `new` are the names of columns that will be added.
    """
    # All columns are read as texts, so that every cell can be written as it was.
    reading = replace(rules.text_rules(columns), missing=(), texts=EVERY_COLUMN)
    found = read_tables(source, sink, rules=reading, progress=progress)
    if found is None:
        return None
    raw = _one_split(found.tables, source, split, sink)
    if raw is None:
        return None
    names = raw.names or _names_by_place(raw, columns, rules)
    texts = raw.is_text
    check_free(names, new, sink, raw.file)
    known = warn_of_strangers(names, columns, rules, sink, raw.file)
    if not known and raw.names is not None:
        message = "none of the table's columns is known to the model"
        help = f"the model has {listed([column.name for column in columns])}"
        sink.error("E307", message, where=raw.file, help=help)
    cells = {name: _arrow(column) for name, column in zip(names, raw.columns, strict=True)}
    places = [i for i, name in enumerate(names) if name in known]
    part = replace(
        raw,
        columns=[raw.columns[i] for i in places] if raw.names is not None else list(raw.columns),
        names=tuple(names[i] for i in places) if raw.names is not None else None,
        index=raw.index & set(known),
    )
    dataset = load_table(part, sink, columns=columns, rules=rules)
    if dataset is None or sink.failed:
        return None
    table = dataset.in_memory(UNSPLIT)
    if texts and typed:
        cells |= {
            column.name: arrow_column(as_column(column, table.column(i)).tolist())
            for i, column in enumerate(columns)
            if column.name in cells
        }
    carried = Carried.of(pa.table(cells))
    assert carried is not None
    return SourceRows(table, carried, texts and not typed)


def _one_split(
    tables: dict[str, RawTable], source: str, split: str | None, sink: Sink
) -> RawTable | None:
    """Return the table of a split; report a split that there is not, or that none was chosen."""
    if split is None and len(tables) == 1:
        return next(iter(tables.values()))
    if split in tables:
        return tables[split]
    message = f"`{source}` has no split `{split}`"
    help = did_you_mean(split or "", tables)
    if split is None:
        message = f"`{source}` has several splits"
        help = f"choose one with --split: {listed(list(tables))}"
    sink.error("E318", message, help=help)
    return None


def _names_by_place(raw: RawTable, columns: Sequence[Column], rules: TableRules) -> tuple[str, ...]:
    """Return names for a table without a header: those of the model's table, if as many."""
    own = tuple(column.name for column in columns)
    for names in (rules.names, own):
        if len(names) == raw.width:
            return tuple(names)
    return raw.column_names


def _arrow(column: RawColumn) -> Any:
    """Return the cells of a column as an Arrow array, null where missing."""
    absent = column.absent
    if column.kind == "texts":
        texts = column.text_list()
        pairs = zip(column.positions().tolist(), absent.tolist(), strict=True)
        cells = [None if gone else texts[at] for at, gone in pairs]
        return pa.array(cells, type=pa.string())
    if column.kind == "booleans":
        return pa.array(column.cells.astype(bool), mask=absent)
    if column.kind == "dates":
        seconds = np.where(absent, 0.0, column.cells.astype(np.float64))
        if (seconds % 86_400.0 == 0.0).all():
            days = (seconds // 86_400.0).astype(np.int32)
            return pa.array(days, type=pa.int32(), mask=absent).cast(pa.date32())
        micros = np.round(seconds * 1e6).astype(np.int64)
        return pa.array(micros, type=pa.int64(), mask=absent).cast(pa.timestamp("us"))
    if column.kind == "other":
        return pa.nulls(column.rows)
    return pa.array(column.cells, mask=absent)


def is_typed(output: str | None) -> bool:
    """Whether a file of this name has types: Parquet or Arrow, not text."""
    return output is not None and Path(output).suffix.lower() in ARROW_FORMS
