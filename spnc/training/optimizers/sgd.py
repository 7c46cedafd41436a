"""Stochastic gradient ascent on the mean log-likelihood plus log prior, in logits.

Weights and leaf probabilities are softmaxes of logits, so that every step ends in valid
parameters; gradients come from the expected counts of a mini-batch (`spnc.training.simplices`).
`adam` is Kingma & Ba, "Adam: a method for stochastic optimization" (2015); `plain` moves along an
exponential moving average of the gradients. With a prior, probabilities of zero become positive;
without one, they stay zero. Numeric leaves take damped steps of EM instead, with the same step
size (`spnc.training.moving_statistics`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from spnc.common.arrays import Floats
from spnc.program.program import Parameters
from spnc.program.score import Counts, Score
from spnc.registry import OPTIMIZERS, Conflict, option
from spnc.training import FitTask, Memory
from spnc.training.adam import SQUARES, adam_direction
from spnc.training.batches import Batches
from spnc.training.loop import Iterative
from spnc.training.moving_statistics import MovingStatistics
from spnc.training.optimizer_steps import OptimizerSteps
from spnc.training.simplices import Simplices


@OPTIMIZERS.register("sgd")
@dataclass(frozen=True, kw_only=True)
class Sgd(Iterative):
    """Stochastic gradient ascent in logits; an iteration is one pass over the mini-batches."""

    max_iterations: int = option(100, "how many iterations at most", min=0)
    rule: Literal["adam", "plain"] = option(
        "adam", "whether each logit's step is scaled by its past gradients (`adam`) or not"
    )
    learning_rate: float = option(0.1, "the initial step size", above=0)
    schedule: Literal["constant", "inverse-sqrt", "cosine"] = option(
        "cosine",
        "how the step size falls: not at all, with the square root of the epochs, or along a "
        "cosine to zero at `max_iterations`",
    )
    momentum: float = option(
        0.9, "decay of the exponential moving average of the gradients", min=0, below=1
    )
    squares: float = option(
        SQUARES, "with `adam`, decay of the average of the squared gradients", min=0, below=1
    )
    batch_rows: int = option(1000, "approximate number of training rows in a mini-batch", min=1)

    def conflicts(self) -> Iterator[Conflict]:
        """Report `squares` with `plain`: only Adam uses squared gradients."""
        if self.rule == "plain" and self.squares != SQUARES:
            yield Conflict(
                "squares",
                "`squares` has no effect with the rule `plain`",
                "remove it, or set `rule: adam`",
            )

    def cut(self, iterations: int) -> Self | None:
        """Return None for `cosine`: its step sizes depend on the total number of iterations."""
        return None if self.schedule == "cosine" else super().cut(iterations)

    def open(self, task: FitTask, train: Any) -> OptimizerSteps:
        """Return steps of one epoch each."""
        program = task.engine.program
        view, numeric = (
            Simplices.of(program, task.smoothing),
            MovingStatistics(program, task.smoothing),
        )
        return _Ascent(self, task, train, Batches.of(task, self.batch_rows), view, numeric)

    def rate(self, epochs: float) -> float:
        """Return the step size after this many epochs."""
        if self.schedule == "inverse-sqrt":
            return self.learning_rate / math.sqrt(1.0 + epochs)
        if self.schedule == "cosine":
            return (
                self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * epochs / self.max_iterations))
            )
        return self.learning_rate


@dataclass(frozen=True, eq=False)
class _Ascent:
    options: Sgd
    task: FitTask
    train: Any
    batches: Batches
    view: Simplices
    numeric: MovingStatistics

    def initial_memory(self) -> Memory:
        names = ("mean", "squares") if self.options.rule == "adam" else ("mean",)
        gradients = {name: np.zeros(self.view.entries) for name in names}
        return {**gradients, **self.numeric.initial_memory()}

    def score(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        return self.task.engine.score(parameters, self.train), None

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        del counts
        rows = self.task.train.total
        engine, view, numeric = self.task.engine, self.view, self.numeric
        logits = view.logits(parameters)
        p = view.probabilities(logits)
        if iteration == 0 and numeric.tables:
            every = engine.expected_counts(parameters, self.train)
            memory = {**memory, **numeric.started(every)}
        for t, batch in self.batches.visits(iteration):
            parameters = view.parameters(p, parameters)
            found = engine.expected_counts(parameters, batch)
            if found.score.possible == 0.0:
                continue  # without a possible row there is no gradient
            rate = self.options.rate(t / len(self.batches.loaded))
            direction, averages = self._direction(t, view.gradient(p, found, rows), memory)
            logits = logits + rate * direction
            p = view.probabilities(logits)
            scale = rows / (found.score.possible + found.score.impossible)
            memory = {**averages, **numeric.moved(memory, found, scale, rate)}
            tables = numeric.estimated(memory, parameters.tables)
            parameters = Parameters(parameters.weights, tables)
        return view.parameters(p, parameters), memory

    def _direction(self, t: int, gradient: Floats, memory: Memory) -> tuple[Floats, Memory]:
        """Return the direction of a step, and the new averages, corrected for starting at zero."""
        first, second = self.options.momentum, self.options.squares
        if self.options.rule == "adam":
            return adam_direction(t, gradient, memory, first, second)
        mean = first * memory["mean"] + (1.0 - first) * gradient
        return mean / (1.0 - first ** (t + 1)), {"mean": mean}
