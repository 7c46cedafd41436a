"""The memory of this process, and a limit on it.

Resident memory is watched from time to time (`MemoryLimit.check`). On Linux the system also
refuses allocations that would take the process far beyond the limit, before they take any memory:
NumPy then raises `MemoryError`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from spnc.common.quantities import about
from spnc.common.threads import thread_count

CHECK_SECONDS = 0.02  # between two looks at the memory; a look takes 20 to 50 microseconds
# Memory that may be allocated beyond the limit, since not all of it will be used: stacks and pools
# of threads, and what the allocator keeps in reserve. So that the first to notice slow growth is
# the watch, which can say what was under way.
_SPARE = 256 << 20
_SPARE_PER_THREAD = 16 << 20
_UNKNOWN_ROOM = 4 << 30  # taken to be left where the system does not say
_ENFORCED: list[MemoryLimit] = []  # the limits that this process is held to now


class MemoryLimitError(MemoryError):
    """The process takes, or would take, more memory than it may."""


def resident() -> int | None:
    """Return the bytes of physical memory that the process takes; None if that is unknown."""
    return _status("VmRSS")


def peak() -> int | None:
    """Return the most bytes of physical memory that the process ever took; None if unknown."""
    found = _status("VmHWM")
    if found is None and sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found


def room() -> int:
    """Return how many bytes may be taken for what need not be kept.

    That is half of what the machine has left, or what a limit on the process leaves.
    """
    found = (_number_in("/proc/meminfo", "MemAvailable") or _UNKNOWN_ROOM) // 2
    held = resident() or 0
    for limit in _ENFORCED:
        if limit.most is not None:
            found = min(found, limit.most - held)
    return max(0, found)


def _status(name: str) -> int | None:
    """Return a number of the process's status, in bytes; None where there is no such file."""
    return _number_in("/proc/self/status", name)


def _number_in(file: str, name: str) -> int | None:
    """Return a number of kilobytes in a file of the system, in bytes; None if it is not there."""
    try:
        lines = Path(file).read_bytes()
    except OSError:
        return None
    at = lines.find(f"\n{name}:".encode())
    return None if at < 0 else 1024 * int(lines[at + len(name) + 2 :].split(None, 1)[0])


@dataclass(eq=False)
class MemoryLimit:
    """A limit on the resident memory of the process; None: there is none."""

    most: int | None
    _peak: int = field(init=False)  # before: other work in the process does not count
    _next: float = 0.0

    def __post_init__(self) -> None:
        self._peak = peak() or 0

    def check(self, *, now: bool = False) -> None:
        """Raise `MemoryLimitError` if the limit was passed, also if only for a moment.

        Unless `now`, return at once if the last look was only just.
        """
        if self.most is None:
            return
        at = time.monotonic()
        if at < self._next and not now:
            return
        self._next = at + CHECK_SECONDS
        highest = peak() or 0
        found = highest if highest > self._peak else resident() or 0
        if found > self.most:
            raise MemoryLimitError(f"the process took {about(found)}")

    def expect(self, size: float, what: str) -> None:
        """Raise `MemoryLimitError` if this many more bytes, for `what`, would pass the limit."""
        held = resident()
        if self.most is not None and held is not None and held + size > self.most:
            message = f"{what} would take about {about(size)} more"
            raise MemoryLimitError(f"the process takes {about(held)}, and {message}")

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Let the system refuse allocations far beyond the limit, where it can."""
        _ENFORCED.append(self)
        try:
            with self._refusing():
                yield
        finally:
            _ENFORCED.remove(self)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        held, allocated = resident(), _status("VmData")
        if self.most is None or held is None or allocated is None:
            yield
            return
        import resource

        spare = _SPARE + _SPARE_PER_THREAD * thread_count(None)
        most = allocated + max(0, self.most - held) + spare
        before = resource.getrlimit(resource.RLIMIT_DATA)
        given = [bound for bound in before if bound != resource.RLIM_INFINITY]
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (min([most, *given]), before[1]))
        try:
            yield
        finally:
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_DATA, before)
