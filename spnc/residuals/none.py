"""No residual links: a plain Random Sum-Product Forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spnc.graph.forest import Forest
from spnc.registry import RESIDUALS, Options
from spnc.registry.reads import Source
from spnc.residuals import LinkingTask


@RESIDUALS.register("none")
@dataclass(frozen=True, kw_only=True)
class NoLinks(Options):
    """No links: the components meet only in the sum on top (Algorithm 2)."""

    draws: ClassVar[bool] = False
    reads: ClassVar[tuple[Source, ...]] = ()

    def link(self, task: LinkingTask) -> Forest:
        """Return the forest unchanged."""
        return task.forest
