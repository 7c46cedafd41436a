"""Threads that share numbered work."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

# Environment variables that other numerical libraries honour too.
VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")
Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(asked: int | None) -> int:
    """Return the number of threads: as asked, or from `VARIABLES`, or one per usable core."""
    if asked is not None:
        return asked
    for name in VARIABLES:
        text = os.environ.get(name, "").split(",")[0].strip()
        if re.fullmatch("[0-9]{1,9}", text) and int(text) > 0:
            return int(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ThreadTeam:
    """A fixed number of threads, including the caller's own.

    A process that was forked begins with new ones: threads do not survive a fork, and work that is
    given to the old ones would wait for ever.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None

    def run(self, bounds: Sequence[int], work: Callable[[int, int, int], None]) -> None:
        """Call work(worker, start, stop) for each pair of neighbouring bounds, in parallel."""
        if self._process != os.getpid():
            self._begin()
        parts = [(i, a, b) for i, (a, b) in enumerate(pairwise(bounds)) if a < b]
        others = [self._pool.submit(work, *part) for part in parts[1:]] if self._pool else []
        for part in parts[: 1 if others else None]:
            work(*part)
        for other in others:
            other.result()

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()


def in_threads(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None
) -> list[Result]:
    """Return work(item) for each item, in order, computed by one thread per usable core.

    Only for work that spends its time in NumPy or compiled loops: other code waits for Python's
    interpreter lock.
    """
    threads = thread_count(threads)
    if threads == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def even_bounds(count: int, parts: int) -> list[int]:
    """Return the bounds of nearly equal parts of 0 … count."""
    return [count * i // parts for i in range(parts + 1)]


def shares(up_to: NDArray[np.int64], parts: int) -> list[int]:
    """Return the bounds of parts of about equal cost; up_to[i] is the cost of all before item i."""
    goals = up_to[0] + (up_to[-1] - up_to[0]) * np.arange(1, parts) / parts
    return [0, *np.searchsorted(up_to, goals).tolist(), len(up_to) - 1]
