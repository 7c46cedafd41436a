"""A fading mean of the parameters, taken beside any optimiser.

Steps on random parts of the rows or the circuit wander around a maximum; their mean lies nearer to
it than most of them (Polyak & Juditsky, "Acceleration of stochastic approximation by averaging",
1992). The optimiser goes on from its own parameters, kept in the memory; the mean is what is looked
at, judged on the validation rows and kept. A mean of probabilities is one, so it is always valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spnc.common.arrays import Floats
from spnc.program.program import Parameters
from spnc.program.score import Counts, Score
from spnc.training import Fit, Memory

if TYPE_CHECKING:
    from spnc.training.loop import Steps


@dataclass(frozen=True, eq=False)
class Averaged:
    """The steps of an optimiser, and the mean of where they led."""

    steps: Steps
    fit: Fit
    train: Any
    past: float  # how much of the mean is the mean before, in the long run

    def begin(self) -> Memory:
        """The optimiser's own parameters, which begin at the start, and its memory."""
        return _as_memory(self.fit.start, self.steps.begin())

    def look(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        """The score of the mean; expected counts would have to be those of the optimiser's own."""
        return self.fit.engine.score(parameters, self.train), None

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        """One step of the optimiser, and the mean moved towards where it led."""
        del counts
        tables = tuple(memory[f"own.tables.{i}"] for i in range(len(parameters.tables)))
        own = Parameters(memory["own.weights"], tables)
        inner = {n.removeprefix("inner."): a for n, a in memory.items() if n.startswith("inner.")}
        own, inner_after = self.steps.step(iteration, own, inner, None)
        # At first the past fades faster, so that the start is soon forgotten.
        new = 1.0 - min(self.past, (1.0 + iteration) / (10.0 + iteration))

        def moved(mean: Floats, towards: Floats) -> Floats:
            found: Floats = mean + new * (towards - mean)  # what does not move stays, to the bit
            return found

        mean_tables = tuple(map(moved, parameters.tables, own.tables))
        mean = Parameters(moved(parameters.weights, own.weights), mean_tables)
        return mean, _as_memory(own, inner_after)


def _as_memory(own: Parameters, inner: Memory) -> Memory:
    return {
        "own.weights": own.weights,
        **{f"own.tables.{i}": table for i, table in enumerate(own.tables)},
        **{f"inner.{name}": array for name, array in inner.items()},
    }
