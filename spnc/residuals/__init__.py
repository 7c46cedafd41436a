"""Residual strategies: how links are drawn between the components of a forest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from spnc.data.dataset import Dataset
from spnc.data.progress import Progress
from spnc.diagnostics import Sink
from spnc.graph.nodes import Builder


@dataclass(frozen=True, eq=False)
class Forest:
    """Components in one graph, by their roots; they may share nodes once links are drawn."""

    builder: Builder
    roots: tuple[int, ...]

    def copy(self) -> Forest:
        """The same forest, to be linked and crowned without changing this one."""
        return replace(self, builder=self.builder.copy())


@dataclass(frozen=True, eq=False)
class Linking:
    """What a strategy is given: the forest, and all it may judge links by."""

    forest: Forest
    dataset: Dataset
    rng: np.random.Generator
    sink: Sink  # where it reports what it cannot do
    progress: Progress
    warm_up: Callable[[int], None]  # fits the forest as it is, by so many iterations of EM


class Residual(Protocol):
    """A way of drawing residual links."""

    plugin_name: ClassVar[str]
    draws: ClassVar[bool]  # whether it draws any, for which two components are needed

    def verify(self, dataset: Dataset | None, sink: Sink) -> None:
        """Report what does not go with the data, before anything is learned."""
        ...

    def link(self, task: Linking) -> Forest:
        """The forest with its links, which may have gained components."""
        ...
