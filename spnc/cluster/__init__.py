"""Work in other processes: workers that joblib provides. See docs/parallel.md."""

from __future__ import annotations

import sys

from spnc.common.workers import SERIAL, Workers


def workers_for(n_jobs: int | None, memory: int | None = None) -> Workers:
    """Return workers that compute this many items at a time, as scikit-learn counts jobs.

    None is 1, or what a `joblib.parallel_config` says around the call; -1 is one per core. `memory`
    is the most that this process and its workers may take together, in bytes. joblib is imported
    only if it is needed. Raises ValueError for 0.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0: give the number of jobs, or -1 for one per core")
    if n_jobs == 1 or (n_jobs is None and "joblib" not in sys.modules):
        return SERIAL
    from spnc.cluster.joblib_workers import JoblibWorkers

    found = JoblibWorkers(n_jobs, memory)
    return found if found.count > 1 else SERIAL
