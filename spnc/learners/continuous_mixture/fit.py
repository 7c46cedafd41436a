"""Fitting a continuous mixture of trees to rows.

The likelihood of a row is an integral over the latent space, a standard normal. It is taken as a
mean over points that fill the space evenly (a Sobol sequence), shifted at random in each step.
That keeps the decoder smooth: no point is ever met twice, so none can be made to fit a single row.

Then the decoder is left alone and the points *settle*: from the places of the sequence they move,
and change their weights, to where they explain the rows best. A thousand settled points are worth
several thousand others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from spnc.common.threads import ThreadTeam, thread_count
from spnc.data.dataset import Column, Table
from spnc.learners.continuous_mixture.cells import Cells, Floats32
from spnc.learners.continuous_mixture.decoder import Adam, Decoder
from spnc.learners.continuous_mixture.objective import Codes, Objective, quiet

LOOKS = 40  # how often the validation rows are looked at, at most
MOST_JUDGED = 5000  # of them are looked at
SETTLING_RATE = 0.01
MEASURED_STEPS = 4
LONG_STEP = 0.1  # seconds: what takes so long need not be measured twice


@dataclass(frozen=True)
class Plan:
    """How a decoder is shaped and fitted."""

    points: int
    latent: int
    hidden: tuple[int, ...]
    steps: int
    settling: int  # steps as well
    batch_rows: int
    rate: float  # of learning, at first; it sinks to zero as half a cosine wave
    decay: float


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows, and how often each occurs."""

    codes: Codes
    weights: NDArray[np.float64]

    @staticmethod
    def of(table: Table) -> Rows:
        """Those of a table without missing cells."""
        distinct = table.distinct()
        return Rows(distinct.values.astype(np.int32), distinct.weights)

    def some(self, most: int, rng: np.random.Generator) -> Rows:
        """At most so many of them, drawn at random."""
        if len(self.codes) <= most:
            return self
        chosen = np.sort(rng.choice(len(self.codes), most, replace=False))
        return Rows(self.codes[chosen], self.weights[chosen])

    def batches(self, size: int, rng: np.random.Generator) -> Iterator[tuple[Codes, Floats32]]:
        """Some rows at a time, with weights that add up to one, for ever.

        Rows as they were before equal ones were joined, in random order; then again in another.
        Of these, equal ones are joined in every batch.
        """
        ends = np.cumsum(self.weights)
        count = max(1, round(float(ends[-1])))
        size = min(size, count)
        while True:
            places = (rng.permutation(count) + 0.5) * (ends[-1] / count)
            order = np.minimum(np.searchsorted(ends, places), len(ends) - 1)
            for begin in range(0, count - size + 1, size):
                chosen, times = np.unique(order[begin : begin + size], return_counts=True)
                yield self.codes[chosen], (times / size).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Mixture:
    """A decoder and the points, each with a weight, that it gives trees for."""

    decoder: Decoder
    points: Floats32  # [dimension, point]
    log_weights: Floats32

    def logits(self) -> Floats32:
        """The parameters of all trees, `[logit, point]`."""
        return self.decoder.forward(self.points)[-1]

    def weights(self) -> NDArray[np.float64]:
        """The points' weights, which add up to one."""
        raised = np.exp(self.log_weights.astype(np.float64))
        found: NDArray[np.float64] = raised / raised.sum()
        return found

    def copy(self) -> Mixture:
        """The same, to be kept while this one changes."""
        decoder = self.decoder.with_arrays([a.copy() for a in self.decoder.arrays])
        return Mixture(decoder, self.points.copy(), self.log_weights.copy())


