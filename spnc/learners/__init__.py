"""Structure learners: one file each, found through `spnc.registry.LEARNERS`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from spnc.common.deadline import NEVER, Deadline
from spnc.common.observer import Progress, silent
from spnc.data.dataset import Column, Dataset, Table
from spnc.diagnostics import Sink
from spnc.graph.nodes import Builder
from spnc.leaves.smoothing import Smoothing


@dataclass(frozen=True, eq=False)
class LearningTask:
    """What a learner is given: the training rows, the prior, its own random stream."""

    columns: tuple[Column, ...]
    table: Table
    smoothing: Smoothing
    rng: np.random.Generator
    builder: Builder  # where the learner adds its nodes
    sink: Sink  # where it reports what it cannot use
    valid: Table | None = None  # rows to stop by, never to learn from
    progress: Progress = silent  # for learners that take long
    deadline: Deadline = NEVER  # which learners that take long check as they go


class Learner(Protocol):
    """A way of making one component of a forest."""

    plugin_name: ClassVar[str]

    def verify(self, dataset: Dataset | None, sink: Sink) -> None:
        """Report what does not go with the data, or with files, before anything is learned."""
        ...

    def learn(self, task: LearningTask) -> int | None:
        """Add a circuit over all columns; answer its root, or None if a problem was reported."""
        ...
