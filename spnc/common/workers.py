"""Workers: who computes independent pieces of work, such as components and tries.

The ones here compute one piece after another in this process. `spnc.cluster` has workers that are
processes, and says what these need before they begin.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Check = Callable[[], None]  # raises MemoryError where a worker takes more memory than its share
Work = Callable[[Item, Check], Result]
Results = Generator[tuple[int, Result], None, None]


class Workers:
    """Computes in this process, one item after another; the base of workers that are processes."""

    count = 1  # how many items are computed at a time
    patience = 0.0  # seconds of work that are rather done in this process: see `here_first`

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Results[Result]:
        """Yield the place of each item and work(item, check), in the order in which they finish.

        With processes, `work` is a function of a module, and items and results can be pickled;
        `items` are taken as workers become free, possibly in another thread. An exception ends all
        work, and so does closing the iterator. Long work calls `check()` from time to time.
        """
        for place, item in enumerate(items):
            yield place, work(item, _nothing)


def here_first(
    workers: Workers, work: Work[Item, Result], items: Sequence[Item]
) -> Results[Result]:
    """Do as `workers.map` does, but keep little work in this process.

    Workers get what is left as soon as all of it is going to take longer than their patience. What
    is under way here is then begun again there, as far as it calls `check()`.
    """
    begun = time.monotonic()

    def check() -> None:
        if time.monotonic() - begun > workers.patience:
            raise _PatienceLostError

    done = 0
    with suppress(_PatienceLostError):
        while done < len(items) and _expected(begun, done, len(items)) < workers.patience:
            yield done, work(items[done], check)
            done += 1
    if done < len(items):
        for place, found in workers.map(work, items[done:]):
            yield done + place, found


class _PatienceLostError(Exception):
    """Work takes longer than workers need to get it."""


def _expected(begun: float, done: int, count: int) -> float:
    """Return how many seconds of work are left, as far as that can be known."""
    return (time.monotonic() - begun) / done * (count - done) if done else 0.0


def _nothing() -> None:
    """Check nothing: whoever began the work watches this process."""


SERIAL = Workers()