class Fit:
    """A decoder's fitting to rows; `judged` are rows that say which step was best."""

    def __init__(
        self,
        plan: Plan,
        cells: Cells,
        rows: Rows,
        judged: Rows | None,
        rng: np.random.Generator,
        step_taken: Callable[[], None],
    ) -> None:
        self._plan, self._rng, self._step_taken = plan, rng, step_taken
        self._judged = judged.some(MOST_JUDGED, rng) if judged is not None else None
        self._objective = Objective(cells, ThreadTeam(thread_count(None)))
        self._batches = rows.batches(plan.batch_rows, rng)
        self._grid = _grid(plan.points, plan.latent)

    def run(self, plain: Sequence[NDArray[np.float64]]) -> Mixture:
        """The mixture; all trees begin near this one, `plain[column][state of parent, state]`."""
        plan = self._plan
        decoder = Decoder.random(
            plan.latent, plan.hidden, self._objective.cells.logits_of(plain), self._rng
        )
        mixture = Mixture(decoder, *_uniform(plan.points, plan.latent))
        try:
            mixture = self._best_of(plan.steps, mixture, self._learning(mixture))
            return self._best_of(plan.settling, mixture, self._settling(mixture))
        finally:
            self._objective.team.close()

    def _learning(self, mixture: Mixture) -> Callable[[float], None]:
        """Steps of the decoder, each at points of its own."""
        plan, decoder = self._plan, mixture.decoder
        decays = [plan.decay] * len(decoder.weights) + [0.0] * len(decoder.shifts)
        adam = Adam(decoder.arrays, decays)

        def step(rate: float) -> None:
            points = _normal(self._grid + self._rng.random((plan.latent, 1)))
            found = self._objective.climb(
                decoder, points, mixture.log_weights, *next(self._batches)
            )
            adam.step(found.arrays, rate * plan.rate)

        return step

    def _settling(self, mixture: Mixture) -> Callable[[float], None]:
        """Steps of the points and their weights."""
        points, log_weights = mixture.points, mixture.log_weights
        adam = Adam([points, log_weights], [0.0, 0.0])
        count = np.float32(self._plan.points)

        def step(rate: float) -> None:
            found = self._objective.climb(
                mixture.decoder, points, log_weights, *next(self._batches)
            )
            # A point's gradient is as small as its share of the rows: Adam's epsilon must not tell.
            weights = mixture.weights().astype(np.float32)
            gradients = [found.points * count, (found.shares - weights) * count]
            adam.step(gradients, rate * SETTLING_RATE)

        return step

    def _best_of(self, steps: int, mixture: Mixture, step: Callable[[float], None]) -> Mixture:
        """Steps that change the mixture, at a rate that sinks from one to zero.

        What explains the judged rows best is answered; without any, the last.
        """
        best, best_average = mixture.copy(), self._average(mixture)
        looks = {round(steps * (i + 1) / LOOKS) for i in range(LOOKS)}
        for number in range(1, steps + 1):
            step(0.5 * (1.0 + np.cos(np.pi * (number - 1) / steps)))
            self._step_taken()
            if self._judged is not None and number in looks:
                average = self._average(mixture)
                if average > best_average:
                    best, best_average = mixture.copy(), average
        return best if self._judged is not None else mixture

    def _average(self, mixture: Mixture) -> float:
        if self._judged is None:
            return -np.inf
        logits, log_weights = mixture.logits(), np.log(mixture.weights()).astype(np.float32)
        return self._objective.average(
            logits, log_weights, self._judged.codes, self._judged.weights
        )


def measured_step(
    columns: Sequence[Column], plan: Plan, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Seconds that a step takes here: the least of a few."""
    rng = np.random.default_rng(0)
    cells = Cells.of(columns, list(pairwise(range(len(columns)))))
    middle = np.zeros(cells.logits, dtype=np.float32)
    decoder = Decoder.random(plan.latent, plan.hidden, middle, rng)
    objective = Objective(cells, ThreadTeam(thread_count(None)))
    codes = rng.integers(cells.states, size=(plan.batch_rows, len(columns)))
    weights = np.full(plan.batch_rows, 1.0 / plan.batch_rows, dtype=np.float32)
    adam = Adam(decoder.arrays, [0.0] * len(decoder.arrays))
    least = np.inf
    with threadpool_limits(limits=1), quiet():
        for _ in range(MEASURED_STEPS):
            began = clock()
            points = _uniform(plan.points, plan.latent)
            adam.step(objective.climb(decoder, *points, codes, weights).arrays, 0.0)
            least = min(least, clock() - began)
            if least >= LONG_STEP:
                break
    objective.team.close()
    return least


def _uniform(points: int, latent: int) -> tuple[Floats32, Floats32]:
    """Points that fill the latent space evenly, and their equal weights."""
    log_weights = np.full(points, -np.log(points), dtype=np.float32)
    return _normal(_grid(points, latent)), log_weights


def _grid(points: int, latent: int) -> NDArray[np.float64]:
    """The first points of a Sobol sequence in the unit cube, `[dimension, point]`."""
    from scipy.stats.qmc import Sobol

    exponent = (points - 1).bit_length()
    found: NDArray[np.float64] = Sobol(latent, scramble=False).random_base2(exponent)[:points].T
    return found + 0.5 / (1 << exponent)


def _normal(cube: NDArray[np.float64]) -> Floats32:
    """Points of the unit cube, gone round where they leave it, as points of a standard normal."""
    from scipy.special import ndtri

    inside = np.clip(cube % 1.0, 1e-6, 1.0 - 1e-6)
    found: Floats32 = ndtri(inside).astype(np.float32)
    return found
