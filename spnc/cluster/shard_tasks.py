"""What workers do with the shards of a table, and with partitions made from them."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from spnc.data.parted import as_stored, digest_of, stacked
from spnc.data.shard_work import OnShard
from spnc.data.shards import Changed, Encoded, Report
from spnc.data.table import Table
from spnc.diagnostics import Sink

_PATIENCE = 30.0  # seconds in which rows that are on another worker come from there


class OwnWorkError(Exception):
    """A function of spnc has failed on a worker, and not one that a frame is made with."""


class ChangedRowsError(Exception):
    """Rows are not what they were when they were read before."""

    def __init__(self, changed: Changed, what: str) -> None:
        super().__init__(changed, what)
        self._changed, self._what = changed, what

    def stop(self) -> NoReturn:
        """Stop with a diagnostic."""
        sink = Sink()
        self._changed.report(sink, self._what)
        sink.stop()
        raise AssertionError from self


@dataclass(frozen=True, eq=False)
class Shared:
    """A function of shards, with the arguments that all shards have in common."""

    function: OnShard
    arguments: tuple[Any, ...]


def applied(shard: Any, own: tuple[Any, ...], shared: Shared) -> Any:
    """Return what a function returns for a shard."""
    try:
        return shared.function(shard, *own, *shared.arguments)
    except Exception as error:
        raise OwnWorkError(traceback.format_exc()) from error


def report_of(shard: Encoded) -> Report:
    """Return the report about an encoded shard."""
    return shard.report


def partition(
    split: str, changed: Changed, cuts: Sequence[tuple[int, int]], shards: Sequence[Encoded]
) -> Table:
    """Return the distinct rows of a partition, which has some rows of each of these shards."""
    for shard in shards:
        if shard.report.problems:
            raise ChangedRowsError(changed, shard.report.problems[0].message)
    pairs = zip(cuts, shards, strict=True)
    rows = [shard.tables[split].take(slice(begin, end)) for (begin, end), shard in pairs]
    return as_stored(stacked(rows).distinct())


def about(table: Table) -> tuple[int, str, float]:
    """Return the number of rows of a partition, their digest, and their weight."""
    return table.rows, digest_of(table), table.total


def checked(table: Table, digest: str, changed: Changed) -> Table:
    """Return a partition. Raises `ChangedRowsError` if it was made again and has other rows."""
    if digest_of(table) != digest:
        raise ChangedRowsError(changed, "a partition that was lost with a worker was made again")
    return table


def together(one: Table | None, other: Table | None, size: int) -> Table | None:
    """Return the distinct rows of two tables; None if they are more than `size`."""
    if one is None or other is None:
        return None
    found = stacked([one, other]).distinct()
    return as_stored(found) if found.rows <= size else None


def exists(table: Table | None) -> bool:
    """Return whether there is a table."""
    return table is not None


@dataclass(frozen=True, eq=False)
class PartElsewhere:
    """A partition on a worker, as another worker knows it."""

    name: str  # under which its rows are published
    rows: int
    digest: str

    def table(self) -> Table:
        """Return the rows."""
        from distributed import get_client, worker_client

        client = get_client()
        try:
            found: Table = client.get_dataset(self.name).result(timeout=_PATIENCE)
        except TimeoutError:
            # They have to be made again, perhaps by this thread.
            with worker_client() as client:
                found = client.get_dataset(self.name).result()
        return found
