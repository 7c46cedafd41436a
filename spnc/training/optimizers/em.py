"""Expectation-maximisation over the whole circuit, exact on shared nodes.

One pass gives the flow through every edge and leaf (`Engine.expected_counts`). With the prior's
pseudo-counts added, and normalised, the flows are the new weights and leaf parameters. Without
dropout the training log-likelihood plus the log prior never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from spnc.common.rng import random_stream
from spnc.program.program import Parameters
from spnc.program.score import Counts, Score
from spnc.registry import OPTIMIZERS, option
from spnc.registry.reads import Source
from spnc.training import FitTask, Memory
from spnc.training.dropout import Thinned
from spnc.training.loop import Iterative
from spnc.training.m_step import m_step
from spnc.training.optimizer_steps import OptimizerSteps


@OPTIMIZERS.register("em")
@dataclass(frozen=True, kw_only=True)
class Em(Iterative):
    """Expectation-maximisation on all rows, weights and leaves together."""

    reads: ClassVar[tuple[Source, ...]] = ()

    dropout: float = option(
        0.0,
        "the probability that a child of a sum is left out of an iteration; what is left out "
        "keeps its parameters",
        min=0,
        below=1,
    )

    def open(self, task: FitTask, train: Any) -> OptimizerSteps:
        """Return steps of EM, each on the whole circuit or, with dropout, on a thinned one."""
        return _Em(task, train) if self.dropout == 0.0 else _ThinnedEm(task, train, self.dropout)


@dataclass(frozen=True, eq=False)
class _Em:
    task: FitTask
    train: Any

    def initial_memory(self) -> Memory:
        return {}

    def score(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        counts = self.task.engine.expected_counts(parameters, self.train)
        return counts.score, counts

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        del iteration
        engine = self.task.engine
        found = counts or engine.expected_counts(parameters, self.train)
        return m_step(engine.program, parameters, found, self.task.smoothing), memory


@dataclass(frozen=True, eq=False)
class _ThinnedEm:
    task: FitTask
    train: Any
    share: float

    def initial_memory(self) -> Memory:
        return {}

    def score(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        return self.task.engine.score(parameters, self.train), None

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        del counts  # `score` returns none: those of the whole circuit are not needed
        engine, rng = self.task.engine, random_stream(self.task.seed, "dropout", iteration)
        thinned = Thinned.of(engine.program, parameters, self.share, rng)
        found = engine.expected_counts(thinned.parameters, self.train)
        return thinned.m_step(engine.program, parameters, found, self.task.smoothing), memory
