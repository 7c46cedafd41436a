"""The joint objective: parameters stay as the optimiser fitted them, to whole rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from spnc.backends import Engine
from spnc.data.parted import Rows
from spnc.program.program import Parameters
from spnc.program.score import Score
from spnc.registry import OBJECTIVES, Options
from spnc.registry.reads import Source
from spnc.training import FitResult, FitTask


@OBJECTIVES.register("joint")
@dataclass(frozen=True, kw_only=True)
class Joint(Options):
    """The joint likelihood of all cells of a row, which is what every optimizer fits."""

    refines: ClassVar[bool] = False
    reads: ClassVar[tuple[Source, ...]] = ()

    def refine(self, task: FitTask) -> FitResult | None:
        """Do nothing: `refines` is False."""
        raise NotImplementedError

    def cut(self, iterations: int) -> Self | None:
        """Return itself: it takes no steps."""
        del iterations
        return self

    def score(self, engine: Engine, parameters: Parameters, table: Rows) -> Score | None:
        """Return None: the log-likelihood of rows is scored anyway."""
        del engine, parameters, table
        return None
