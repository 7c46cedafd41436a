"""Workers of joblib: processes on this machine, or whatever backend the person has chosen.

No backend is named here, so `joblib.parallel_config(backend=…)` around a call decides.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import joblib
from joblib.parallel import get_active_backend

from spnc.cluster.worker_setup import WorkerSetup, compute
from spnc.common.signals import interruptions_held_back, tidying
from spnc.common.workers import Item, Result, Results, Work, Workers


class JoblibWorkers(Workers):
    """Computes several items at a time with joblib."""

    def __init__(self, n_jobs: int | None, memory: int | None = None) -> None:
        """`memory` is the most that this process and its workers may take together, in bytes."""
        self._n_jobs, self._memory = n_jobs, memory
        self.count = int(joblib.effective_n_jobs(n_jobs))
        self._dispatched: int | str = "2 * n_jobs"  # how many items joblib takes ahead, at most

    def backend(self) -> AbstractContextManager[Any]:
        """Return a context that names the backend of joblib; the person has chosen it already."""
        return nullcontext()

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Results[Result]:
        """Yield the place of each item and work(item, check), in the order in which they finish."""
        setup = WorkerSetup.here(self.count, self._memory)
        call = joblib.delayed(compute)
        calls = (call(setup, work, place, item) for place, item in enumerate(items))
        with ExitStack() as stack:
            stack.enter_context(tidying())  # a signal ends the workers before it ends us
            stack.enter_context(_replaced_quietly())
            with self.backend():
                backend, _ = get_active_backend()
                one_by_one = backend.supports_return_generator
                parallel = joblib.Parallel(
                    self._n_jobs,
                    return_as="generator_unordered" if one_by_one else "list",
                    batch_size=1,
                    pre_dispatch=self._dispatched,
                )
            if getattr(backend, "uses_threads", False):
                stack.enter_context(_libraries_in_one_thread())
            if one_by_one:
                with interruptions_held_back():
                    results = parallel(calls)
            else:
                results = _each(parallel(calls))
            stack.callback(_close, results)
            try:
                while (found := next(results, None)) is not None:
                    yield found
            except BrokenProcessPool as error:
                raise MemoryError(
                    "A worker process has ended, as happens when the system is short of memory: "
                    f"{str(error).splitlines()[0]}"
                ) from error


@contextmanager
def _replaced_quietly() -> Iterator[None]:
    """Let joblib replace processes that have grown, or were idle for long, without a warning.

    It warns in the thread that receives all results. Where warnings are errors, the warning would
    end that thread, and the work would be awaited for ever.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
        yield


@contextmanager
def _libraries_in_one_thread() -> Iterator[None]:
    """Let libraries such as BLAS use one thread, also where learners restore what there was before.

    The limits of a library are those of the whole process: threads would undo each other's.
    """
    from spnc.learners.support.clustering import thread_pools

    with thread_pools().limit(limits=1):
        yield


def _each(results: list[tuple[int, Result]]) -> Results[Result]:
    yield from results


def _close(results: Generator[object, None, None]) -> None:
    """End work whose results are not wanted any more."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it was not finished
        results.close()
