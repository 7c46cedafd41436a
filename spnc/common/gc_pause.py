"""Pausing the garbage collector while large graphs are built.

While millions of small objects are created, Python's collector repeatedly scans all live objects
and finds nothing to free: all parts of a graph are in use. Pausing it saves a third to a half of
the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection; afterwards restore the earlier state."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
