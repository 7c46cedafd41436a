"""The machine's limit: how many multiply-adds per second all cores do on numbers in their cache.

The loop is what evaluating a sum costs at the least: `y[row] += w[child] * x[child, row]`, in 64
bits, on a block of rows and children that stays in the first-level cache.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

CHILDREN, ROWS = 16, 256  # 32 kB: fits the first-level cache of common machines
_WIDE = 64  # children of the block that NumPy works on: its calls need more to do

# What an edge costs per row, in multiply-adds, when nothing is saved.
COST = {"loglik": 1, "em": 3}


@dataclass(frozen=True)
class Limit:
    """The rate, and how it was measured."""

    per_second: float
    how: str

    def share(self, row_edges_per_second: float, work: str) -> float:
        """Which part of the limit that is."""
        return row_edges_per_second * COST[work] / self.per_second

    def definition(self) -> str:
        """What the shares in the table mean."""
        return (
            f"Machine's limit: {self.per_second / 1e9:.1f} billion multiply-adds per second "
            f"({self.how}). An edge costs a row one multiply-add in a log-likelihood pass, and "
            "three in an EM iteration (up, down, and into the edge's count). Rates count all rows "
            "and all edges, whether or not a system found work it could leave out, so a share can "
            "be above 100%."
        )


def measured(seconds: float = 0.6) -> Limit:
    """The best of several short measurements on all cores."""
    threads = os.cpu_count() or 1
    try:
        work, per_call = _numba_loop(), CHILDREN * ROWS * 2_000
        how = f"64 bits, from the first-level cache, {threads} threads, compiled by Numba"
    except ImportError:
        work, per_call = _numpy_loop(), _WIDE * ROWS * 200
        how = f"64 bits, from cache, {threads} threads, NumPy's matrix-vector product"
    best = 0.0
    ends = time.perf_counter() + seconds
    with ThreadPoolExecutor(threads) as pool:
        while time.perf_counter() < ends:
            began = time.perf_counter()
            for job in [pool.submit(work) for _ in range(threads)]:
                job.result()
            best = max(best, threads * per_call / (time.perf_counter() - began))
    return Limit(best, how)


def _numba_loop() -> Callable[[], None]:
    import numba

    @numba.njit(nogil=True, fastmath=True)
    def loop(x: Any, w: Any, y: Any, times: int) -> None:
        for _ in range(times):
            for j in range(0, len(w), 4):  # four children at once: y is loaded once for all four
                a, b, c, d = w[j], w[j + 1], w[j + 2], w[j + 3]
                for k in range(len(y)):
                    y[k] += a * x[j, k] + b * x[j + 1, k] + c * x[j + 2, k] + d * x[j + 3, k]

    def work() -> None:
        loop(np.ones((CHILDREN, ROWS)), np.full(CHILDREN, 1e-9), np.zeros(ROWS), 2_000)

    work()  # compiled here, outside what is timed
    return work


def _numpy_loop() -> Callable[[], None]:
    def work() -> None:
        x, w, y = np.ones((_WIDE, ROWS)), np.full(_WIDE, 1e-9), np.zeros(ROWS)
        for _ in range(200):
            np.dot(w, x, out=y)

    return work
