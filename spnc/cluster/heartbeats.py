"""Work on a cluster is awaited only as long as its scheduler and its workers give signs of life.

Dask itself gives up a worker without heartbeats after five minutes (`worker-ttl`), and what other
workers fetch from it may wait for ever. So looks at the heartbeats decide here which workers are
given work. A silent worker stays a member of the cluster, and gets work again when it is back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from concurrent.futures import Future
from typing import Any, TypeVar

from spnc.cluster.background import in_background

Found = TypeVar("Found")

LOOK_SECONDS = 1.0  # between two looks while work is awaited
# Without a heartbeat, a worker gets no more work. Dask's workers send one every 0.5 to 10 seconds,
# the latter with thousands of workers.
SILENT_SECONDS = 30.0
# Without an answer of the scheduler, or without any worker, the cluster counts as lost.
LOST_SECONDS = 60.0


class SilentWorkerError(Exception):
    """A worker that has work to do is silent; others can do the work."""


class NoAnswerError(Exception):
    """The scheduler does not answer, or there are no workers."""


class Heartbeats:
    """What is known of the workers of a cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client
        # By address: the last heartbeat, and when it was first seen here. Clocks may differ.
        self._beats: dict[str, tuple[float, float]] = {}
        self._silent: frozenset[str] = frozenset()
        self._well_at = time.monotonic()  # when there was a worker that was not silent
        self._look: Future[Any] | None = None
        self._looks = 0  # that are done

    @property
    def workers(self) -> int:
        """The number of workers that were not silent at the last look."""
        return len(self._beats) - len(self._silent)

    def usable(self) -> list[str] | None:
        """Return the workers that get work; None: all, also those that are still to come."""
        chosen = sorted(self._beats.keys() - self._silent)
        return chosen if self._silent and chosen else None

    def look(self) -> None:
        """Note the heartbeats of all workers. Raises what the client raises."""
        found = self._client.scheduler_info(n_workers=-1)["workers"]
        now = time.monotonic()
        beats = {}
        for address, about in found.items():
            before = self._beats.get(address)
            same = before is not None and before[0] == about["last_seen"]
            beats[address] = before if before and same else (about["last_seen"], now)
        self._beats = beats
        self._silent = frozenset(a for a, (_, at) in beats.items() if now - at > SILENT_SECONDS)
        self._looks += 1
        if len(self._silent) < len(beats):
            self._well_at = now

    def awaited(
        self, work: Callable[[list[str] | None], Found], needed: Set[str] = frozenset()
    ) -> Found:
        """Return work(workers), which uses these workers (None: any).

        The work adds those to `needed` whose work nobody else can do. Raises `SilentWorkerError` if
        one of these is gone, or a worker is silent, and there is another one; `NoAnswerError` if
        the scheduler or all workers are silent; and what the work raises. The work is then
        abandoned in its thread.
        """
        self._well_at = time.monotonic()
        chosen, looks = self.usable(), self._looks
        result = in_background(lambda: work(chosen))
        while not _is_done(result):
            self._look_aside()
            if time.monotonic() - self._well_at > LOST_SECONDS:
                raise NoAnswerError(f"no worker has answered for {LOST_SECONDS:.0f} seconds")
            # One look may have begun before the work found its workers.
            gone = needed - self._beats.keys() if self._looks > looks + 1 else frozenset()
            if self._could_be_elsewhere(chosen) or (gone and self.workers > 0):
                raise SilentWorkerError
        return result.result()

    def _could_be_elsewhere(self, chosen: list[str] | None) -> bool:
        """Return whether a worker that has work is silent, or all are gone, and others are not."""
        if self.workers <= 0:
            return False
        if chosen is None:
            return bool(self._silent)
        return bool(self._silent & set(chosen)) or not self._beats.keys() & set(chosen)

    def look_soon(self) -> None:
        """Look, without waiting long for a scheduler that does not answer."""
        self._look_aside()
        if self._look is not None:
            _is_done(self._look)

    def _look_aside(self) -> None:
        """Begin a look unless one is under way: a scheduler that is stopped answers none."""
        if self._look is None or self._look.done():
            # What it raises is left to the work, which meets the same problem.
            self._look = in_background(self.look)


def _is_done(result: Future[Any]) -> bool:
    """Wait for a moment; return whether the result is there."""
    try:
        result.exception(timeout=LOOK_SECONDS)
    except TimeoutError:
        return result.done()
    return True
