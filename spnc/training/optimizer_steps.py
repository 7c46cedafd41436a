"""The interface between the training loop and an optimiser: one step at a time."""

from __future__ import annotations

from typing import Protocol

from spnc.program.program import Parameters
from spnc.program.score import Counts, Score
from spnc.training import Memory


class OptimizerSteps(Protocol):
    """An optimiser opened on the rows of one fit."""

    def initial_memory(self) -> Memory:
        """Return the memory before the first step; names and shapes never change afterwards."""
        ...

    def score(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        """Return the score of all training rows, and their expected counts if computed anyway."""
        ...

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        """Take one step. `counts` is what `score` returned for these parameters, if it was called.

        Return the new parameters and memory.
        """
        ...
