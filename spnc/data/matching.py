"""Matching the columns of tables by name: splits with one another, and data with a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from spnc.data.columns import Column
from spnc.data.raw_table import RawTable
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Sink, counted, listed, nearest


class Matched(NamedTuple):
    """The names of columns, and for every split the place of each in its raw table.

    A place is None where a table does not have the column.
    """

    names: tuple[str, ...]
    places: dict[str, list[int | None]]


def match_splits(tables: Mapping[str, RawTable], sink: Sink) -> Matched | None:
    """Match the splits with the first one, by name; None after reporting differences (E307).

    A table without names is matched by position.
    """
    (first, base), *others = tables.items()
    named, names = first, base.names
    places: dict[str, list[int | None]] = {first: list(range(base.width))}
    agree = True
    for split, table in others:
        places[split] = list(range(base.width))
        if table.names is not None and names is not None:
            at = {name: i for i, name in enumerate(table.names)}
            own = [n for n in table.names if n not in table.index]
            wanted = [n for n in names if n not in base.index]
            notes = _difference(own, wanted, f"the {named} split")
            places[split] = [at.get(name) for name in names]
        else:
            notes = []
            if table.width != base.width:
                here = counted(table.width, "column")
                notes = [f"{here} here, {base.width:,} in the {named} split"]
            elif names is None and table.names is not None:
                named, names = split, table.names
        if notes:
            agree = False
            message = f"the {split} split does not have the columns of the {named} split"
            help = "all splits must have the same columns, in any order"
            sink.error("E307", message, notes=notes, help=help, where=table.file)
    return Matched(names or base.column_names, places) if agree else None


def _difference(here: Sequence[str], there: Sequence[str], whose: str) -> list[str]:
    """Return how two sets of names differ; an empty list if they do not."""
    absent = [f"`{n}`" for n in there if n not in set(here)]
    extra = [f"`{n}`" for n in here if n not in set(there)]
    notes = [f"only in {whose}: {listed(absent)}"] if absent else []
    return [*notes, f"only here: {listed(extra)}"] if extra else notes


def match_model(
    columns: Sequence[Column], rules: TableRules, tables: Mapping[str, RawTable], sink: Sink
) -> Matched | None:
    """Match tables with a model's columns and its column of weights, which is the last name.

    An absent column is missing in every row. An index of pandas is a column if the model has one
    of its name. None after reporting unknown columns, or a table without names that has another
    number of columns (E307).
    """
    own = [c.name for c in columns]
    wanted = (*own, rules.weight) if rules.weight is not None else tuple(own)
    everything = list(rules.names) or own
    known = {*wanted, *everything, *rules.index}
    places: dict[str, list[int | None]] = {}
    agree = True
    for split, table in tables.items():
        if table.names is not None:
            skipped = {table.row_names, *table.index}
            unknown = [name for name in table.names if name not in known | skipped]
            if unknown:
                agree = False
                _report_unknown(unknown, own, table, sink)
            at = {name: i for i, name in enumerate(table.names)}
        elif table.width == len(everything):
            at = {name: i for i, name in enumerate(everything)}
        elif table.width == len(own):
            at = {name: i for i, name in enumerate(own)}
        else:
            at, agree = {}, False
            here = counted(table.width, "column")
            message = f"the data has {here} without names, but the model has {len(own):,}"
            help = f"give all columns in this order, or give them names: {listed(own)}"
            sink.error("E307", message, where=table.file, help=help)
        places[split] = [at.get(name) for name in wanted]
    return Matched(tuple(wanted), places) if agree else None


def _report_unknown(unknown: list[str], own: list[str], table: RawTable, sink: Sink) -> None:
    what = "column is" if len(unknown) == 1 else "columns are"
    message = f"{len(unknown):,} {what} unknown to the model: {listed([f'`{n}`' for n in unknown])}"
    absent = [name for name in own if name not in set(table.names or ())]
    notes = [f"not in the data: {listed([f'`{n}`' for n in absent])}"] if absent else []
    near = nearest(unknown[0], absent or own)
    help = "remove it, or rename it to a column of the model"
    if near is not None:
        help = f"did you mean `{near}`? Otherwise remove the column"
    sink.error("E307", message, where=table.file, notes=notes, help=help)
