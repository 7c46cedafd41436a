"""Shards on a cluster: their rows are encoded on workers, and stay there as partitions.

The scheduler knows how each partition is made from shards, and makes it again if a worker was
lost. So files are read again then, and a frame is computed again, unless it was persisted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

from spnc.cluster.attempts import Attempts, Tasks
from spnc.cluster.shard_tasks import (
    ChangedRowsError,
    OwnWorkError,
    PartElsewhere,
    Shared,
    about,
    applied,
    checked,
    exists,
    partition,
    report_of,
    together,
)
from spnc.common.tree_sum import additions
from spnc.data.odd_cells import OddCells
from spnc.data.parted import PartedTable, PartInMemory, Rows, as_stored, stacked
from spnc.data.shard_work import OnShard, Own, ShardSource, Splitting, judge
from spnc.data.shards import Report, encode
from spnc.data.table import Table

_AT_A_TIME = 256  # shards that are submitted together, so that their results need little memory


class DaskShards:
    """Computes on the workers of a cluster."""

    def __init__(self, attempts: Attempts, source: ShardSource) -> None:
        self.attempts, self.client, self.source = attempts, attempts.client, source
        self._published: set[str] = set()
        self._tasks: list[Any] = self.tried(lambda _: source.tasks())

    @property
    def shards(self) -> int:
        """The number of shards."""
        return len(self._tasks)

    def each(self, function: OnShard, own: Own, *common: Any) -> Iterator[Any]:
        """Yield what a function returns for each of these shards, in order."""
        for begin in range(0, len(own), _AT_A_TIME):
            some = own[begin : begin + _AT_A_TIME]

            def work(tasks: Tasks, some: Own = some) -> Any:
                return self.results(self.submitted(tasks, function, some, *common))

            yield from self.tried(work)

    def submitted(self, tasks: Tasks, function: OnShard, own: Own, *common: Any) -> list[Any]:
        """Return the futures of a function of each of these shards."""
        from dask.delayed import delayed

        call = delayed(applied, pure=False)
        # It is sent once, not with every task.
        shared = delayed(Shared(function, common), traverse=False)
        found: list[Any] = self.client.compute(
            [call(self._tasks[shard], arguments, shared) for shard, arguments in own],
            **tasks.place,
        )
        return found

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of tasks. Raises `_TaskError` if one of them has failed."""
        from distributed import KilledWorker

        try:
            found: list[Any] = self.client.gather(list(futures))
        except KilledWorker:
            raise
        except Exception as error:
            if any(future.status == "error" for future in futures):
                raise _TaskError(error) from error
            raise
        return found

    def splits(self, how: Splitting, odd: OddCells, seen: Callable[[int], None]) -> dict[str, Rows]:
        """Return the encoded rows of each split; partitions stay on workers."""
        encoded = _EncodedShards(self, how)
        reports = self.tried(lambda tasks: encoded.reports(tasks, seen), encoded.forget)
        judge(reports, odd)
        found: dict[str, Rows] = {}
        for split, rows in how.rows.items():
            own = [report.samples[split] for report in reports if split in report.samples]
            sample = as_stored(stacked(own))
            if rows < how.sizes[split].each and how.sizes[split].share >= 1.0:
                found[split] = sample
                continue

            def work(tasks: Tasks, split: str = split) -> Any:
                return encoded.parts(tasks, split)

            parts, total = self.tried(work, encoded.forget)
            if not sample.rows:
                sample = parts[0].table().take(slice(0, 1))
            found[split] = PartedTable(parts, sample, rows, total)
        encoded.forget()  # the scheduler keeps how they are made, for partitions that are lost
        return found

    def publish(self, name: str, rows: Any) -> None:
        """Let other processes find the rows of a partition by a name."""
        self.client.publish_dataset(rows, name=name, override=True)
        self._published.add(name)

    def close(self) -> None:
        """Let go of the partitions that other processes can find."""
        names, self._published = self._published, set()
        with suppress(Exception):  # the cluster may be gone
            for name in names:
                self.client.unpublish_dataset(name)

    def whole(self, frame: Any) -> Any:
        """Return all rows of a Dask frame."""
        [found] = self.tried(
            lambda tasks: self.results([self.client.compute(frame, **tasks.place)])
        )
        return found

    def tried(self, work: Callable[[Tasks], Any], forget: Callable[[], None] = lambda: None) -> Any:
        """Return the result of work on shards; stop with a diagnostic if that fails."""
        try:
            return self.attempts.at(work, forget)
        except _TaskError as error:
            failed = error.error
        if isinstance(failed, ChangedRowsError):
            failed.stop()
        if isinstance(failed, OwnWorkError):
            raise failed
        self.source.report_failed(failed)


