"""Stepwise EM: a moving average of the expected counts of mini-batches.

After mini-batch t the average is (1 - e) · average + e · new counts, with the step size
e = (t + 2)^-power, and an M-step follows at once. See Cappé & Moulines, "On-line EM algorithm for
latent data models" (2009), and Liang & Klein, "Online EM for unsupervised models" (2009). The
average starts as the expected counts of all rows, and new counts are scaled to the weight of all
rows, so that the prior has the same influence as in `em`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.program.program import Parameters
from spnc.program.score import Counts, Score
from spnc.registry import OPTIMIZERS, option
from spnc.training import FitTask, Memory
from spnc.training.batches import Batches
from spnc.training.loop import Iterative
from spnc.training.m_step import m_step
from spnc.training.optimizer_steps import OptimizerSteps


@OPTIMIZERS.register("stepwise-em")
@dataclass(frozen=True, kw_only=True)
class StepwiseEm(Iterative):
    """Expectation-maximisation on mini-batches; an iteration is one pass over all of them."""

    batch_rows: int = option(1000, "approximate number of training rows in a mini-batch", min=1)
    power: float = option(
        0.6,
        "how fast the past is forgotten: mini-batch t enters the average with weight "
        "(t + 2) to the minus power",
        min=0.5,
        max=1,
    )

    def open(self, task: FitTask, train: Any) -> OptimizerSteps:
        """Return steps of one epoch each."""
        return _StepwiseEm(task, train, Batches.of(task, self.batch_rows), self.power)


@dataclass(frozen=True, eq=False)
class _StepwiseEm:
    task: FitTask
    train: Any
    batches: Batches
    power: float

    def initial_memory(self) -> Memory:
        start = self.task.start
        rows = zip(start.tables, self.task.engine.program.leaves, strict=True)
        tables = {
            f"tables.{i}": np.zeros((len(t), leaf.statistic_count))
            for i, (t, leaf) in enumerate(rows)
        }
        return {"weights": np.zeros(len(start.weights)), **tables}

    def score(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        return self.task.engine.score(parameters, self.train), None

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        del counts
        engine = self.task.engine
        total = self.task.train.total
        if iteration == 0:
            memory = _as_memory(engine.expected_counts(parameters, self.train), 1.0)
        for t, batch in self.batches.visits(iteration):
            found = engine.expected_counts(parameters, batch)
            weight = found.score.possible + found.score.impossible
            size = (t + 2.0) ** -self.power
            new = _as_memory(found, total / weight)
            memory = {name: (1.0 - size) * memory[name] + size * new[name] for name in new}
            parameters = m_step(
                engine.program, parameters, _as_counts(memory, found.score), self.task.smoothing
            )
        return parameters, memory


def _as_memory(counts: Counts, scale: float) -> Memory:
    tables = {f"tables.{i}": scale * table for i, table in enumerate(counts.tables)}
    return {"weights": scale * counts.weights, **tables}


def _as_counts(memory: Memory, score: Score) -> Counts:
    tables = tuple(memory[f"tables.{i}"] for i in range(len(memory) - 1))
    return Counts(memory["weights"], tables, score)
