"""Large tables in files as shards, which are read on the workers of a cluster.

A shard is a few row groups of a Parquet file, or any other file as a whole. Readers here handle
files without problems, as those of `pieces` do: at any sign of one, the process that trains reads
the files, and reports all problems.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise, starmap
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet

from spnc.data.files import file_type
from spnc.data.options import DataOptions
from spnc.data.pieces import PiecewiseError, file_pieces, form_of, ordered
from spnc.data.raw_table import RawTable
from spnc.data.several_files import TableFiles, table_name
from spnc.data.shards import Changed, Layout
from spnc.data.text_forms import TextForm
from spnc.data.text_rules import TextRules
from spnc.diagnostics import Sink

# A shard takes a few milliseconds to be sent and received, and this many cells of a Parquet file
# take longer to be read; on the other hand, all workers should have some.
_SHARD_CELLS = 1 << 22


@dataclass(frozen=True)
class Stamp:
    """A file, and what changes when it is written again."""

    path: Path  # absolute: workers may be in other folders
    size: int
    modified: int

    @staticmethod
    def of(path: Path) -> Stamp:
        """Return the stamp of a file as it is now. Raises OSError."""
        about = path.stat()
        return Stamp(path.absolute(), about.st_size, about.st_mtime_ns)

    @property
    def is_current(self) -> bool:
        """Whether this process sees the same file."""
        try:
            return Stamp.of(self.path) == self
        except OSError:
            return False


@dataclass(frozen=True, eq=False)
class FileShard:
    """Rows of a file: those of some row groups of a Parquet file, or all if there are none."""

    stamp: Stamp
    form: TextForm | None
    rules: TextRules
    groups: tuple[int, ...] | None
    changed: Changed

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"`{self.stamp.path.name}`"

    def pieces(
        self, layout: Layout | None, sink: Sink, begin: int = 0, end: int | None = None
    ) -> Iterator[RawTable]:
        """Yield the rows from `begin` on and before `end`, in pieces; report a changed file."""
        if not self.stamp.is_current:
            self.changed.report(sink, f"{self.name} is not the file that it was, or not there")
            return
        rules = self.rules
        if layout is not None:
            rules = layout.reading or rules.with_texts(layout.texts)
        place = 0
        try:
            for raw in file_pieces(self.stamp.path, self.form, rules, groups=self.groups):
                table = raw
                if layout is not None:
                    names = layout.names if layout.is_named else None
                    table = ordered(raw, names, len(layout.names))
                first, place = place, place + table.rows
                last = place if end is None else min(place, end)
                if first >= begin and last == place:
                    yield table
                elif max(first, begin) < last:
                    yield table.sliced(slice(max(first, begin) - first, last - first))
                if end is not None and place >= end:
                    return
        except (PiecewiseError, OverflowError):
            self.changed.report(sink, f"{self.name} cannot be read piece by piece")


class FileSource:
    """The shards of the tables in files, by split."""

    def __init__(self, path: Path, shards: Mapping[str, list[FileShard]]) -> None:
        """`path` is what the first table is called."""
        self.name, self.where = table_name(path), path.as_posix()
        self._shards = [each for own in shards.values() for each in own]
        self.changed = self._shards[0].changed
        bounds = [0, *accumulate(len(own) for own in shards.values())]
        places = starmap(range, pairwise(bounds))
        self.splits: Mapping[str, range] = dict(zip(shards, places, strict=True))

    @property
    def stamps(self) -> list[Stamp]:
        """The files."""
        return list(dict.fromkeys(each.stamp for each in self._shards))

    def tasks(self) -> list[Any]:
        """Return the shards, which workers read."""
        return [*self._shards]

    def report_failed(self, error: BaseException) -> NoReturn:
        """Raise an error, which no file can be the reason for."""
        raise error


def file_source(tables: Mapping[str, TableFiles], options: DataOptions) -> FileSource | None:
    """Return the shards of the tables in files; None if there is a single one, or a problem."""
    path = next(iter(tables.values())).path
    name, help = path.as_posix(), "leave the files as they are while they are used, and start again"
    changed = Changed("E516", f"`{name}`", name, help)
    rules = options.text_rules
    shards: dict[str, list[FileShard]] = {}
    try:
        for split, table in tables.items():
            form = form_of(table.files, rules)
            shards[split] = [
                FileShard(Stamp.of(file), form, rules, groups, changed)
                for file in table.files
                for groups in _groups(file)
            ]
    except (PiecewiseError, OSError, pa.ArrowException):
        return None
    if sum(map(len, shards.values())) < 2:
        return None
    return FileSource(path, shards)


def _groups(file: Path) -> list[tuple[int, ...] | None]:
    """Return the row groups of a Parquet file by shard; None stands for all of another file."""
    if file_type(file) != (".parquet", ""):
        return [None]
    found: list[tuple[int, ...] | None] = []
    with pa.parquet.ParquetFile(file) as opened:
        about = opened.metadata
        own: list[int] = []
        cells = 0
        for group in range(about.num_row_groups):
            own.append(group)
            cells += about.row_group(group).num_rows * about.num_columns
            if cells >= _SHARD_CELLS:
                found.append(tuple(own))
                own, cells = [], 0
    return [*found, tuple(own)] if own else found
