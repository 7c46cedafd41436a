"""Loading tables in shards: scanned and encoded shard by shard, wherever the shards are.

The steps are those of large files (`large_files`): the shards are scanned for what the columns are;
then the rows are encoded, split at random if the spec says so, and cut into partitions. The result
is that of a file with the same rows: it depends neither on where shards are read or computed, nor
on where they end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from spnc.common.observer import Progress, silent
from spnc.data.assembly import Assembled, assembled, with_scales
from spnc.data.column_warnings import warn_of_columns
from spnc.data.dataset import SPLITS, UNSPLIT, Dataset
from spnc.data.declared import rules_by_name
from spnc.data.file_shards import file_source
from spnc.data.frame_shards import FrameSource
from spnc.data.frames import GIVEN, raw_from_python
from spnc.data.large_files import large_files
from spnc.data.odd_cells import OddCells
from spnc.data.options import DataOptions
from spnc.data.parted import Sizes, in_memory, rows_of_partition
from spnc.data.raw_table import RawTable
from spnc.data.scanning import MixedColumnsError, Novelties, digest_table, judged, together
from spnc.data.shard_work import (
    ShardError,
    ShardsHere,
    ShardSource,
    ShardWork,
    Splitting,
    stop_at_problems,
)
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
    source = FrameSource(frame)
    try:
        elsewhere = options.elsewhere
        work = ShardsHere(source) if elsewhere is None else elsewhere.shards(source)
        size = rows_of_partition(options.partition_rows, max(1, len(frame.columns)))
        scanned = _scanned(work, source, GIVEN, size, progress or silent)
        if scanned is None or sum(scanned[UNSPLIT].rows.values()) <= size:
            table = raw_from_python(work.whole(frame), sink)
            return None if table is None else (None, replace(options, table=table, shards=None))
        loading = _Loading(work, source, options, scanned, progress or silent, default_split)
        found = loading.dataset("data", GIVEN, sink)
        return None if found is None else (found, options)
    except InputError as error:
        sink.diagnostics += error.diagnostics
        return None


def load_files_elsewhere(
    options: DataOptions,
    sink: Sink,
    *,
    progress: Progress | None = None,
    default_split: Fractions | None = None,
) -> Dataset | None:
    """Return the dataset of large files that other processes read; None if they are read here.

    That is so if these do not see the files, if there is no more than one shard, and if there is
    any problem: the readers of whole files find all problems.
    """
    if options.elsewhere is None:
        return None
    tables = large_files(options)
    source = file_source(tables, options) if tables else None
    if source is None or not options.elsewhere.sees(source.stamps):
        return None
    work = options.elsewhere.shards(source)
    own = Sink()
    try:
        size = options.partition_rows
        scanned = _scanned(work, source, source.where, size, progress or silent)
        if scanned is None:
            return None
        loading = _Loading(work, source, options, scanned, progress or silent, default_split)
        found = loading.dataset(source.name, source.where, own)
    except (MixedColumnsError, ShardError):
        return None
    if found is not None:
        sink.diagnostics += own.diagnostics
    return found


@dataclass(frozen=True, eq=False)
class ScannedShards:
    """What the shards of a table hold: the table by which columns are judged, rows by shard."""

    table: RawTable
    layout: Layout
    rows: Mapping[int, int]


def _scanned(
    work: ShardWork, source: ShardSource, file: str, size: int, progress: Progress
) -> dict[str, ScannedShards] | None:
    """Return what the shards of each table hold, by split; None if one has no rows.

    `size` is the number of first rows from which kinds are judged, `file` what the tables are
    called.
    """
    found = {}
    tables = source.splits or {UNSPLIT: range(work.shards)}
    for split, shards in tables.items():
        one = _Scan(work, shards, size, progress).result()
        if one is None:
            return None
        found[split] = replace(one, table=replace(one.table, file=file))
    return found


@dataclass(eq=False)
class _Scan:
    """Finds out what the columns of the shards of a table hold."""

    work: ShardWork
    shards: range
    size: int
    progress: Progress
    _layout: Layout | None = None
    _rows: dict[int, int] = field(default_factory=dict)  # by shard

    def result(self) -> ScannedShards | None:
        """Return what the shards hold; None if that is no row.

        Raises `MixedColumnsError` if columns hold numbers and texts, and cannot be read as texts.
        """
        while True:
            try:
                return self._scanned()
            except MixedColumnsError as error:
                assert self._layout is not None
                texts = self._layout.texts | error.names
                if texts == self._layout.texts:
                    raise
                self._layout = replace(self._layout, texts=texts)

    def _scanned(self) -> ScannedShards | None:
        self._rows = {}
        first = self._first()
        if self._layout is None:
            return None
        known_rows = sum(table.rows for table in first)
        columns = together(first)
        novelties = [Novelties(column) for column in columns]
        self._look_at_others(known_rows >= self.size, novelties)
        whole = replace(first[0], columns=columns, within="", counted_rows=known_rows)
        return ScannedShards(digest_table(whole, novelties), self._layout, self._rows)

    def _first(self) -> list[RawTable]:
        """Return the first rows of the first shards: as many as are wanted, or all."""
        found: list[RawTable] = []
        rows = 0
        while rows < self.size and len(self._rows) < len(self.shards):
            begin, wanted = len(self._rows), 1
            if self._layout is not None and rows:
                wanted = min(_MOST_HEADS, ceil((self.size - rows) / (rows / len(self._rows))))
            own = [(shard, ()) for shard in self.shards[begin : begin + wanted]]
            one: Head
            heads = list(self.work.each(head, own, self._layout, self.size))
            for (shard, _), one in zip(own, heads, strict=True):
                if rows >= self.size:
                    break
                stop_at_problems([one.problems])
                self._rows[shard] = 0
                for table in one.tables:
                    if self._layout is None:
                        is_named = table.names is not None
                        names, index = table.column_names, table.index
                        self._layout = Layout(names, index, is_named=is_named)
                    room = self.size - rows
                    if room <= 0:
                        break
                    if table.rows > room:
                        table = table.sliced(slice(0, room))
                    found.append(table)
                    rows += table.rows
                    self._rows[shard] += table.rows
        return found

    def _look_at_others(self, has_more: bool, novelties: list[Novelties]) -> None:
        """Add what is new in all other rows; with `has_more`, the last shard so far may have some.

        Raises `MixedColumnsError` if columns have to be read again as texts.
        """
        assert self._layout is not None
        known = tuple(one.known for one in novelties)
        begins = {}
        if has_more:
            last = self.shards[len(self._rows) - 1]
            begins[last] = self._rows[last]
        begins |= dict.fromkeys(self.shards[len(self._rows) :], 0)
        own = [(shard, (begin,)) for shard, begin in begins.items()]
        mixed: set[str] = set()
        problems: list[tuple[Diagnostic, ...]] = []
        one: Look
        for (shard, _), one in zip(
            own, self.work.each(look, own, self._layout, known), strict=True
        ):
            self._rows[shard] = one.rows
            problems.append(one.problems)
            for news in one.news:
                for name, each, column, run in zip(
                    self._layout.names, novelties, news.columns, news.runs, strict=True
                ):
                    if not each.add(column, run):
                        mixed.add(name)
            self.progress("partitions scanned", len(self._rows), len(self.shards))
        stop_at_problems(problems)
        if mixed:
            raise MixedColumnsError(frozenset(mixed))


@dataclass(frozen=True, eq=False)
class _Loading:
    """Tables in shards on their way to partitions."""

    work: ShardWork
    source: ShardSource
    options: DataOptions
    scanned: Mapping[str, ScannedShards]
    progress: Progress
    default_split: Fractions | None

    def dataset(self, name: str, where: str, sink: Sink) -> Dataset | None:
        """Return the dataset; None after reporting an error. May raise `InputError`."""
        own = Sink()
        tables = {
            split: judged(one.table, self.options.weight) for split, one in self.scanned.items()
        }
        made = assembled(tables, self.options, own)
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
        odd.warn(sink, where)
        declared = rules_by_name([c.name for c in columns], self.options, Sink())
        warn_of_columns(sample, columns, sink, where, declared)
        cut = UNSPLIT in self.scanned and self._fractions is not None
        return Dataset(name, columns, splits, cut, made.rules, made.left_out)

    @property
    def _fractions(self) -> Fractions | None:
        return self.options.split if self.options.split is not None else self.default_split

    def _splitting(self, made: Assembled) -> Splitting:
        """Return which rows go to which split, and which of them are sampled."""
        fractions = self._fractions or (1.0, 0.0, 0.0)
        seed = self.options.split_seed
        size = rows_of_partition(self.options.partition_rows, len(made.columns))
        totals = {split: sum(one.rows.values()) for split, one in self.scanned.items()}
        shares = dict.fromkeys(self.scanned, 1.0)
        if UNSPLIT in self.scanned:
            pairs = zip(SPLITS, fractions, strict=True)
            shares = {split: fraction for split, fraction in pairs if fraction > 0.0}
        before, places = dict.fromkeys(shares, 0), []
        for table, one in self.scanned.items():
            begin = 0
            for shard, rows in one.rows.items():
                places.append(Place(shard, table, rows, begin, dict(before)))
                counts = {table: rows}
                if table == UNSPLIT:
                    counts = _counts(fractions, seed, begin, rows)
                for split in shares.keys() & counts.keys():
                    before[split] += counts[split]
                begin += rows
        sizes = {
            split: Sizes.of(size, totals.get(split, totals.get(UNSPLIT, 0)), share)
            for split, share in shares.items()
        }
        encoding = Encoding(
            {split: one.layout for split, one in self.scanned.items()},
            made.columns,
            made.rules,
            fractions,
            seed,
            {split: own.share for split, own in sizes.items()},
            self.source.changed,
        )
        return Splitting(places, encoding, before, sizes)

    def _has_rows(self, how: Splitting, sink: Sink) -> bool:
        """Return whether each split has rows; report those that have none (E306)."""
        for split, rows in how.rows.items():
            if rows == 0:
                message = f"the {split} split gets no rows of {sum(how.rows.values()):,}"
                hint = "give this split a larger fraction, or 0 to leave it out"
                sink.error("E306", message, self.options.span_of("split"), help=hint)
        return all(how.rows.values())


def _counts(fractions: Fractions, seed: int, begin: int, rows: int) -> dict[str, int]:
    """Return how many of these rows of a table go to each split."""
    if fractions[0] == 1.0:
        return {SPLITS[0]: rows}
    found = np.zeros(len(SPLITS), dtype=np.int64)
    for start in range(begin, begin + rows, _DRAWN_ROWS):
        some = min(_DRAWN_ROWS, begin + rows - start)
        where = splits_of_rows(fractions, seed, start, some)
        found += np.bincount(where, minlength=len(SPLITS))
    return dict(zip(SPLITS, found.tolist(), strict=True))
