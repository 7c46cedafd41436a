"""Workers of a Dask cluster that compute components and tries, through joblib."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import joblib

from spnc.cluster.joblib_workers import JoblibWorkers
from spnc.cluster.joining import Connection
from spnc.cluster.trouble import report_lost
from spnc.common.workers import Item, Result, Results, Work

PATIENCE = 10.0  # seconds of work that are not worth sending rows to workers, or starting them


class DaskWorkers(JoblibWorkers):
    """Computes several items at a time on a cluster."""

    def __init__(self, connection: Connection, n_jobs: int | None) -> None:
        """`n_jobs` counts as in scikit-learn, of the cluster's threads; None is all of them."""
        if n_jobs == 0:
            raise ValueError("n_jobs=0: give the number of jobs, or -1 for one per core")
        threads, wanted = connection.threads, -1 if n_jobs is None else n_jobs
        super().__init__(wanted)
        self._connection = connection
        self.count = max(1, min(threads, wanted if wanted > 0 else threads + 1 + wanted))
        self.patience = PATIENCE
        if wanted != -1:
            # Dask gives all its workers work, unless it is told of fewer items at a time.
            self._dispatched = self.count

    def backend(self) -> AbstractContextManager[Any]:
        """Return a context in which joblib computes on the cluster."""
        found: AbstractContextManager[Any] = joblib.parallel_config(
            backend="dask", client=self._connection.client, n_jobs=self._n_jobs
        )
        return found

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Results[Result]:
        """Yield the place of each item and work(item, check), in the order in which they finish.

        A worker that dies costs time only: its items are computed by others. Stops with a
        diagnostic if the scheduler is lost (E514), and raises MemoryError if an item has ended
        several workers.
        """
        from distributed import CancelledError, KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            yield from super().map(work, items)
        except KilledWorker as error:
            reason = f"Several workers have ended over the same work: {_first_line(error)}"
            raise MemoryError(reason) from error
        except (CancelledError, CommClosedError) as error:
            report_lost(self._connection.client, error)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
