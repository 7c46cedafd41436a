"""Files with more rows than a partition holds: encoded piece by piece, in partitions on disk.

A table in one file or in several is read twice. The first time it is scanned for what its columns
are; the second time its rows are encoded, split at random if the spec says so, and written as
partitions. Memory holds a partition of each split, and a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from spnc.common.limits import LimitError
from spnc.common.observer import Progress
from spnc.common.rng import random_stream
from spnc.data.arrow_files import ArrowError, arrow_rows
from spnc.data.assembly import Assembled, assembled, with_scales
from spnc.data.column_warnings import warn_of_columns
from spnc.data.compression import CompressionError, decompressing
from spnc.data.dataset import SPLITS, UNSPLIT, Dataset
from spnc.data.declared import rules_by_name
from spnc.data.files import TEXT_TYPES, file_type
from spnc.data.odd_cells import OddCells
from spnc.data.options import DataOptions
from spnc.data.part_files import PartFolder
from spnc.data.parted import (
    Partitioning,
    Rows,
    Sizes,
    in_memory,
    rows_of_partition,
    sampling_stream,
)
from spnc.data.pieces import PiecewiseError, array_layout, form_of, raw_pieces, read_pieces
from spnc.data.scanning import MixedColumnsError, Scanned, judged, scan
from spnc.data.several_files import TableFiles, table_name
from spnc.data.sources import file_path, split_scheme
from spnc.data.table import Table
from spnc.diagnostics import Sink

_COUNTED_BYTES = 1 << 22  # of text in which rows are counted at a time
_MOST_READINGS = 4  # of a file in which columns turn out to hold texts
_OWN_WARNINGS = ("W309",)  # of odd cells, which are counted when all rows are read


def large_files(options: DataOptions) -> dict[str, TableFiles]:
    """Return the files of the data by split if one of the tables is large; otherwise nothing."""
    tables = _files(options)
    try:
        for table in tables.values():
            if _is_large(table.files, options):
                return tables
    except (PiecewiseError, CompressionError, LimitError, *ArrowError):
        pass
    return {}


def load_large(
    options: DataOptions,
    tables: Mapping[str, TableFiles],
    sink: Sink,
    folder: PartFolder,
    *,
    progress: Progress | None = None,
    default_split: tuple[float, float, float] | None = None,
) -> Dataset | None:
    """Return a dataset whose splits may be in partitions; None if its files are to be read whole.

    That is so if there is any problem with them: the readers of whole files find all problems.
    """
    try:
        return _Loading(options, tables, folder, progress, default_split).dataset(sink)
    except (PiecewiseError, OverflowError):
        return None


def _files(options: DataOptions) -> dict[str, TableFiles]:
    """Return the files by split; nothing if the data is not in files."""
    if options.is_given:
        return {}
    fields = {UNSPLIT: "source"} if options.source is not None else {s: s for s in SPLITS}
    found = {}
    for split, field in fields.items():
        text, base = getattr(options, field), options.base(field)
        if text is not None:
            if split_scheme(text, base) is not None:
                return {}
            table = TableFiles.of(file_path(text, base))
            if table is None:
                return {}
            found[split] = table
    return found


def _is_large(files: Sequence[Path], options: DataOptions) -> bool:
    """Whether files have more rows than a partition; a text has about as many as lines."""
    most, rows = options.partition_rows, 0
    form = form_of(files, options.text_rules)
    # A table in one file has one header.
    repeated = 1 if form is not None and form.is_header else 0
    for file in files:
        found = _rows(file, most - rows)
        if found is None:
            return False
        rows += found - (repeated if rows else 0)
        if rows > most:
            return True
    return False


def _rows(path: Path, enough: int) -> int | None:
    """Return the number of rows of a file, or one above `enough`; None if it is read whole."""
    kind, compressed = file_type(path)
    if kind == ".parquet" and not compressed:
        with pa.parquet.ParquetFile(path) as file:
            return int(file.metadata.num_rows)
    if kind in TEXT_TYPES:
        with path.open("rb") as file, decompressing(file, compressed) as stream:
            lines, block, last = 0, b"", b""
            while lines <= enough and (block := stream.read(_COUNTED_BYTES)):
                lines += block.count(b"\n")
                last = block
        return lines + (not block and last[-1:] not in (b"", b"\n"))
    if kind == ".npy" and not compressed:
        with path.open("rb") as file:
            return array_layout(file, None)[0]
    if kind in (".arrow", ".feather", ".ipc") and not compressed:
        return arrow_rows(path)
    return None


@dataclass(frozen=True, eq=False)
class _Loading:
    """One large dataset on its way from files to partitions."""

    options: DataOptions
    tables: Mapping[str, TableFiles]
    folder: PartFolder
    progress: Progress | None
    default_split: tuple[float, float, float] | None

    def dataset(self, sink: Sink) -> Dataset:
        """Return the dataset. Raises `PiecewiseError` at the first problem."""
        scanned = {name: self._scanned(table) for name, table in self.tables.items()}
        own = Sink()
        tables = {name: judged(one.table, self.options.weight) for name, one in scanned.items()}
        made = assembled(tables, self.options, own)
        if made is None or own.failed:
            raise PiecewiseError
        odd = OddCells()
        splits = self._splits(made, {name: one.rows for name, one in scanned.items()}, odd)
        columns = with_scales(made.columns, in_memory(splits["train"]), self.options)
        sink.diagnostics += [d for d in own.diagnostics if d.code not in _OWN_WARNINGS]
        first = next(iter(self.tables.values())).path
        odd.warn(sink, first.as_posix())
        declared = rules_by_name([c.name for c in columns], self.options, Sink())
        sample = in_memory(splits["train"])
        warn_of_columns(sample, columns, sink, first.as_posix(), declared)
        cut = UNSPLIT in self.tables and self._fractions is not None
        return Dataset(table_name(first), columns, splits, cut, made.rules, made.left_out)

    def _scanned(self, table: TableFiles) -> Scanned:
        """Return what the columns of a table hold."""
        rules = self.options.text_rules
        size = self.options.partition_rows
        for _ in range(_MOST_READINGS):
            pieces = raw_pieces(table.files, rules, progress=self.progress)
            try:
                return scan(pieces, table.path.as_posix(), size)
            except MixedColumnsError as error:
                rules = replace(rules, texts=rules.texts | error.names)
        raise PiecewiseError

    @property
    def _fractions(self) -> tuple[float, float, float] | None:
        return self.options.split if self.options.split is not None else self.default_split

    def _splits(self, made: Assembled, rows: Mapping[str, int], odd: OddCells) -> dict[str, Rows]:
        """Return the rows of each split."""
        cutters: dict[str, Partitioning] = {}
        size = rows_of_partition(self.options.partition_rows, len(made.columns))

        def cutter(split: str, rows: int, fraction: float = 1.0) -> Partitioning:
            rng = sampling_stream(self.options.split_seed, split)
            keep = lambda table: self.folder.keep(split, table)  # noqa: E731
            return Partitioning(Sizes.of(size, rows, fraction), rng, keep)

        for name, table in self.tables.items():
            pieces = read_pieces(table.files, made.columns, made.rules, odd, progress=self.progress)
            if name != UNSPLIT:
                cutters[name] = cutter(name, rows[name])
                for piece in pieces:
                    cutters[name].add(piece)
                continue
            fractions = self._fractions or (1.0, 0.0, 0.0)
            for split, fraction in zip(SPLITS, fractions, strict=True):
                if fraction > 0.0:
                    cutters[split] = cutter(split, rows[name], fraction)
            for split, piece in _divided(pieces, fractions, self.options.split_seed):
                if piece.rows:
                    cutters[split].add(piece)
        if any(one.rows == 0 for one in cutters.values()):
            raise PiecewiseError  # a split without rows, which is reported
        return {split: one.finished() for split, one in cutters.items()}


def _divided(
    pieces: Iterator[Table], fractions: tuple[float, ...], seed: int
) -> Iterator[tuple[str, Table]]:
    """Yield the rows of each piece that go to each split, drawn with these probabilities."""
    rng = random_stream(seed, "rows of splits")
    bounds = np.cumsum(fractions)[:-1]
    for piece in pieces:
        if fractions[0] == 1.0:
            yield SPLITS[0], piece
            continue
        where = np.searchsorted(bounds, rng.random(piece.rows), side="right")
        for number, split in enumerate(SPLITS):
            yield split, piece.take(np.flatnonzero(where == number))
