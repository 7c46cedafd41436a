"""Mini-batches: the training rows in fixed random parts, visited in a random order every epoch.

An engine lays rows out once per table, which costs far more than one pass over a few hundred rows
saves; so the parts stay the same, and only their order changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.common.rng import random_stream
from spnc.data.dataset import Table
from spnc.training import Fit


@dataclass(frozen=True, eq=False)
class Batches:
    """The parts as an engine loaded them."""

    seed: int
    loaded: tuple[Any, ...]

    @staticmethod
    def of(fit: Fit, batch_rows: int) -> Batches:
        """The training rows of a fit in parts of about `batch_rows`, laid out for its engine."""
        parts = in_parts(fit.train, batch_rows, random_stream(fit.seed, "batches"))
        return Batches(fit.seed, tuple(fit.engine.load(part) for part in parts))

    def visits(self, iteration: int) -> Iterator[tuple[int, Any]]:
        """Every part once, in the order of this iteration, with the number of updates before."""
        order = random_stream(self.seed, "order of batches", iteration).permutation(
            len(self.loaded)
        )
        for step, which in enumerate(order.tolist(), iteration * len(self.loaded)):
            yield step, self.loaded[which]


def in_parts(table: Table, batch_rows: int, rng: np.random.Generator) -> list[Table]:
    """The rows dealt out at random into parts of equal weight, about `batch_rows` each.

    A row of weight 40 stands for forty equal rows, which are dealt out one by one: whole, it would
    tilt the one part that has it. Within a part equal rows are one again.
    """
    copies = np.ceil(table.weights).astype(np.int64)  # none of a row that weighs nothing
    share = table.weights / np.maximum(1, copies)
    rows = rng.permutation(np.repeat(np.arange(table.rows), copies))
    found = []
    for part in np.array_split(rows, max(1, math.ceil(len(rows) / batch_rows))):
        own, times = np.unique(part, return_counts=True)
        found.append(Table(table.values[own], share[own] * times))
    return found
