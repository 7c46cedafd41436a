"""The decoder: a small network from a point of the latent space to the logits of a tree.

Points are the columns of a matrix, so that the output is `[logit, point]`. Gradients are computed
without an autodiff library: the network is a plain chain of layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from spnc.learners.continuous_mixture.number_leaves import Floats32

LEAK = np.float32(0.01)  # slope of the leaky ReLU below zero
LAST_SCALE = 0.3  # scales the last layer's initial weights, so that trees start near the plain one
# Adam's constants, as in Kingma & Ba.
MEAN_DECAY = 0.9
SQUARE_DECAY = 0.999
EPSILON = 1e-8


@dataclass(frozen=True, eq=False)
class Decoder:
    """The layers' weights `[out, in]` and biases."""

    weights: tuple[Floats32, ...]
    biases: tuple[Floats32, ...]

    @staticmethod
    def random(
        latent: int, hidden: Sequence[int], middle: Floats32, rng: np.random.Generator
    ) -> Decoder:
        """Return a decoder with random weights that maps all points near the logits `middle`."""
        sizes = [latent, *hidden, len(middle)]
        weights, biases = [], []
        for below, above in pairwise(sizes):
            draws = rng.standard_normal((above, below)) * np.sqrt(2.0 / below)
            weights.append(draws.astype(np.float32))
            biases.append(np.zeros(above, dtype=np.float32))
        weights[-1] *= np.float32(LAST_SCALE)
        biases[-1] = middle.copy()
        return Decoder(tuple(weights), tuple(biases))

    def forward(self, points: Floats32) -> list[Floats32]:
        """Return the output of every layer for points `[dimension, point]`.

        The points themselves come first, the logits last.
        """
        found = [points]
        last = len(self.weights) - 1
        for depth, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            out = weights @ found[-1]
            out += bias[:, None]
            if depth < last:
                np.maximum(out, LEAK * out, out=out)
            found.append(out)
        return found

    def backward(
        self, outputs: list[Floats32], gradient: Floats32
    ) -> tuple[list[Floats32], Floats32]:
        """Return the gradients of every array and of the points, from that of the logits."""
        weights, biases = [], []
        for depth in reversed(range(len(self.weights))):
            weights.append(gradient @ outputs[depth].T)
            biases.append(gradient.sum(axis=1))
            gradient = self.weights[depth].T @ gradient
            if depth > 0:
                gradient *= np.where(outputs[depth] > 0.0, np.float32(1.0), LEAK)
        return weights[::-1] + biases[::-1], gradient

    @property
    def arrays(self) -> tuple[Floats32, ...]:
        """All parameters: the weights, then the biases."""
        return self.weights + self.biases

    def with_arrays(self, arrays: Sequence[Floats32]) -> Decoder:
        """Return the same network with other parameters."""
        depth = len(self.weights)
        return Decoder(tuple(arrays[:depth]), tuple(arrays[depth:]))


class Adam:
    """Adam (Kingma & Ba 2015) as gradient ascent, with decoupled weight decay per array."""

    def __init__(self, arrays: Sequence[Floats32], decays: Sequence[float]) -> None:
        self._arrays, self._decays = arrays, decays
        self.mean = [np.zeros_like(a) for a in arrays]
        self.square = [np.zeros_like(a) for a in arrays]
        self.steps = 0

    def step(self, gradients: Sequence[Floats32], rate: float) -> None:
        """Take one step, changing the arrays in place."""
        self.steps += 1
        own = np.float32(rate / (1.0 - MEAN_DECAY**self.steps))
        root = np.float32(1.0 / np.sqrt(1.0 - SQUARE_DECAY**self.steps))
        moments = zip(self._arrays, self._decays, gradients, self.mean, self.square, strict=True)
        for array, decay, gradient, mean, square in moments:
            mean += np.float32(1.0 - MEAN_DECAY) * (gradient - mean)
            square += np.float32(1.0 - SQUARE_DECAY) * (gradient * gradient - square)
            array *= np.float32(1.0 - rate * decay)
            array += own * mean / (np.sqrt(square) * root + np.float32(EPSILON))
