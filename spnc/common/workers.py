"""Workers: who computes independent pieces of work, such as components and tries.

The ones here compute one piece after another in this process. `spnc.cluster` has workers that are
processes, and says what these need before they begin.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Check = Callable[[], None]  # raises MemoryError where a worker takes more memory than its share
Work = Callable[[Item, Check], Result]
Results = Generator[tuple[int, Result], None, None]


class Workers:
    """Computes in this process, one item after another; the base of workers that are processes."""

    count = 1  # how many items are computed at a time

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Results[Result]:
        """Yield the place of each item and work(item, check), in the order in which they finish.

        With processes, `work` is a function of a module, and items and results can be pickled;
        `items` are taken as workers become free, possibly in another thread. An exception ends all
        work, and so does closing the iterator. Long work calls `check()` from time to time.
        """
        for place, item in enumerate(items):
            yield place, work(item, _nothing)


def _nothing() -> None:
    """Check nothing: whoever began the work watches this process."""


SERIAL = Workers()
