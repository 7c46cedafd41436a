"""An exponential moving average of the parameters, taken beside any optimiser.

Steps on random parts of the rows or of the circuit wander around a maximum; their average lies
nearer to it than most of them (Polyak & Juditsky, "Acceleration of stochastic approximation by
averaging", 1992). The optimiser continues from its own parameters, which are kept in the memory;
the average is scored, validated and saved. An average of probability vectors is a probability
vector, and an average of means, rates or standard deviations is one, too, so the averaged
parameters are always valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spnc.common.arrays import Floats
from spnc.program.program import Parameters
from spnc.program.score import Counts, Score
from spnc.training import FitTask, Memory
from spnc.training.optimizer_steps import OptimizerSteps


@dataclass(frozen=True, eq=False)
class Averaged:
    """The steps of an optimiser, and the moving average of the parameters they lead to."""

    steps: OptimizerSteps
    task: FitTask
    train: Any
    decay: float  # of the average, in the long run

    def initial_memory(self) -> Memory:
        """Return the optimiser's own parameters (at first those of the start) and its memory."""
        return _as_memory(self.task.start, self.steps.initial_memory())

    def score(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        """Return the score of the average, without counts: the optimiser has other parameters."""
        return self.task.engine.score(parameters, self.train), None

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        """Take one step of the optimiser and move the average towards the new parameters."""
        del counts
        tables = tuple(memory[f"own.tables.{i}"] for i in range(len(parameters.tables)))
        own = Parameters(memory["own.weights"], tables)
        inner = {n.removeprefix("inner."): a for n, a in memory.items() if n.startswith("inner.")}
        own, inner_after = self.steps.step(iteration, own, inner, None)
        # The decay is smaller in the first iterations, so that the start is soon forgotten.
        new = 1.0 - min(self.decay, (1.0 + iteration) / (10.0 + iteration))

        def moved(average: Floats, towards: Floats) -> Floats:
            # In this form, a parameter that does not move keeps its exact bits.
            found: Floats = average + new * (towards - average)
            return found

        tables = tuple(map(moved, parameters.tables, own.tables))
        average = Parameters(moved(parameters.weights, own.weights), tables)
        return average, _as_memory(own, inner_after)


def _as_memory(own: Parameters, inner: Memory) -> Memory:
    return {
        "own.weights": own.weights,
        **{f"own.tables.{i}": table for i, table in enumerate(own.tables)},
        **{f"inner.{name}": array for name, array in inner.items()},
    }
