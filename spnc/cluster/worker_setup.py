"""What a worker process does before it computes, and how it computes one item.

The plug-ins of the process that began the work are registered before anything that may refer to
them is unpickled. Workers that are children of that process end with it, whatever ends it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spnc.common.memory import MemoryLimit, MemoryLimitError, resident
from spnc.common.quantities import about
from spnc.common.threads import VARIABLES, thread_count
from spnc.common.workers import Item, Result, Work
from spnc.registry.files import LoadedFile, load_as_elsewhere, loaded_modules

LOOK_SECONDS = 1.0  # between two looks whether the parent is still there


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker needs to know; it prepares a process by being unpickled there."""

    process: int  # which began the work
    folder: str  # in which file names mean what they mean there
    plugins: Mapping[str, LoadedFile]
    threads: int  # for one worker
    memory: int | None  # the most that the process that began the work may take, in bytes
    share: int | None  # and each worker that is a process of its own

    @staticmethod
    def here(workers: int, memory: int | None) -> WorkerSetup:
        """Return the setup for this many workers of this process."""
        share = None
        if memory is not None:
            share = max(0, memory - (resident() or 0)) // workers
        threads = max(1, thread_count(None) // workers)
        return WorkerSetup(os.getpid(), str(Path.cwd()), loaded_modules(), threads, memory, share)

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.process, self.folder, self.plugins, self.threads, self.memory, self.share)
        return _prepared, fields


def _prepared(*fields: Any) -> WorkerSetup:
    """Prepare this process for the items that are unpickled next."""
    setup = WorkerSetup(*fields)
    load_as_elsewhere(setup.plugins)
    if os.getppid() == setup.process:
        os.chdir(setup.folder)
        if not any(name in os.environ for name in VARIABLES):
            os.environ[VARIABLES[-1]] = str(setup.threads)
        if threading.current_thread() is threading.main_thread():
            _leave_signals_to_parent()
        _end_with_parent(setup.process)
    return setup


def _leave_signals_to_parent() -> None:
    """Ignore Ctrl-C, which the parent gets too; end at other signals without a word."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)


_WATCHED: set[int] = set()  # the parents that are watched


def _end_with_parent(parent: int) -> None:
    """End this process soon after its parent has ended, killed or not."""
    if parent in _WATCHED:
        return
    _WATCHED.add(parent)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, name="spnc-parent-watch", daemon=True).start()


def compute(
    setup: WorkerSetup, work: Work[Item, Result], place: int, item: Item
) -> tuple[int, Result]:
    """Return the place of an item and its result, within the memory that a worker may take."""
    if os.getpid() == setup.process:  # in a thread of the process that began the work
        return place, work(item, MemoryLimit(setup.memory).check)
    limit = MemoryLimit(setup.share)
    try:
        with limit.enforced():
            limit.check(now=True)
            found = work(item, limit.check)
            limit.check(now=True)
            return place, found
    except MemoryError as error:
        if setup.share is None:
            raise
        reason = f" ({error})" if str(error) else ""
        raise MemoryLimitError(
            f"A worker may take {about(setup.share)} of it, which was not enough{reason}"
        ) from None
