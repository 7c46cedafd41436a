"""Loading a Dask frame: scanned and encoded shard by shard, wherever its shards are.

The steps are those of large files (`large_files`): the shards are scanned for what the columns are;
then the rows are encoded, split at random if the spec says so, and cut into partitions. The result
is that of a file with the same rows: it does not depend on where the frame is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from spnc.common.observer import Progress, silent
from spnc.data.assembly import Assembled, assembled, with_scales
from spnc.data.column_warnings import warn_of_columns
from spnc.data.dataset import SPLITS, UNSPLIT, Dataset
from spnc.data.declared import rules_by_name
from spnc.data.frames import GIVEN, raw_from_python
from spnc.data.odd_cells import OddCells
from spnc.data.options import DataOptions
from spnc.data.parted import in_memory, rows_of_partition
from spnc.data.raw_table import RawColumn, RawTable
from spnc.data.scanning import MixedColumnsError, Novelties, digest_table, together
from spnc.data.shard_work import ShardsHere, ShardWork, Splitting, stop_at_problems
from spnc.data.shards import (
    Encoding,
    Fractions,
    Head,
    Layout,
    Look,
    Place,
    head,
    look,
    splits_of_rows,
)
from spnc.diagnostics import Diagnostic, InputError, Sink

_MOST_HEADS = 64  # shards whose first rows are fetched at a time
_DRAWN_ROWS = 1 << 20  # rows whose splits are drawn at a time
_OWN_WARNINGS = ("W309",)  # of odd cells, which are counted when all rows are read


def load_shards(
    options: DataOptions,
    sink: Sink,
    *,
    progress: Progress | None = None,
    default_split: Fractions | None = None,
) -> tuple[Dataset | None, DataOptions] | None:
    """Return the dataset of a Dask frame; None after reporting an error.

    A frame of at most one partition of rows is no dataset yet: the options that are returned then
    hold its rows, as those of any other frame.
    """
    assert options.shards is not None
    frame = options.shards.frame
    try:
        work = ShardsHere(frame) if options.elsewhere is None else options.elsewhere.shards(frame)
        scanned = _Scan(work, progress or silent).result(
            rows_of_partition(options.partition_rows, max(1, len(frame.columns)))
        )
        if scanned is None:
            table = raw_from_python(work.whole(), sink)
            return None if table is None else (None, replace(options, table=table, shards=None))
        loading = _Loading(work, options, scanned, progress or silent, default_split)
        found = loading.dataset(sink)
        return None if found is None else (found, options)
    except InputError as error:
        sink.diagnostics += error.diagnostics
        return None


@dataclass(frozen=True, eq=False)
class ScannedShards:
    """What shards hold: the table by which columns are judged, and the rows of each shard."""

    table: RawTable
    layout: Layout
    rows: tuple[int, ...]


@dataclass(eq=False)
class _Scan:
    """Finds out what the columns of shards hold."""

    work: ShardWork
    progress: Progress
    _layout: Layout | None = None
    _rows: list[int] = field(default_factory=list)  # by shard

    def result(self, size: int) -> ScannedShards | None:
        """Return what the shards hold; None if they have at most `size` rows."""
        while True:
            try:
                return self._scanned(size)
            except MixedColumnsError as error:
                assert self._layout is not None
                texts = self._layout.texts | error.names
                if texts == self._layout.texts:
                    raise AssertionError("columns of texts hold something else") from error
                self._layout = replace(self._layout, texts=texts)

    def _scanned(self, size: int) -> ScannedShards | None:
        self._rows = []
        first = self._first(size)
        if self._layout is None:
            return None
        known_rows = sum(table.rows for table in first)
        columns = together(first)
        novelties = [Novelties(column) for column in columns]
        self._look_at_others(first[-1].rows, novelties)
        if sum(self._rows) <= size:
            return None
        whole = replace(first[0], columns=columns, within="", counted_rows=known_rows)
        return ScannedShards(digest_table(whole, novelties), self._layout, tuple(self._rows))

    def _first(self, size: int) -> list[RawTable]:
        """Return the first rows of the first shards: `size` rows or more, or all rows."""
        found: list[RawTable] = []
        rows = 0
        while rows < size and len(self._rows) < self.work.shards:
            begin, wanted = len(self._rows), 1
            if self._layout is not None and rows:
                wanted = min(_MOST_HEADS, ceil((size - rows) / (rows / len(self._rows))))
            numbers = range(begin, min(begin + wanted, self.work.shards))
            own = [(shard, (shard,)) for shard in numbers]
            one: Head
            for one in list(self.work.each(head, own, self._layout, size)):
                if rows >= size:
                    break
                stop_at_problems([one.problems])
                self._rows.append(one.rows)
                if one.table is not None:
                    self._layout = self._layout or Layout(one.table.column_names, one.table.index)
                    found.append(one.table)
                    rows += one.table.rows
        return found

    def _look_at_others(self, last: int, novelties: list[Novelties]) -> None:
        """Add what is new in all other rows; the last of the first shards has `last` of those."""
        assert self._layout is not None
        known = tuple(one.known for one in novelties)
        begins = {}
        if self._rows[-1] > last:
            begins[len(self._rows) - 1] = last
        begins |= dict.fromkeys(range(len(self._rows), self.work.shards), 0)
        own = [(shard, (shard, begin)) for shard, begin in begins.items()]
        mixed: set[str] = set()
        problems: list[tuple[Diagnostic, ...]] = []
        one: Look
        for (shard, _), one in zip(
            own, self.work.each(look, own, self._layout, known), strict=True
        ):
            if shard == len(self._rows):
                self._rows.append(one.rows)
            problems.append(one.problems)
            for name, each, column, run in zip(
                self._layout.names, novelties, one.columns, one.runs, strict=False
            ):
                if not each.add(column, run):
                    mixed.add(name)
            self.progress("partitions scanned", len(self._rows), self.work.shards)
        stop_at_problems(problems)
        if mixed:
            raise MixedColumnsError(frozenset(mixed))


@dataclass(frozen=True, eq=False)
class _Loading:
    """One frame on its way to partitions."""

    work: ShardWork
    options: DataOptions
    scanned: ScannedShards
    progress: Progress
    default_split: Fractions | None

    def dataset(self, sink: Sink) -> Dataset | None:
        """Return the dataset; None after reporting an error. May raise `InputError`."""
        own = Sink()
        made = assembled({UNSPLIT: self._judged()}, self.options, own)
        if made is None:
            sink.diagnostics += own.diagnostics
            return None
        sink.diagnostics += [d for d in own.diagnostics if d.code not in _OWN_WARNINGS]
        how = self._splitting(made)
        if not self._has_rows(how, sink):
            return None
        odd = OddCells()
        total = len(how.places)
        splits = self.work.splits(how, odd, lambda n: self.progress("partitions", n, total))
        sample = in_memory(splits["train"])
        columns = with_scales(made.columns, sample, self.options)
        odd.warn(sink)
        declared = rules_by_name([c.name for c in columns], self.options, Sink())
        warn_of_columns(sample, columns, sink, GIVEN, declared)
        cut = self._fractions is not None
        return Dataset("data", columns, splits, cut, made.rules, made.left_out)

    def _judged(self) -> RawTable:
        """Return the table by which columns are judged; weights are looked at when all are read."""
        table = self.scanned.table
        if self.options.weight not in table.column_names:
            return table
        place = table.column_names.index(self.options.weight)
        columns = list(table.columns)
        columns[place] = RawColumn("numbers", np.ones(table.rows))
        return replace(table, columns=columns)

    @property
    def _fractions(self) -> Fractions | None:
        return self.options.split if self.options.split is not None else self.default_split

    def _splitting(self, made: Assembled) -> Splitting:
        """Return which rows go to which split, and which of them are sampled."""
        fractions = self._fractions or (1.0, 0.0, 0.0)
        seed = self.options.split_seed
        size = rows_of_partition(self.options.partition_rows, len(made.columns))
        total = sum(self.scanned.rows)
        used = [s for s, fraction in zip(SPLITS, fractions, strict=True) if fraction > 0.0]
        before, begin, places = dict.fromkeys(used, 0), 0, []
        for shard, rows in enumerate(self.scanned.rows):
            places.append(Place(shard, rows, begin, dict(before)))
            counts = _counts(fractions, seed, begin, rows)
            for split, count in zip(SPLITS, counts, strict=True):
                if split in before:
                    before[split] += count
            begin += rows
        shares = {
            split: size / max(1.0, total * fraction)
            for split, fraction in zip(SPLITS, fractions, strict=True)
            if split in before
        }
        layout = self.scanned.layout
        encoding = Encoding(layout, made.columns, made.rules, fractions, seed, shares)
        return Splitting(places, encoding, before, size)

    def _has_rows(self, how: Splitting, sink: Sink) -> bool:
        """Return whether each split has rows; report those that have none (E306)."""
        for split, rows in how.rows.items():
            if rows == 0:
                message = f"the {split} split gets no rows of {sum(how.rows.values()):,}"
                hint = "give this split a larger fraction, or 0 to leave it out"
                sink.error("E306", message, self.options.span_of("split"), help=hint)
        return all(how.rows.values())


def _counts(fractions: Fractions, seed: int, begin: int, rows: int) -> list[int]:
    """Return how many of these rows of a table go to each split."""
    if fractions[0] == 1.0:
        return [rows, 0, 0]
    found = np.zeros(len(SPLITS), dtype=np.int64)
    for start in range(begin, begin + rows, _DRAWN_ROWS):
        some = min(_DRAWN_ROWS, begin + rows - start)
        where = splits_of_rows(fractions, seed, start, some)
        found += np.bincount(where, minlength=len(SPLITS))
    return [int(count) for count in found]
