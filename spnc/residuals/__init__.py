"""Residual strategies: how links are drawn between the components of a forest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from spnc.backends import Backend
from spnc.common.deadline import NEVER, Deadline
from spnc.common.observer import Progress
from spnc.common.savepoints import NOTHING_KEPT, Savepoints
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.graph.forest import Forest


@dataclass(frozen=True, eq=False)
class LinkingTask:
    """What a strategy is given: the forest, and the data to judge links by."""

    forest: Forest
    dataset: Dataset
    rng: np.random.Generator
    sink: Sink  # for problems and warnings
    progress: Progress
    backend: Backend  # the recipe's, for judging links
    pretrain: Callable[[int], None]  # runs this many iterations of EM on the forest as it is
    deadline: Deadline = NEVER  # which strategies that take long check as they go
    savepoints: Savepoints = NOTHING_KEPT  # where those that take long keep their progress


class Residual(Protocol):
    """A way of drawing residual links."""

    plugin_name: ClassVar[str]
    draws: ClassVar[bool]  # whether it draws links at all; if so, it needs two components

    def verify(self, dataset: Dataset | None, sink: Sink) -> None:
        """Report options that do not suit the data, before anything is learned."""
        ...

    def link(self, task: LinkingTask) -> Forest:
        """Return the forest with its links; it may have more components than before."""
        ...
