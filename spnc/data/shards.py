"""What is done with one shard of a table, wherever it is: here, or on a worker of a cluster.

A *shard* holds some of the rows: a partition of a Dask frame (`frame_shards`), or a file or a part
of one (`file_shards`). Everything here is a plain function of a shard and of small arguments, so
that it gives the same in any process, and again after a worker was lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from spnc.common.rng import random_stream
from spnc.data.assembly import fitted
from spnc.data.columns import Column
from spnc.data.dataset import SPLITS, UNSPLIT
from spnc.data.odd_cells import OddCells
from spnc.data.parted import as_stored, sampling_stream, stacked
from spnc.data.raw_table import RawColumn, RawTable
from spnc.data.scanning import Known, Run, reduced, run_of
from spnc.data.table import Table
from spnc.data.table_rules import TableRules
from spnc.data.text_rules import TextRules
from spnc.diagnostics import Diagnostic, Sink

Fractions = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Layout:
    """What all shards of a table have in common: the names of columns, which of them are an index.

    The columns `texts` hold numbers in some shards and texts in others; all of them are texts.
    `reading` says how the texts of files are read if that is known better than before the scan.
    """

    names: tuple[str, ...]
    index: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    is_named: bool = True
    reading: TextRules | None = None


@dataclass(frozen=True)
class Changed:
    """What is said if rows are not what they were when they were read before."""

    code: str
    rows: str  # whose rows they are
    where: str
    help: str

    def report(self, sink: Sink, what: str) -> None:
        """Report what has changed; `what` may be the message of such a report."""
        begin = f"the rows of {self.rows} have changed: "
        message = begin + what.removeprefix(begin)
        sink.error(self.code, message, where=self.where, help=self.help)


class Shard(Protocol):
    """Some rows of a table, which can be read more than once."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    def pieces(
        self, layout: Layout | None, sink: Sink, begin: int = 0, end: int | None = None
    ) -> Iterator[RawTable]:
        """Yield the rows from `begin` on and before `end`, in pieces; report why there are none.

        Without a layout, it is that of this shard.
        """
        ...


@dataclass(frozen=True, eq=False)
class Head:
    """The first rows of a shard, in pieces, and what is wrong with it."""

    tables: tuple[RawTable, ...]
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, eq=False)
class News:
    """What is new in a piece: few cells of each column, and its run if it numbers rows."""

    columns: tuple[RawColumn, ...]
    runs: tuple[Run | None, ...]


@dataclass(frozen=True, eq=False)
class Look:
    """What is new in the pieces of a shard, which has this many rows, and what is wrong with it."""

    rows: int
    news: tuple[News, ...] = ()
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the rows of all shards are encoded, split and sampled.

    `layouts` are those of tables, by split; "all" is a table that is split. `shares` are the
    probabilities of rows to be sampled, by split.
    """

    layouts: Mapping[str, Layout]
    columns: tuple[Column, ...]
    rules: TableRules
    fractions: Fractions
    split_seed: int
    shares: Mapping[str, float]
    changed: Changed


@dataclass(frozen=True)
class Place:
    """Which rows of a table a shard has: from which on, and how many of each split are before.

    `split` is that of the table, "all" if its rows are split.
    """

    shard: int
    split: str
    rows: int
    begin: int
    before: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Report:
    """What is to be known of an encoded shard: sampled rows, odd cells, problems."""

    samples: Mapping[str, Table] = field(default_factory=dict)
    odd: OddCells = field(default_factory=OddCells)
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, eq=False)
class Encoded:
    """The rows of a shard by split, and a report about them."""

    tables: Mapping[str, Table]
    report: Report


def head(shard: Shard, layout: Layout | None, rows: int) -> Head:
    """Return the first rows of a shard. Without a layout, it is that of this shard."""
    sink = Sink()
    tables = tuple(shard.pieces(layout, sink, 0, rows))
    return Head(tables, tuple(sink.diagnostics))


def look(shard: Shard, begin: int, layout: Layout, known: Sequence[Known]) -> Look:
    """Return what is new in the rows of a shard from `begin` on."""
    sink, news, rows = Sink(), [], begin
    for table in shard.pieces(layout, sink, begin):
        rows += table.rows
        pairs = list(zip(table.columns, known, strict=True))
        columns = tuple(reduced(column, one) for column, one in pairs)
        runs = tuple(run_of(column) if one.may_number else None for column, one in pairs)
        news.append(News(columns, runs))
    return Look(rows, tuple(news), tuple(sink.diagnostics))


def encode(shard: Shard, place: Place, how: Encoding) -> Encoded:
    """Return the encoded rows of a shard by split, with a report."""
    sink, odd = Sink(), OddCells()
    reading = how.rules.text_rules(how.columns)
    layout = replace(how.layouts[place.split], reading=reading)
    found: list[Table] = []
    for raw in shard.pieces(layout, sink):
        tables = fitted({UNSPLIT: raw}, how.columns, how.rules, sink, odd)
        if tables is not None:
            found.append(tables[UNSPLIT])
    rows = sum(table.rows for table in found)
    if rows != place.rows and not sink.failed:
        how.changed.report(sink, f"{shard.name} has {rows:,} rows")
    if sink.failed:
        return Encoded({}, Report(problems=tuple(sink.diagnostics)))
    if not rows:
        return Encoded({}, Report())
    splits = _divided(stacked(found), place, how)
    samples = {}
    for split, table in splits.items():
        drawn = skipping(sampling_stream(how.split_seed, split), place.before[split])
        chosen = np.flatnonzero(drawn.random(table.rows) < how.shares[split])
        samples[split] = as_stored(table.take(chosen))
    return Encoded(splits, Report(samples, odd))


def _divided(table: Table, place: Place, how: Encoding) -> dict[str, Table]:
    """Return the rows of each split."""
    if place.split != UNSPLIT:
        return {place.split: table}
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
