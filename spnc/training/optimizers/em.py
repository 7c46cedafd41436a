"""Expectation-maximisation over the whole circuit, exact on shared nodes.

One pass gives the flow through every edge and leaf (`Engine.expected_counts`); normalised, and
with the prior's pseudo-counts, these are the new weights and leaf parameters. Without dropout the
training log-likelihood plus the log prior never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spnc.common.rng import random_stream
from spnc.program.program import Parameters
from spnc.program.score import Counts, Score
from spnc.registry import OPTIMIZERS, option
from spnc.training import Fit, Memory
from spnc.training.dropout import Thinned
from spnc.training.loop import Iterative, Steps
from spnc.training.m_step import m_step


@OPTIMIZERS.register("em")
@dataclass(frozen=True, kw_only=True)
class Em(Iterative):
    """Expectation-maximisation on all rows, weights and leaves together."""

    dropout: float = option(
        0.0,
        "the share of the children of sums that is left out, at random, in every iteration; "
        "what is left out keeps its parameters",
        min=0,
        below=1,
    )

    def open(self, fit: Fit, train: Any) -> Steps:
        """Steps of EM, in the whole circuit or in one thinned anew for every step."""
        return _Em(fit, train) if self.dropout == 0.0 else _ThinnedEm(fit, train, self.dropout)


@dataclass(frozen=True, eq=False)
class _Em:
    fit: Fit
    train: Any

    def begin(self) -> Memory:
        return {}

    def look(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        counts = self.fit.engine.expected_counts(parameters, self.train)
        return counts.score, counts

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        del iteration
        engine = self.fit.engine
        found = counts or engine.expected_counts(parameters, self.train)
        return m_step(engine.program, parameters, found, self.fit.smoothing), memory


@dataclass(frozen=True, eq=False)
class _ThinnedEm:
    fit: Fit
    train: Any
    share: float

    def begin(self) -> Memory:
        return {}

    def look(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        return self.fit.engine.score(parameters, self.train), None

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        del counts  # of the whole circuit there are none
        engine, rng = self.fit.engine, random_stream(self.fit.seed, "dropout", iteration)
        thinned = Thinned.of(engine.program, parameters, self.share, rng)
        found = engine.expected_counts(thinned.parameters, self.train)
        return thinned.m_step(engine.program, parameters, found, self.fit.smoothing), memory
