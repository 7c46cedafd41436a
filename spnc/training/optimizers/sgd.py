"""Stochastic gradient ascent on the mean log-likelihood plus log prior, in logits.

Weights and leaf probabilities are softmaxes of logits, so that every step ends in valid
parameters; gradients come from the expected counts of a mini-batch (`spnc.training.simplices`).
`adam` is Kingma & Ba, "Adam: a method for stochastic optimization" (2015); `plain` moves along a
running mean of the gradients. Where a prior is set nothing stays at zero; without one, a
probability of exactly zero does.
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
from spnc.training import Fit, Memory
from spnc.training.batches import Batches
from spnc.training.loop import Iterative, Steps
from spnc.training.simplices import Simplices

_SQUARES = 0.999
_EPSILON = 1e-8  # of a gradient of the mean log-likelihood: below it, steps fade out


@OPTIMIZERS.register("sgd")
@dataclass(frozen=True, kw_only=True)
class Sgd(Iterative):
    """Stochastic gradient ascent in logits; an iteration is one pass over the mini-batches."""

    max_iterations: int = option(100, "how many iterations at most", min=0)
    rule: Literal["adam", "plain"] = option(
        "adam", "whether each logit's steps are scaled by its own gradients so far, or not"
    )
    learning_rate: float = option(0.1, "the size of steps, at the beginning", above=0)
    schedule: Literal["constant", "inverse-sqrt", "cosine"] = option(
        "cosine",
        "how steps shrink: not at all, with the root of the epochs, or to none at max_iterations",
    )
    momentum: float = option(0.9, "how much of the mean gradient is past gradients", min=0, below=1)
    squares: float = option(
        _SQUARES, "the same for the mean of squared gradients, with `adam`", min=0, below=1
    )
    batch_rows: int = option(1000, "training rows in a mini-batch, about", min=1)

    def conflicts(self) -> Iterator[Conflict]:
        """Squared gradients are Adam's."""
        if self.rule == "plain" and self.squares != _SQUARES:
            yield Conflict(
                "squares",
                "`squares` does nothing with the rule `plain`",
                "remove it, or set `rule: adam`",
            )

    def cut(self, iterations: int) -> Self | None:
        """With `cosine` the size of every step depends on how many there will be."""
        return None if self.schedule == "cosine" else super().cut(iterations)

    def open(self, fit: Fit, train: Any) -> Steps:
        """Steps of one epoch each."""
        view = Simplices.of(fit.engine.program, fit.smoothing)
        return _Ascent(self, fit, train, Batches.of(fit, self.batch_rows), view)

    def rate(self, epochs: float) -> float:
        """The size of a step after so many epochs."""
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
    fit: Fit
    train: Any
    batches: Batches
    view: Simplices

    def begin(self) -> Memory:
        names = ("mean", "squares") if self.options.rule == "adam" else ("mean",)
        return {name: np.zeros(self.view.entries) for name in names}

    def look(self, parameters: Parameters) -> tuple[Score, Counts | None]:
        return self.fit.engine.score(parameters, self.train), None

    def step(
        self, iteration: int, parameters: Parameters, memory: Memory, counts: Counts | None
    ) -> tuple[Parameters, Memory]:
        del counts
        rows = float(self.fit.train.weights.sum())
        logits = self.view.logits(parameters)
        p = self.view.probabilities(logits)
        for t, batch in self.batches.visits(iteration):
            found = self.fit.engine.expected_counts(self.view.parameters(p, parameters), batch)
            if found.score.possible == 0.0:
                continue  # no row says which way is up
            direction, memory = self._direction(t, self.view.gradient(p, found, rows), memory)
            logits = logits + self.options.rate(t / len(self.batches.loaded)) * direction
            p = self.view.probabilities(logits)
        return self.view.parameters(p, parameters), memory

    def _direction(self, t: int, gradient: Floats, memory: Memory) -> tuple[Floats, Memory]:
        """Where to go, by the gradients so far. Both means begin at zero, which is made up for."""
        first, second = self.options.momentum, self.options.squares
        mean = first * memory["mean"] + (1.0 - first) * gradient
        unbiased = mean / (1.0 - first ** (t + 1))
        if self.options.rule == "plain":
            return unbiased, {"mean": mean}
        squares = second * memory["squares"] + (1.0 - second) * gradient**2
        scale = np.sqrt(squares / (1.0 - second ** (t + 1))) + _EPSILON
        return unbiased / scale, {"mean": mean, "squares": squares}
