"""Seconds that something took, which several threads may do at the same time."""

from __future__ import annotations

import time
from threading import Lock


class WallTime:
    """Counts the seconds during which at least one thread is inside a `with` block of this."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock, self._inside, self._began = Lock(), 0, 0.0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._began = time.perf_counter()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self.seconds += time.perf_counter() - self._began
