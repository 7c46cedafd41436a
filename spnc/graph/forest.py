"""`Forest`: the components of an ensemble in one graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

from spnc.graph.nodes import Builder


@dataclass(frozen=True, eq=False)
class Forest:
    """Components in one graph, by their roots; they may share nodes once links are drawn."""

    builder: Builder
    roots: tuple[int, ...]

    def copy(self) -> Forest:
        """The same forest, to be linked and crowned without changing this one."""
        return replace(self, builder=self.builder.copy())
