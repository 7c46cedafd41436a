"""Residual strategies: how links are drawn between the components of a forest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from spnc.backends import Backend
from spnc.common.observer import Progress
from spnc.data.dataset import Dataset
from spnc.diagnostics import Sink
from spnc.graph.forest import Forest


@dataclass(frozen=True, eq=False)
class LinkingTask:
    """What a strategy is given: the forest, and all it may judge links by."""

    forest: Forest
    dataset: Dataset
    rng: np.random.Generator
    sink: Sink  # where it reports what it cannot do
    progress: Progress
    backend: Backend  # the recipe's, for judging links
    warm_up: Callable[[int], None]  # fits the forest as it is, by so many iterations of EM


class Residual(Protocol):
    """A way of drawing residual links."""

    plugin_name: ClassVar[str]
    draws: ClassVar[bool]  # whether it draws any, for which two components are needed

    def verify(self, dataset: Dataset | None, sink: Sink) -> None:
        """Report what does not go with the data, before anything is learned."""
        ...

    def link(self, task: LinkingTask) -> Forest:
        """The forest with its links, which may have gained components."""
        ...
