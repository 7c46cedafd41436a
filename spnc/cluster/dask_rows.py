"""Partitions on the workers of a Dask cluster, and passes over them.

Parameters go out, and what is summed over rows comes back, added up on the workers in a fixed
order. So the result depends neither on the number of workers nor on which of them died.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from operator import add
from typing import Any

import spnc
from spnc.backends import Backend
from spnc.backends.parted import SummedBatch, added_counts
from spnc.cluster import worker
from spnc.cluster.trouble import report_lost, report_workers
from spnc.common.observer import Progress, silent
from spnc.common.tree_sum import additions
from spnc.data.parted import PartedTable
from spnc.program.program import Parameters, Program
from spnc.program.score import Counts, Score

ATTEMPTS = 5  # at a pass during which workers are lost, or the scheduler
_PAUSE = 2.0  # seconds before another attempt: a worker that died is started again meanwhile


class DaskCluster:
    """A cluster that computes passes over tables in partitions."""

    def __init__(self, client: Any, progress: Progress = silent) -> None:
        self.client, self.progress = client, progress

    def __reduce__(self) -> tuple[Any, ...]:
        # Work that is sent to a worker is done there.
        return _nowhere, ()

    def passes(self, table: PartedTable) -> DaskPasses:
        """Return the passes over the partitions of a table."""
        return DaskPasses(self, table)


def _nowhere() -> None:
    """Return what a cluster is to its workers: none."""


class DaskPasses:
    """The partitions of a table, on workers."""

    def __init__(self, cluster: DaskCluster, table: PartedTable) -> None:
        self.cluster, self.table = cluster, table
        self._futures: list[Any] = []

    def load(self, backend: Backend, program: Program, *, once: bool) -> DaskBatch:
        """Return the partitions, ready for passes."""
        return DaskBatch(self, backend, program, once)

    def futures(self) -> list[Any]:
        """Return the tables of the partitions, as they are or will be on workers."""
        if not self._futures:
            client = self.cluster.client
            first = self.table.parts[0]
            # Workers that share no files with this process are sent the rows.
            shared = all(client.run(worker.can_read, first).values())
            for part in self.table.parts:
                if shared:
                    found = client.submit(worker.read_part, part, pure=False)
                else:
                    found = client.scatter(part.table(), hash=False)
                self._futures.append(found)
        return self._futures

    def forget(self) -> None:
        """Let the partitions be read again: some were lost."""
        self._futures = []


class DaskBatch(SummedBatch):
    """Partitions that workers have loaded for an engine."""

    def __init__(self, passes: DaskPasses, backend: Backend, program: Program, once: bool) -> None:
        self._passes, self._backend, self._once = passes, backend, once
        self._program, self._sent = program, None

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
        """Return the sum of a quantity over all partitions, whatever is lost meanwhile."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm.core import CommClosedError

        lost = (CancelledError, CommClosedError, KilledWorker, OSError, TimeoutError)
        for attempt in range(1, ATTEMPTS + 1):
            began = time.monotonic()
            try:
                found = self._summed(quantity, plus, parameters)
            except worker.OtherVersionError as error:
                report_workers(error)
            except (*lost, RuntimeError) as error:
                client = self._passes.cluster.client
                if isinstance(error, RuntimeError) and client.status == "running":
                    raise  # the work itself has failed
                if attempt == ATTEMPTS or client.status == "closed":
                    report_lost(client, error)
                self._passes.forget()
                self._sent = None
                time.sleep(_PAUSE * attempt)
                continue
            self._report(time.monotonic() - began)
            return found
        raise AssertionError

    def _summed(
        self, quantity: worker.Quantity, plus: Callable[[Any, Any], Any], parameters: Parameters
    ) -> Any:
        client = self._passes.cluster.client
        parts = self._passes.futures()
        if self._sent is None:
            self._sent = client.scatter(self._program, broadcast=True, hash=False)
        given = client.scatter(parameters, broadcast=True, hash=False)
        version = spnc.__version__
        terms = [
            client.submit(
                worker.passed,
                quantity,
                version,
                self._backend,
                self._sent,
                given,
                part,
                self._once,
                pure=False,
            )
            for part in parts
        ]
        for first, second in additions(len(terms)):
            terms[first] = client.submit(plus, terms[first], terms[second], pure=False)
        return terms[0].result()

    def _report(self, seconds: float) -> None:
        """Report the speed of a pass."""
        cluster, rows = self._passes.cluster, self._passes.table.rows
        workers = len(cluster.client.scheduler_info(n_workers=-1)["workers"])
        speed = rows / max(seconds, 1e-6)
        cluster.progress(f"{workers} workers, {speed:,.0f} rows/s: rows", rows, rows)
