"""Residual strategies: how links are drawn between the components of a forest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from spnc.data.dataset import Dataset
from spnc.graph.nodes import Builder


@dataclass(frozen=True, eq=False)
class Forest:
    """Components in one graph, by their roots; they may share nodes once links are drawn."""

    builder: Builder
    roots: tuple[int, ...]

    def copy(self) -> Forest:
        """The same forest, to be linked and crowned without changing this one."""
        return replace(self, builder=self.builder.copy())


class Residual(Protocol):
    """A way of drawing residual links."""

    plugin_name: ClassVar[str]

    def link(self, forest: Forest, dataset: Dataset, rng: np.random.Generator) -> Forest:
        """The forest with its links, which may have gained components."""
        ...
