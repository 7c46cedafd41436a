"""What is done with one shard of a data frame, wherever it is: here, or on a worker of a cluster.

A *shard* is a partition of a Dask frame: a data frame of pandas with some of the rows. Everything
here is a plain function of a shard and of small arguments, so that it gives the same in any
process, and again after a worker was lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spnc.common.rng import random_stream
from spnc.data.arrow_columns import object_text
from spnc.data.assembly import fitted
from spnc.data.columns import Column
from spnc.data.dataset import SPLITS, UNSPLIT
from spnc.data.frames import GIVEN, raw_from_python
from spnc.data.odd_cells import OddCells
from spnc.data.pandas_names import flat_name
from spnc.data.parted import as_stored, sampling_stream
from spnc.data.python_columns import column_of
from spnc.data.raw_table import RawColumn, RawTable, text_column
from spnc.data.scanning import Known, Run, reduced, run_of
from spnc.data.table import Table
from spnc.data.table_rules import TableRules
from spnc.diagnostics import Diagnostic, Sink, listed

Fractions = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Layout:
    """What all shards have in common: the names of columns, which of them are an index.

    The columns `texts` hold numbers in some shards and texts in others; all of them are texts.
    """

    names: tuple[str, ...]
    index: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Head:
    """The first rows of a shard, its number of rows, and what is wrong with it."""

    rows: int
    table: RawTable | None
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, eq=False)
class Look:
    """What is new in a shard: few cells of each column, and its run if it numbers rows."""

    rows: int
    columns: tuple[RawColumn, ...] = ()
    runs: tuple[Run | None, ...] = ()
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the rows of all shards are encoded, split and sampled.

    `shares` are the probabilities of rows to be sampled, by split.
    """

    layout: Layout
    columns: tuple[Column, ...]
    rules: TableRules
    fractions: Fractions
    split_seed: int
    shares: Mapping[str, float]


@dataclass(frozen=True)
class Place:
    """Which rows of the table a shard has: from which on, and how many of each split are before."""

    shard: int
    rows: int
    begin: int
    before: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Report:
    """What is to be known of an encoded shard: sampled rows, total weights, odd cells, problems."""

    samples: Mapping[str, Table] = field(default_factory=dict)
    totals: Mapping[str, float] = field(default_factory=dict)
    odd: OddCells = field(default_factory=OddCells)
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, eq=False)
class Encoded:
    """The rows of a shard by split, and a report about them."""

    tables: Mapping[str, Table]
    report: Report


def head(frame: Any, shard: int, layout: Layout | None, rows: int) -> Head:
    """Return the first rows of a shard. Without a layout, it is that of this shard."""
    if not len(frame):
        return Head(0, None)
    sink = Sink()
    table = _raw(frame.iloc[:rows], shard, layout, sink)
    return Head(len(frame), table, tuple(sink.diagnostics))


def look(frame: Any, shard: int, begin: int, layout: Layout, known: Sequence[Known]) -> Look:
    """Return what is new in the rows of a shard from `begin` on."""
    if len(frame) <= begin:
        return Look(len(frame))
    sink = Sink()
    table = _raw(frame.iloc[begin:], shard, layout, sink)
    if table is None:
        return Look(len(frame), problems=tuple(sink.diagnostics))
    pairs = list(zip(table.columns, known, strict=True))
    return Look(
        len(frame),
        tuple(reduced(column, one) for column, one in pairs),
        tuple(run_of(column) if one.may_number else None for column, one in pairs),
    )