class _TaskError(Exception):
    """A task has failed, and not because a worker was lost."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class _EncodedShards:
    """The encoded shards on workers, and the partitions that they are cut into."""

    def __init__(self, work: DaskShards, how: Splitting) -> None:
        self.work, self.how, self.changed = work, how, how.encoding.changed
        self._futures: list[Any] = []

    def futures(self, tasks: Tasks) -> list[Any]:
        """Return the encoded shards, as they are or will be on workers."""
        if not self._futures:
            own = [(place.shard, (place,)) for place in self.how.places]
            self._futures = self.work.submitted(tasks, encode, own, self.how.encoding)
        return self._futures

    def forget(self) -> None:
        """Let go of the encoded shards; if they are needed again, they are made again."""
        self._futures = []

    def reports(self, tasks: Tasks, seen: Callable[[int], None]) -> list[Report]:
        """Return the reports of all shards."""
        waiting = [tasks.submit(report_of, one) for one in self.futures(tasks)]
        found: list[Report] = []
        for one in waiting:
            found += self.work.results([one])
            seen(len(found))
        return found

    def parts(self, tasks: Tasks, split: str) -> tuple[Sequence[Any], float]:
        """Return the partitions of a split, and their weight.

        There is a single one if all together are not more than one.
        """
        sizes = self.how.sizes[split]
        count = -(-self.how.rows[split] // sizes.each)
        futures = [self.part(tasks, split, number) for number in range(count)]
        merged = self._merged(tasks, futures, sizes.most)
        facts = self.work.results([tasks.submit(about, f) for f in futures])
        total = 0.0
        for *_, own in facts:
            total += own
        if merged is not None:
            return (PartInMemory(merged),), total
        found = [PartOnWorkers(self, split, n, *pair) for n, (*pair, _) in enumerate(facts)]
        for part, future in zip(found, futures, strict=True):
            part.hold(tasks, future)
        return tuple(found), total

    def part(self, tasks: Tasks, split: str, number: int) -> Any:
        """Return the future of a partition."""
        each = self.how.sizes[split].each
        begin = number * each
        end = min(begin + each, self.how.rows[split])
        shards, cuts = [], []
        for place, future in zip(self.how.places, self.futures(tasks), strict=True):
            start = place.before[split]
            stop = self._end(split, place.shard)
            if start < end and stop > begin:
                shards.append(future)
                cuts.append((max(begin, start) - start, min(end, stop) - start))
        return tasks.submit(partition, split, self.changed, cuts, shards)

    def _end(self, split: str, shard: int) -> int:
        """Return how many rows of a split there are up to the end of a shard."""
        if shard + 1 < len(self.how.places):
            return self.how.places[shard + 1].before[split]
        return self.how.rows[split]

    def _merged(self, tasks: Tasks, parts: Sequence[Any], most: int) -> Table | None:
        """Return the distinct rows of all partitions if one has room for them."""
        if len(parts) > 1 and not self._fits(tasks, tasks.submit(together, *parts[:2], most)):
            return None  # without a look at the others
        terms = list(parts)
        for first, second in additions(len(terms)):
            terms[first] = tasks.submit(together, terms[first], terms[second], most)
        return self._fetched(terms[0]) if self._fits(tasks, terms[0]) else None

    def _fits(self, tasks: Tasks, table: Any) -> bool:
        """Return whether a table that was put together has not too many rows."""
        [found] = self.work.results([tasks.submit(exists, table)])
        return bool(found)

    def _fetched(self, future: Any) -> Table:
        [found] = self.work.results([future])
        table: Table = found
        return table


class PartOnWorkers:
    """A partition that is on a worker."""

    def __init__(
        self, encoded: _EncodedShards, split: str, number: int, rows: int, digest: str
    ) -> None:
        self._encoded, self._split, self._number = encoded, split, number
        self.rows, self.digest = rows, digest
        self._future: Any = None
        self._name = f"spnc-{uuid4().hex}"

    def __reduce__(self) -> tuple[Any, ...]:
        return PartElsewhere, (self._name, self.rows, self.digest)

    def hold(self, tasks: Tasks, rows: Any) -> None:
        """Keep rows that are on a worker, and that are checked if they have to be made again."""
        self._future = tasks.submit(checked, rows, self.digest, self._encoded.changed)
        self._encoded.work.publish(self._name, self._future)

    def future(self, tasks: Tasks) -> Any:
        """Return the rows, as they are or will be on a worker."""
        if self._future is None:
            self.hold(tasks, self._encoded.part(tasks, self._split, self._number))
        return self._future

    def forget(self) -> None:
        """Let go of the rows; if they are needed again, they are made again."""
        self._future = None
        self._encoded.forget()

    def release(self) -> None:
        """Let go of what the rows were made from."""
        self._encoded.forget()

    def table(self) -> Table:
        """Return the rows."""
        work = self._encoded.work
        [found] = work.tried(lambda tasks: work.results([self.future(tasks)]), self.forget)
        table: Table = found
        return table
