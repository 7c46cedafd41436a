"""Workers without processes: what goes to them and what comes back is pickled all the same."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

from spnc.common.workers import Item, Result, Results, Work, Workers


class PicklingWorkers(Workers):
    """Computes copies of items; of every `count`, the last is finished first."""

    count = 3

    def __init__(self) -> None:
        self.computed = 0

    def map(self, work: Work[Item, Result], items: Iterable[Item]) -> Results[Result]:
        """Yield the place of each item and work(item, check), out of order."""
        batch: list[tuple[int, bytes]] = []
        for place, item in enumerate(items):
            batch.append((place, pickle.dumps((work, item))))
            if len(batch) == self.count:
                yield from self._computed(batch)
        yield from self._computed(batch)

    def _computed(self, batch: list[tuple[int, bytes]]) -> Iterable[tuple[int, Any]]:
        while batch:
            place, content = batch.pop()
            work, item = pickle.loads(content)
            found = work(item, lambda: None)
            self.computed += 1
            yield place, pickle.loads(pickle.dumps(found))
