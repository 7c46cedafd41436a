"""Stepwise EM: expected counts from mini-batches, averaged over the past with a fading memory.

After mini-batch t the memory of expected counts is (1 - e) · memory + e · new, with the step size
e = (t + 2)^-power, and an M-step follows at once. See Cappé & Moulines, "On-line EM algorithm for
latent data models" (2009), and Liang & Klein, "Online EM for unsupervised models" (2009). The
memory begins as the expected counts of all rows, and new counts are scaled to the weight of all
rows, so that the prior weighs as much as it does in `em`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spnc.program.program import Parameters
from spnc.program.score import Counts, Score
from spnc.registry import OPTIMIZERS, option
from spnc.training import Fit, Memory
from spnc.training.batches import Batches
from spnc.training.loop import Iterative, Steps
from spnc.training.m_step import m_step


@OPTIMIZERS.register("stepwise-em")
@dataclass(frozen=True, kw_only=True)
class StepwiseEm(Iterative):
    """Expectation-maximisation on mini-batches; an iteration is one pass over all of them."""

    batch_rows: int = option(1000, "training rows in a mini-batch, about", min=1)
    power: float = option(
        0.6,
        "how fast the past fades: after t mini-batches a new one counts (t + 2) to the minus power",
        min=0.5,
        max=1,
    )

    def open(self, fit: Fit, train: Any) -> Steps:
        """Steps of one epoch each."""
        return _StepwiseEm(fit, train, Batches.of(fit, self.batch_rows), self.power)


@dataclass(frozen=True, eq=False)
class _StepwiseEm:
    fit: Fit
    train: Any
    batches: Batches
    power: float

    def begin(self) -> Memory:
        start = self.fit.start
        rows = zip(start.tables, self.fit.engine.program.leaves, strict=True)
        tables = {
            f"tables.{i}": np.zeros((len(t), leaf.states)) for i, (t, leaf) in enumerate(rows)
        }
        return {"weights": np.zeros(len(start.weights)), **tables}

    def look(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        return self.fit.engine.score(parameters, self.train), None

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        del counts
        engine = self.fit.engine
        total = float(self.fit.train.weights.sum())
        if iteration == 0:
            memory = _as_memory(engine.expected_counts(parameters, self.train), 1.0)
        for t, batch in self.batches.visits(iteration):
            found = engine.expected_counts(parameters, batch)
            weight = found.score.possible + found.score.impossible
            size = (t + 2.0) ** -self.power
            new = _as_memory(found, total / weight)
            memory = {name: (1.0 - size) * memory[name] + size * new[name] for name in new}
            parameters = m_step(
                engine.program, parameters, _as_counts(memory, found.score), self.fit.smoothing
            )
        return parameters, memory


def _as_memory(counts: Counts, scale: float) -> Memory:
    tables = {f"tables.{i}": scale * table for i, table in enumerate(counts.tables)}
    return {"weights": scale * counts.weights, **tables}


def _as_counts(memory: Memory, score: Score) -> Counts:
    tables = tuple(memory[f"tables.{i}"] for i in range(len(memory) - 1))
    return Counts(memory["weights"], tables, score)
