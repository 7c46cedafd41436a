"""Who computes something on each shard of a table; here, this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol

from spnc.data.frame_shards import FrameSource
from spnc.data.odd_cells import OddCells
from spnc.data.part_files import PartFolder
from spnc.data.parted import (
    PartedTable,
    Partitioning,
    Rows,
    Sizes,
    as_stored,
    in_memory,
    sampling_stream,
)
from spnc.data.shards import Changed, Encoded, Encoding, Place, Report, encode
from spnc.data.table import Table
from spnc.diagnostics import Diagnostic, InputError, counted

OnShard = Callable[..., Any]  # called with a shard and more
Own = Sequence[tuple[int, tuple[Any, ...]]]  # numbers of shards, with arguments for each


class ShardError(InputError):
    """Some shards cannot be used."""


class ShardSource(Protocol):
    """The shards of a dataset, wherever they are read."""

    changed: Changed
    # The numbers of the shards of each table by split, "all" if its rows are to be split; nothing
    # if all shards are one such table.
    splits: Mapping[str, range]

    def tasks(self) -> list[Any]:
        """Return the shards, or what Dask computes to them."""
        ...

    def report_failed(self, error: BaseException) -> NoReturn:
        """Stop with a diagnostic if the rows cannot be computed."""
        ...


@dataclass(frozen=True, eq=False)
class Splitting:
    """How encoded shards become the splits of a dataset.

    `rows` are the numbers of rows by split, `sizes` say how they are cut.
    """

    places: Sequence[Place]
    encoding: Encoding
    rows: Mapping[str, int]
    sizes: Mapping[str, Sizes]


class ShardWork(Protocol):
    """Computes something on shards; the results do not depend on where."""

    @property
    def shards(self) -> int:
        """The number of shards."""
        ...

    def each(self, function: OnShard, own: Own, *common: Any) -> Iterator[Any]:
        """Yield function(shard, *own arguments, *common) for each of these shards, in order."""
        ...

    def splits(self, how: Splitting, odd: OddCells, seen: Callable[[int], None]) -> dict[str, Rows]:
        """Return the encoded rows of each split. Raises `InputError` if cells do not fit.

        `odd` collects the texts that count as missing. `seen` is called with the number of shards
        that have been encoded.
        """
        ...

    def whole(self, frame: Any) -> Any:
        """Return all rows of a Dask frame, as pandas has them."""
        ...


class ShardsHere:
    """Computes in this process, shard by shard, with Dask's own scheduler."""

    def __init__(self, source: FrameSource) -> None:
        self._source = source
        self._tasks = self._tried(source.tasks)

    @property
    def shards(self) -> int:
        """The number of shards."""
        return len(self._tasks)

    def each(self, function: OnShard, own: Own, *common: Any) -> Iterator[Any]:
        """Yield what a function returns for each of these shards."""
        for shard, arguments in own:
            yield function(self._tried(self._tasks[shard].compute), *arguments, *common)

    def splits(self, how: Splitting, odd: OddCells, seen: Callable[[int], None]) -> dict[str, Rows]:
        """Return the encoded rows of each split; partitions are in a temporary folder."""
        folder = PartFolder.temporary()
        cutters = {split: _cutter(how, split, folder) for split in how.rows}
        reports = []
        own = [(place.shard, (place,)) for place in how.places]
        found: Encoded
        for found in self.each(encode, own, how.encoding):
            reports.append(found.report)
            for split, table in found.tables.items():
                cutters[split].add(table)
            seen(len(reports))
        judge(reports, odd)
        return {split: _stored(cutter.finished()) for split, cutter in cutters.items()}

    def whole(self, frame: Any) -> Any:
        """Return all rows of a Dask frame."""
        return self._tried(frame.compute)

    def _tried(self, call: Callable[[], Any]) -> Any:
        """Return what Dask computes; stop with a diagnostic if that fails."""
        try:
            return call()
        except Exception as error:  # whatever the functions raise that the frame is made with
            self._source.report_failed(error)


def _cutter(how: Splitting, split: str, folder: PartFolder) -> Partitioning:
    """Return what cuts the rows of a split into partitions."""
    rng = sampling_stream(how.encoding.split_seed, split)
    keep = lambda table: folder.keep(split, table)  # noqa: E731
    return Partitioning(how.sizes[split], rng, keep)


def _stored(rows: Rows) -> Rows:
    """Return rows whose arrays lie in memory as those of files do."""
    sample: Table = as_stored(in_memory(rows))
    if isinstance(rows, PartedTable):
        return PartedTable(rows.parts, sample, rows.rows, rows.total)
    return sample


def judge(reports: Sequence[Report], odd: OddCells) -> None:
    """Collect the odd cells of shards. Raises `ShardError` if one of them has problems."""
    for report in reports:
        odd.extend(report.odd)
    stop_at_problems([report.problems for report in reports])


def stop_at_problems(found: Sequence[tuple[Diagnostic, ...]]) -> None:
    """Raise `ShardError` with the problems of the first shard that has any."""
    bad = [problems for problems in found if problems]
    if not bad:
        return
    first, *rest = bad[0]
    if len(bad) > 1:
        note = f"{counted(len(bad) - 1, 'more partition')} of the frame cannot be used"
        first = replace(first, notes=(*first.notes, note))
    raise ShardError((first, *rest))
