"""Files with more rows than a partition holds: encoded piece by piece, in partitions on disk.

A file is read twice. The first time it is scanned for what its columns are; the second time its
rows are encoded, split at random if the spec says so, and written as partitions. Memory holds a
partition of each split, and a sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from spnc.data.parted import Partitioning, Rows, in_memory, rows_of_partition, sampling_stream
from spnc.data.pieces import PiecewiseError, array_layout, raw_pieces, read_pieces
from spnc.data.scanning import MixedColumnsError, Scanned, scan
from spnc.data.sources import file_path, split_scheme
from spnc.data.table import Table
from spnc.diagnostics import Sink

_COUNTED_BYTES = 1 << 22  # of text in which rows are counted at a time
_MOST_READINGS = 4  # of a file in which columns turn out to hold texts
_OWN_WARNINGS = ("W309",)  # of odd cells, which are counted when all rows are read


def large_files(options: DataOptions) -> dict[str, Path]:
    """Return the files of the data by split if one of them is large; otherwise nothing."""
    files = _files(options)
    try:
        if any(_is_large(file, options.partition_rows) for file in files.values()):
            return files
    except (PiecewiseError, CompressionError, LimitError, *ArrowError):
        pass
    return {}


def load_large(
    options: DataOptions,
    files: Mapping[str, Path],
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
        return _Loading(options, files, folder, progress, default_split).dataset(sink)
    except (PiecewiseError, OverflowError):
        return None


def _files(options: DataOptions) -> dict[str, Path]:
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
            found[split] = file_path(text, base)
    return found if all(path.is_file() for path in found.values()) else {}


def _is_large(path: Path, rows: int) -> bool:
    """Whether a file has more than this many rows, which a text has about as many as lines."""
    kind, compressed = file_type(path)
    if kind == ".parquet" and not compressed:
        with pa.parquet.ParquetFile(path) as file:
            return bool(file.metadata.num_rows > rows)
    if kind in TEXT_TYPES:
        if not compressed and path.stat().st_size <= 2 * rows:
            return False
        with path.open("rb") as file, decompressing(file, compressed) as stream:
            lines = 0
            while lines <= rows and (block := stream.read(_COUNTED_BYTES)):
                lines += block.count(b"\n")
        return lines > rows
    if kind == ".npy" and not compressed:
        with path.open("rb") as file:
            return array_layout(file, None)[0] > rows
    if kind in (".arrow", ".feather", ".ipc") and not compressed:
        return arrow_rows(path) > rows
    return False


@dataclass(frozen=True, eq=False)
class _Loading:
    """One large dataset on its way from files to partitions."""

    options: DataOptions
    files: Mapping[str, Path]
    folder: PartFolder
    progress: Progress | None
    default_split: tuple[float, float, float] | None

    def dataset(self, sink: Sink) -> Dataset:
        """Return the dataset. Raises `PiecewiseError` at the first problem."""
        scanned = {name: self._scanned(path) for name, path in self.files.items()}
        own = Sink()
        tables = {name: one.table for name, one in scanned.items()}
        made = assembled(tables, self.options, own)
        if made is None or own.failed:
            raise PiecewiseError
        odd = OddCells()
        splits = self._splits(made, {name: one.rows for name, one in scanned.items()}, odd)
        columns = with_scales(made.columns, in_memory(splits["train"]), self.options)
        sink.diagnostics += [d for d in own.diagnostics if d.code not in _OWN_WARNINGS]
        odd.warn(sink)
        first = next(iter(self.files.values()))
        declared = rules_by_name([c.name for c in columns], self.options, Sink())
        sample = in_memory(splits["train"])
        warn_of_columns(sample, columns, sink, first.as_posix(), declared)
        cut = UNSPLIT in self.files and self._fractions is not None
        return Dataset(first.name, columns, splits, cut, made.rules, made.left_out)

    def _scanned(self, path: Path) -> Scanned:
        """Return what the columns of a file hold."""
        rules = self.options.text_rules
        size = self.options.partition_rows
        for _ in range(_MOST_READINGS):
            pieces = raw_pieces(path, rules, progress=self.progress)
            try:
                return scan(pieces, path.as_posix(), size)
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

        def cutter(split: str, expected: float) -> Partitioning:
            rng = sampling_stream(self.options.split_seed, split)
            keep = lambda table: self.folder.keep(split, table)  # noqa: E731
            return Partitioning(size, size / max(1.0, expected), rng, keep)

        for name, path in self.files.items():
            pieces = read_pieces(path, made.columns, made.rules, odd, progress=self.progress)
            if name != UNSPLIT:
                cutters[name] = cutter(name, rows[name])
                for piece in pieces:
                    cutters[name].add(piece)
                continue
            fractions = self._fractions or (1.0, 0.0, 0.0)
            for split, fraction in zip(SPLITS, fractions, strict=True):
                if fraction > 0.0:
                    cutters[split] = cutter(split, rows[name] * fraction)
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
