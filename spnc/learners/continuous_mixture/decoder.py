"""The decoder: a small network from a point of the latent space to the logits of a tree.

Points stand in the columns of a matrix, so that what comes out is `[logit, point]`. Gradients are
worked out by hand: the network is a chain of layers, and only its ends are unusual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spnc.learners.continuous_mixture.cells import Floats32

LEAK = np.float32(0.01)  # the slope below zero
LAST_SCALE = 0.3  # of the last layer's first weights: points begin near the plain tree


@dataclass(frozen=True, eq=False)
class Decoder:
    """The layers' weights `[out, in]` and shifts."""

    weights: tuple[Floats32, ...]
    shifts: tuple[Floats32, ...]

    @staticmethod
    def random(
        latent: int, hidden: Sequence[int], middle: Floats32, rng: np.random.Generator
    ) -> Decoder:
        """Random weights, and all points near the logits `middle`."""
        sizes = [latent, *hidden, len(middle)]
        weights, shifts = [], []
        for below, above in pairwise(sizes):
            draws = rng.standard_normal((above, below)) * np.sqrt(2.0 / below)
            weights.append(draws.astype(np.float32))
            shifts.append(np.zeros(above, dtype=np.float32))
        weights[-1] *= np.float32(LAST_SCALE)
        shifts[-1] = middle.copy()
        return Decoder(tuple(weights), tuple(shifts))

    def forward(self, points: Floats32) -> list[Floats32]:
        """What every layer makes of points `[dimension, point]`: these first, the logits last."""
        found = [points]
        last = len(self.weights) - 1
        for depth, (weights, shift) in enumerate(zip(self.weights, self.shifts, strict=True)):
            out = weights @ found[-1]
            out += shift[:, None]
            if depth < last:
                np.maximum(out, LEAK * out, out=out)
            found.append(out)
        return found

    def backward(
        self, outputs: list[Floats32], gradient: Floats32
    ) -> tuple[list[Floats32], Floats32]:
        """From the gradient of the logits to those of every array, and to that of the points."""
        weights, shifts = [], []
        for depth in reversed(range(len(self.weights))):
            weights.append(gradient @ outputs[depth].T)
            shifts.append(gradient.sum(axis=1))
            gradient = self.weights[depth].T @ gradient
            if depth > 0:
                gradient *= np.where(outputs[depth] > 0.0, np.float32(1.0), LEAK)
        return weights[::-1] + shifts[::-1], gradient

    @property
    def arrays(self) -> tuple[Floats32, ...]:
        """All parameters."""
        return self.weights + self.shifts

    def with_arrays(self, arrays: Sequence[Floats32]) -> Decoder:
        """The same network with other parameters."""
        depth = len(self.weights)
        return Decoder(tuple(arrays[:depth]), tuple(arrays[depth:]))


class Adam:
    """Adam (Kingma & Ba 2015), climbing; arrays shrink by `decay` times the rate in each step."""

    def __init__(self, arrays: Sequence[Floats32], decays: Sequence[float]) -> None:
        self._arrays, self._decays = arrays, decays
        self._mean = [np.zeros_like(a) for a in arrays]
        self._square = [np.zeros_like(a) for a in arrays]
        self._steps = 0

    def step(self, gradients: Sequence[Floats32], rate: float) -> None:
        """One step uphill, in place."""
        self._steps += 1
        own = np.float32(rate / (1.0 - 0.9**self._steps))
        root = np.float32(1.0 / np.sqrt(1.0 - 0.999**self._steps))
        moments = zip(self._arrays, self._decays, gradients, self._mean, self._square, strict=True)
        for array, decay, gradient, mean, square in moments:
            mean += np.float32(0.1) * (gradient - mean)
            square += np.float32(0.001) * (gradient * gradient - square)
            array *= np.float32(1.0 - rate * decay)
            array += own * mean / (np.sqrt(square) * root + np.float32(1e-8))