def encode(frame: Any, place: Place, how: Encoding) -> Encoded:
    """Return the encoded rows of a shard by split, with a report."""
    sink, odd = Sink(), OddCells()
    if len(frame) != place.rows:
        report_changed(sink, f"`frame.partitions[{place.shard}]` has {len(frame):,} rows")
        return Encoded({}, Report(problems=tuple(sink.diagnostics)))
    if not place.rows:
        return Encoded({}, Report())
    raw = _raw(frame, place.shard, how.layout, sink)
    found = None if raw is None else fitted({UNSPLIT: raw}, how.columns, how.rules, sink, odd)
    if found is None:
        return Encoded({}, Report(problems=tuple(sink.diagnostics)))
    tables = _divided(found[UNSPLIT], place, how)
    samples = {}
    for split, table in tables.items():
        drawn = skipping(sampling_stream(how.split_seed, split), place.before[split])
        chosen = np.flatnonzero(drawn.random(table.rows) < how.shares[split])
        samples[split] = as_stored(table.take(chosen))
    totals = {split: table.total for split, table in tables.items()}
    return Encoded(tables, Report(samples, totals, odd))


def _divided(table: Table, place: Place, how: Encoding) -> dict[str, Table]:
    """Return the rows of each split."""
    if how.fractions[0] == 1.0:
        return {SPLITS[0]: table}
    where = splits_of_rows(how.fractions, how.split_seed, place.begin, table.rows)
    return {
        split: table.take(np.flatnonzero(where == number))
        for number, split in enumerate(SPLITS)
        if how.fractions[number] > 0.0
    }


def splits_of_rows(fractions: Fractions, seed: int, begin: int, rows: int) -> Any:
    """Return the number of the split that each of these rows of a table goes to."""
    drawn = skipping(random_stream(seed, "rows of splits"), begin).random(rows)
    return np.searchsorted(np.cumsum(fractions)[:-1], drawn, side="right")


def skipping(rng: np.random.Generator, numbers: int) -> np.random.Generator:
    """Return a generator of doubles that has drawn this many of them already."""
    rng.bit_generator.advance(numbers)  # type: ignore[attr-defined]
    return rng


def report_changed(sink: Sink, what: str) -> None:
    """Report that a frame gave other rows than before (E515)."""
    help = "make the frame's rows the same each time, or keep them: `frame = frame.persist()`"
    sink.error("E515", f"the rows of the Dask frame have changed: {what}", where=GIVEN, help=help)


# ---- one shard as a raw table ------------------------------------------------------------------


def _raw(frame: Any, shard: int, layout: Layout | None, sink: Sink) -> RawTable | None:
    """Return rows of a shard as a raw table; None after reporting what is wrong."""
    table = raw_from_python(frame, sink)
    if table is None:
        return None
    if layout is not None:
        table = _laid_out(table, frame, shard, layout, sink)
    if table is None:
        return None
    return replace(table, within=f" of `frame.partitions[{shard}]`")


def _laid_out(
    table: RawTable, frame: Any, shard: int, layout: Layout, sink: Sink
) -> RawTable | None:
    """Return a table with the columns of the layout, in its order."""
    found = dict(zip(table.column_names, table.columns, strict=True))
    for name in layout.index - found.keys():
        if flat_name(frame.index.name) == name:  # row numbers, which are no column by themselves
            found[name] = column_of(frame.index.to_series())
    absent = [f"`{name}`" for name in layout.names if name not in found]
    known = {*layout.names, *table.index}
    extra = [f"`{name}`" for name in found if name not in known]
    if absent or extra:
        notes = [f"not there: {listed(absent)}"] if absent else []
        notes += [f"only there: {listed(extra)}"] if extra else []
        message = f"`frame.partitions[{shard}]` does not have the columns of those before it"
        help = "all partitions must have the same columns"
        sink.error("E307", message, notes=notes, help=help, where=GIVEN)
        return None
    columns = [_as_texts(frame, n) if n in layout.texts else found[n] for n in layout.names]
    return replace(table, columns=columns, names=layout.names, index=layout.index)


def _as_texts(frame: Any, name: str) -> RawColumn:
    """Return a column as texts, as it is where its values are of different kinds."""
    labels = [flat_name(label) for label in frame.columns]
    cells = frame.iloc[:, labels.index(name)] if name in labels else frame.index
    return text_column([object_text(cell) for cell in cells.tolist()])
