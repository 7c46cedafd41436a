"""The log-likelihood of rows under a mixture of trees at many latent points, and its gradient.

Work is cut into slices of points and chunks of rows whose sizes do not depend on the number of
threads, and added up in their order: so the bits do not depend on it either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spnc.common.threads import ThreadTeam, even_bounds
from spnc.learners.continuous_mixture.cells import Cells, Floats32
from spnc.learners.continuous_mixture.decoder import Decoder

T = TypeVar("T")
Codes = NDArray[np.integer[Any]]
POINTS_AT_ONCE = 256
ROWS_AT_ONCE = 256


class Gradient(NamedTuple):
    """Of a mean log-likelihood."""

    arrays: list[Floats32]  # of the decoder
    points: Floats32
    shares: Floats32  # the part of the rows that each point explains: of its log weight


@dataclass(frozen=True, eq=False)
class Objective:
    """The trees over these cells that a decoder gives."""

    cells: Cells
    team: ThreadTeam

    def climb(
        self,
        decoder: Decoder,
        points: Floats32,
        log_weights: Floats32,
        codes: Codes,
        weights: Floats32,
    ) -> Gradient:
        """The gradient of the mean log-likelihood of rows, whose weights add up to one.

        `points[dimension, point]`, `codes[row, column]`.
        """
        cells, slices = self.cells, _parts(points.shape[1], POINTS_AT_ONCE)
        rows = cells.statistics(codes)
        theta = np.empty((cells.statistics_count, points.shape[1]), dtype=np.float32)
        shares = np.empty((len(rows), points.shape[1]), dtype=np.float32)

        def decode(part: slice) -> tuple[list[Floats32], Floats32]:
            outputs = decoder.forward(points[:, part])
            chances, log_z = cells.normalised(outputs[-1])
            theta[:, part] = cells.from_logits @ outputs[-1] - cells.from_normalisers @ log_z
            theta[0, part] += log_weights[part]
            return outputs, chances

        def explain(part: slice) -> None:
            own = np.matmul(rows[part], theta, out=shares[part])
            own -= own.max(axis=1, keepdims=True)
            np.exp(own, out=own)
            own *= (weights[part] / own.sum(axis=1))[:, None]

        def trace(number: int) -> Gradient:
            outputs, chances = decoded[number]
            pull = rows.T @ shares[:, slices[number]]
            gradient = cells.from_logits.T @ pull
            gradient -= chances * cells.spread(cells.from_normalisers.T @ pull)
            return Gradient(*decoder.backward(outputs, gradient), pull[0])

        decoded = self._all(decode, slices)
        self._all(explain, _parts(len(rows), ROWS_AT_ONCE))
        found = self._all(trace, range(len(slices)))
        totals = found[0].arrays
        for other in found[1:]:
            for total, part in zip(totals, other.arrays, strict=True):
                total += part
        return Gradient(
            totals,
            np.concatenate([each.points for each in found], axis=1),
            np.concatenate([each.shares for each in found]),
        )

    def average(
        self, logits: Floats32, log_weights: Floats32, codes: Codes, weights: NDArray[np.float64]
    ) -> float:
        """The mean log-likelihood of weighted rows under trees with these `[logit, point]`."""
        cells = self.cells
        log_z = cells.normalised(logits)[1]
        theta: Floats32 = cells.from_logits @ logits - cells.from_normalisers @ log_z
        theta[0] += log_weights

        def score(part: slice) -> float:
            own = cells.statistics(codes[part]) @ theta
            top = own.max(axis=1, keepdims=True)
            own -= top
            total = np.exp(own, out=own).sum(axis=1, dtype=np.float64)
            return float(((np.log(total) + top[:, 0]) * weights[part]).sum())

        found = self._all(score, _parts(len(codes), ROWS_AT_ONCE))
        return sum(found) / float(weights.sum())

    def _all(self, work: Callable[..., T], parts: Sequence[object]) -> list[T]:
        """What becomes of each part, in order."""
        found: list[T] = [None] * len(parts)  # type: ignore[list-item]

        def some(_: int, start: int, stop: int) -> None:
            with quiet():  # in a thread of its own
                for i in range(start, stop):
                    found[i] = work(parts[i])

        self.team.run(even_bounds(len(parts), min(self.team.threads, len(parts))), some)
        return found


def quiet() -> np.errstate:
    """No warnings while decoders are fitted: whether one ran away is seen from what it became.

    BLAS raises the flag of invalid operations now and then for what it does with the padding of
    matrices, though all that goes in and comes out are numbers (numpy's issue 24067).
    """
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def _parts(count: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, count)) for i in range(0, count, size)]
