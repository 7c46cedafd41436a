"""Workers of a Dask cluster that compute components and tries, through joblib."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from spnc.cluster.joblib_workers import JoblibWorkers
from spnc.cluster.trouble import report_lost
from spnc.common.workers import Item, Result, Results, Work


class DaskWorkers(JoblibWorkers):
    """Computes several items at a time on a cluster, which `joblib.parallel_config` has named."""

    def __init__(self, client: Any, n_jobs: int | None) -> None:
        """`n_jobs` counts as in scikit-learn, of the cluster's threads; None is all of them."""
        if n_jobs == 0:
            raise ValueError("n_jobs=0: give the number of jobs, or -1 for one per core")
        super().__init__(n_jobs)
        self._client = client
        if n_jobs is not None and n_jobs != -1:
            # Dask gives all its workers work, unless it is told of fewer items at a time.
            most = n_jobs if n_jobs > 0 else self.count + 1 + n_jobs
            self._dispatched = self.count = max(1, min(most, self.count))

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
            report_lost(self._client, error)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
