"""Partitions on the workers of a Dask cluster, passes and other sums over them.

Parameters go out, and what is summed over rows comes back, added up on the workers in a fixed
order. So the result depends neither on the number of workers nor on which of them died.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cached_property
from operator import add
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import spnc
from spnc.backends import Backend
from spnc.backends.parted import SummedBatch, added_counts
from spnc.cluster import worker
from spnc.cluster.attempts import Attempts, Tasks
from spnc.cluster.carried import Carried
from spnc.cluster.dask_piles import DaskPiles
from spnc.cluster.dask_shards import DaskShards, PartOnWorkers
from spnc.cluster.holders import Held, balanced
from spnc.cluster.joining import Connection
from spnc.common.observer import Observer
from spnc.data.file_shards import Stamp
from spnc.data.parted import PartedTable
from spnc.data.piles import Piles
from spnc.data.shard_work import ShardSource
from spnc.data.table import Table
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts, Score

Found = TypeVar("Found")


class DaskCluster:
    """A cluster that computes passes over tables in partitions."""

    def __init__(self, connection: Connection, observer: Observer | None = None) -> None:
        self._connection, self.observer = connection, observer or Observer()
        self._shards: list[DaskShards] = []

    @cached_property
    def attempts(self) -> Attempts:
        """Work on the cluster, which is started now if need be."""
        return Attempts(self._connection.client)

    def __reduce__(self) -> tuple[Any, ...]:
        # Work that is sent to a worker is done there.
        return _nowhere, ()

    def passes(self, table: PartedTable) -> DaskPasses:
        """Return the passes over the partitions of a table; there will be some soon."""
        self._connection.begin()
        return DaskPasses(self, table)

    def shards(self, source: ShardSource) -> DaskShards:
        """Return shards whose rows stay on the workers."""
        found = DaskShards(self.attempts, source)
        self._shards.append(found)
        return found

    def sees(self, files: Sequence[Stamp]) -> bool:
        """Return whether all workers see these files, as this process sees them."""

        def asked(tasks: Tasks) -> bool:
            found = tasks.client.run(worker.can_see, files, workers=tasks.workers)
            return all(found.values())

        return self.attempts.at(asked, lambda: None)

    def close(self) -> None:
        """Let go of what other processes were told of."""
        for shards in self._shards:
            shards.close()


def _nowhere() -> None:
    """Return what a cluster is to its workers: none."""


class _Sent(NamedTuple):
    """A circuit on its way: where it was sent first, and the futures of the workers that got it."""

    backend: Backend
    circuit: Any
    by_worker: dict[str, Any]


class DaskPasses:
    """The partitions of a table, on workers.

    Each is held by one worker, which computes all passes over it: another one would have to get the
    rows and lay them out first.
    """

    def __init__(self, cluster: DaskCluster, table: PartedTable) -> None:
        self.cluster, self.table = cluster, table
        self._held: list[Held | None] = [None] * len(table.parts)
        self._circuits: WeakKeyDictionary[Program, _Sent] = WeakKeyDictionary()
        self._can_read: bool | None = None  # whether workers can read the partitions' files

    def load(self, backend: Backend, program: Program, *, once: bool) -> DaskBatch:
        """Return the partitions, ready for passes."""
        return DaskBatch(self, backend, program, once)

    def sum(self, work: Callable[[Table], Found], plus: Callable[[Found, Found], Found]) -> Found:
        """Return the sum of what `work` returns for each partition."""

        def terms(tasks: Tasks) -> list[Any]:
            given = tasks.sent(work)
            return [
                tasks.on(address).submit(worker.applied, spnc.__version__, given, rows)
                for address, rows in self.held(tasks)
            ]

        found: Found = self.summed(terms, plus)
        return found

    def summed(self, terms: Callable[[Tasks], list[Any]], plus: Callable[[Any, Any], Any]) -> Any:
        """Return the sum of futures, one for each partition, whatever is lost meanwhile.

        `terms` submits them, and does so again after something was lost.
        """
        began = [0.0]

        def attempt(tasks: Tasks) -> Any:
            began[0] = time.monotonic()
            return tasks.added_up(terms(tasks), plus)

        found = self.cluster.attempts.at(attempt, self.forget, self._circuits.clear)
        self._report(time.monotonic() - began[0])
        return found

    def piles(self, check: Callable[[], None]) -> Piles:
        """Return piles, on workers, for the rows of the partitions."""
        return DaskPiles(self, check)

    def held(self, tasks: Tasks) -> list[Held]:
        """Return the partitions with their workers, which are given them now if need be."""
        before: Sequence[Held | None] = self._held
        if None in before:
            before = self._found(tasks)
        addresses = [None if held is None else held.address for held in before]
        places = balanced(addresses, tasks.threads())
        found = [
            held
            if held is not None and held.rows is not None and held.address == address
            else Held(address, self._rows(number, tasks, address))
            for number, (held, address) in enumerate(zip(before, places, strict=True))
        ]
        self._held = [*found]
        own = [part for part in self.table.parts if isinstance(part, PartOnWorkers)]
        if own:
            own[0].release()
        return found

    def circuits(
        self, backend: Backend, program: Program, tasks: Tasks, addresses: Set[str]
    ) -> Mapping[str, Any]:
        """Return a program and what computes it, as each of these workers has them."""
        known = self._circuits.get(program)
        if known is None or known.backend != backend:
            circuit = worker.Circuit(Carried((backend, program)))
            known = self._circuits[program] = _Sent(backend, tasks.sent(circuit), {})
        known.by_worker.update(tasks.kept(known.circuit, addresses - known.by_worker.keys()))
        return known.by_worker

    def forget(self) -> None:
        """Let partitions be read, and programs be sent again: they may be lost."""
        self._held = [None] * len(self._held)
        self._circuits.clear()
        for part in self.table.parts:
            if isinstance(part, PartOnWorkers):
                part.forget()

    def _found(self, tasks: Tasks) -> Sequence[Held | None]:
        """Return where partitions are that workers have made themselves."""
        own = [part for part in self.table.parts if isinstance(part, PartOnWorkers)]
        if len(own) < len(self._held):
            return self._held
        futures = [part.future(tasks) for part in own]
        places = tasks.client.who_has(futures)
        found: list[Held | None] = []
        for held, future in zip(self._held, futures, strict=True):
            at = sorted(places.get(future.key, ()))
            found.append(held or (Held(at[0], None) if at else None))
        return found

    def _rows(self, number: int, tasks: Tasks, address: str) -> Any:
        """Let a worker read a partition, or get it."""
        part = self.table.parts[number]
        if isinstance(part, PartOnWorkers):
            return tasks.on(address).submit(worker.unchanged, part.future(tasks))
        if self._can_read is None:
            # Workers that share no files with this process are sent the rows.
            can = tasks.client.run(worker.can_read, part, workers=tasks.workers)
            self._can_read = all(can.values())
        if self._can_read:
            return tasks.on(address).submit(worker.read_part, part)
        return tasks.client.scatter(part.table(), workers=[address], hash=False)

    def _report(self, seconds: float) -> None:
        """Report the speed of a pass."""
        cluster, beats = self.cluster, self.cluster.attempts.heartbeats
        beats.look_soon()
        cluster.observer.speed(beats.workers, self.table.rows / max(seconds, 1e-6))


class DaskBatch(SummedBatch):
    """Partitions that workers have loaded for an engine."""

    def __init__(self, passes: DaskPasses, backend: Backend, program: Program, once: bool) -> None:
        self._passes, self._backend, self._once = passes, backend, once
        self._program = program

    def score(self, parameters: Parameters) -> Score:
        """Return how well all rows are explained."""
        found: Score = self._sum("score", add, parameters)
        return found

    def expected_counts(self, parameters: Parameters) -> Counts:
        """Return the expected counts of all rows, and their score."""
        found: Counts = self._sum("expected_counts", added_counts, parameters)
        return found

    def _sum(
        self, quantity: worker.Quantity, plus: Callable[[Any, Any], Any], parameters: Parameters
    ) -> Any:
        """Return the sum of a quantity over all partitions."""
        passes = self._passes

        def terms(tasks: Tasks) -> list[Any]:
            held, given = passes.held(tasks), tasks.sent(parameters)
            workers = {address for address, _ in held}
            circuits = passes.circuits(self._backend, self._program, tasks, workers)
            return [
                tasks.on(address).submit(
                    worker.passed,
                    quantity,
                    spnc.__version__,
                    circuits[address],
                    given,
                    self._once,
                    rows,
                )
                for address, rows in held
            ]

        return passes.summed(terms, plus)
