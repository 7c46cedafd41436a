"""The log-likelihood of rows under a mixture of trees at many latent points, and its gradient.

Work is cut into slices of points and chunks of rows whose sizes do not depend on the number of
threads, and results are added up in a fixed order, so that their bits do not depend on it either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spnc.common.threads import ThreadTeam, even_bounds
from spnc.learners.continuous_mixture.decoder import Decoder
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.number_leaves import DecodedLeaves, Floats32, RowCells

T = TypeVar("T")
POINTS_AT_ONCE = 256  # in one piece of a thread's work
ROWS_AT_ONCE = 256


class Gradient(NamedTuple):
    """The gradient of a mean log-likelihood."""

    arrays: list[Floats32]  # by the decoder's arrays
    points: Floats32  # by the points' coordinates
    shares: Floats32  # by unnormalised log weights: the share of the rows each point explains


@dataclass(frozen=True, eq=False)
class Objective:
    """The log-likelihood of rows under a mixture of trees whose logits a decoder gives."""

    tree: LogLinearTree
    team: ThreadTeam

    def gradient(
        self,
        decoder: Decoder,
        points: Floats32,
        log_weights: Floats32,
        cells: RowCells,
        weights: Floats32,
    ) -> Gradient:
        """Return the gradient of the mean log-likelihood of rows whose weights sum to one.

        `points` is `[dimension, point]`, `cells` is `[row, column]`.
        """
        tree, slices = self.tree, _parts(points.shape[1], POINTS_AT_ONCE)
        numbers, logits = tree.numbers, tree.logits
        rows = tree.statistics(numbers.states_of(cells))
        number_rows = numbers.rows(cells)
        theta = np.empty((tree.statistics_count, points.shape[1]), dtype=np.float32)
        shares = np.empty((len(rows), points.shape[1]), dtype=np.float32)

        def decode(part: slice) -> tuple[list[Floats32], Floats32, DecodedLeaves]:
            outputs = decoder.forward(points[:, part])
            own = outputs[-1][:logits]
            chances, log_z = tree.normalised(own)
            theta[:, part] = tree.from_logits @ own - tree.from_normalisers @ log_z
            theta[0, part] += log_weights[part]
            return outputs, chances, numbers.decoded(outputs[-1][logits:])

        def explain(part: slice) -> None:
            own = np.matmul(rows[part], theta, out=shares[part])
            if numbers:
                numbers.add_log_likelihoods(own, leaves, number_rows.take(part))
            own -= own.max(axis=1, keepdims=True)
            np.exp(own, out=own)
            own *= (weights[part] / own.sum(axis=1))[:, None]

        def trace(number: int) -> Gradient:
            outputs, chances, own = decoded[number]
            explained = shares[:, slices[number]]
            pull = rows.T @ explained
            gradient = tree.from_logits.T @ pull
            gradient -= chances * tree.spread(tree.from_normalisers.T @ pull)
            if numbers:
                others = numbers.gradient(own, number_rows, explained)
                gradient = np.concatenate([gradient, others])
            return Gradient(*decoder.backward(outputs, gradient), pull[0])

        decoded = self._all(decode, slices)
        leaves = DecodedLeaves.joined([own for _, _, own in decoded], numbers.columns)
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
        self,
        outputs: Floats32,
        log_weights: Floats32,
        cells: RowCells,
        weights: NDArray[np.float64],
    ) -> float:
        """Return the mean log-likelihood of weighted rows; `outputs` is `[output, point]`.

        What is the same at all points (`NumberLeaves.constant`) is left out.
        """
        rows_under = log_likelihoods(self.tree, outputs, log_weights)

        def score(part: slice) -> float:
            own = rows_under(cells[part])
            top = own.max(axis=1, keepdims=True)
            own -= top
            total = np.exp(own, out=own).sum(axis=1, dtype=np.float64)
            return float(((np.log(total) + top[:, 0]) * weights[part]).sum())

        found = self._all(score, _parts(len(cells), ROWS_AT_ONCE))
        return sum(found) / float(weights.sum())

    def _all(self, work: Callable[..., T], parts: Sequence[object]) -> list[T]:
        """Return the result for each part, in order."""
        found: list[T] = [None] * len(parts)  # type: ignore[list-item]

        def some(_: int, start: int, stop: int) -> None:
            with quiet():  # numpy's error state is per thread
                for i in range(start, stop):
                    found[i] = work(parts[i])

        self.team.run(even_bounds(len(parts), min(self.team.threads, len(parts))), some)
        return found


def log_likelihoods(
    tree: LogLinearTree, outputs: Floats32, log_weights: Floats32
) -> Callable[[RowCells], Floats32]:
    """Return what computes the log-likelihoods of rows with each point, `[row, point]`.

    `outputs` is `[output, point]`.
    """
    logits, numbers = outputs[: tree.logits], tree.numbers
    log_z = tree.normalised(logits)[1]
    theta: Floats32 = tree.from_logits @ logits - tree.from_normalisers @ log_z
    theta[0] += log_weights
    leaves = numbers.decoded(outputs[tree.logits :]) if numbers else None

    def rows_under(cells: RowCells) -> Floats32:
        found = tree.statistics(numbers.states_of(cells)) @ theta
        if leaves is not None:
            numbers.add_log_likelihoods(found, leaves, numbers.rows(cells))
        return found

    return rows_under


def quiet() -> np.errstate:
    """Silence floating-point warnings while decoders are fitted; divergence is checked at the end.

    BLAS sometimes raises the flag of invalid operations because of the padding of matrices, even
    though all inputs and outputs are finite (numpy issue 24067).
    """
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def _parts(count: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, count)) for i in range(0, count, size)]
