"""Mini-batches: the training rows in fixed random parts, visited in a random order every epoch.

Loading a table into an engine costs far more than one pass over a few hundred rows. So the parts
are loaded once and stay the same; only their order changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.common.rng import random_stream
from spnc.data.parted import in_memory
from spnc.data.table import Table
from spnc.training import FitTask


@dataclass(frozen=True, eq=False)
class Batches:
    """The parts as an engine loaded them."""

    seed: int
    loaded: tuple[Any, ...]

    @staticmethod
    def of(task: FitTask, batch_rows: int) -> Batches:
        """Split the training rows, or the sample of them, into parts of about `batch_rows`."""
        parts = in_parts(in_memory(task.train), batch_rows, random_stream(task.seed, "batches"))
        return Batches(task.seed, tuple(task.engine.load(part) for part in parts))

    def visits(self, iteration: int) -> Iterator[tuple[int, Any]]:
        """Yield every part once, in this iteration's order, with the number of updates so far."""
        order = random_stream(self.seed, "order of batches", iteration).permutation(
            len(self.loaded)
        )
        for step, which in enumerate(order.tolist(), iteration * len(self.loaded)):
            yield step, self.loaded[which]


def in_parts(table: Table, batch_rows: int, rng: np.random.Generator) -> list[Table]:
    """Distribute the rows at random over parts of equal weight, about `batch_rows` each.

    A row of weight 40 stands for forty equal rows, which are distributed one by one: kept whole,
    it would dominate its part. Equal rows within a part are merged again.
    """
    copies = np.ceil(table.weights).astype(np.int64)  # zero for a row of weight zero
    share = table.weights / np.maximum(1, copies)
    rows = rng.permutation(np.repeat(np.arange(table.rows), copies))
    found = []
    for part in np.array_split(rows, max(1, math.ceil(len(rows) / batch_rows))):
        own, times = np.unique(part, return_counts=True)
        found.append(table.take(own, share[own] * times))
    return found
