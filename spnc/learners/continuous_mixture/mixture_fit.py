"""The training loop of a continuous mixture of trees.

The likelihood of a row is an integral over the latent space under a standard normal distribution.
It is approximated by a mean over points that fill the space evenly (a Sobol sequence), shifted at
random in each step. That keeps the decoder smooth: no point occurs twice, so none can be made to
fit a single row.

Then the decoder is fixed and the points *settle*: starting from the unshifted sequence, they move
and change their weights to maximise the likelihood. A thousand settled points are worth several
thousand others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from spnc.common.savepoints import (
    NO_PIECE,
    NOTHING_KEPT,
    Piece,
    Savepoints,
    UnusableError,
    generator_state,
    set_generator_state,
)
from spnc.common.threads import ThreadTeam, thread_count
from spnc.data.columns import Column
from spnc.learners.continuous_mixture.batches import Batches, CodedRows, Gradients
from spnc.learners.continuous_mixture.dealt_batches import DealtBatches, DealtRows
from spnc.learners.continuous_mixture.decoder import Adam, Decoder
from spnc.learners.continuous_mixture.log_linear_tree import LogLinearTree
from spnc.learners.continuous_mixture.number_leaves import Floats32
from spnc.learners.continuous_mixture.objective import Objective, quiet
from spnc.learners.continuous_mixture.stand_in import drawn_cells, stand_in

PHASES = ("learning", "settling")
VALIDATIONS = 40  # how often the mixture is validated during a phase, at most
MOST_VALIDATION_ROWS = 5000  # a random sample of the distinct rows
SETTLING_RATE = 0.01  # learning rate of the points and their weights
MEASURED_STEPS = 4  # the fastest of these counts
LONG_STEP = 0.1  # seconds: a step that takes longer is measured once
CUBE_MARGIN = 1e-6  # keeps points off the cube's faces, where the normal quantile is infinite


@dataclass(frozen=True)
class DecoderSettings:
    """The size of a decoder, and how it is fitted."""

    points: int
    latent: int  # dimensions of the latent space
    hidden: tuple[int, ...]  # units of the hidden layers
    steps: int  # of the decoder
    settling: int  # steps of the points, afterwards
    batch_rows: int
    rate: float  # the initial learning rate; it falls to zero along half a cosine wave
    decay: float  # weight decay


@dataclass(frozen=True, eq=False)
class TreeMixture:
    """A decoder, and the weighted points that it gives trees for."""

    decoder: Decoder
    points: Floats32  # [dimension, point]
    log_weights: Floats32

    def logits(self) -> Floats32:
        """Return the parameters of all trees, `[logit, point]`."""
        return self.decoder.forward(self.points)[-1]

    def weights(self) -> NDArray[np.float64]:
        """Return the points' weights, which sum to one."""
        raised = np.exp(self.log_weights.astype(np.float64))
        found: NDArray[np.float64] = raised / raised.sum()
        return found

    @property
    def arrays(self) -> tuple[Floats32, ...]:
        """All that a fit changes."""
        return (*self.decoder.arrays, self.points, self.log_weights)

    def copy(self) -> TreeMixture:
        """Return a copy that stays as it is while this mixture changes."""
        decoder = self.decoder.with_arrays([a.copy() for a in self.decoder.arrays])
        return TreeMixture(decoder, self.points.copy(), self.log_weights.copy())


class MixtureFit:
    """Fits a decoder and its points to rows; the best step on the `valid` rows is kept.

    Its state is kept in `savepoints` under the name `fit`, together with `about`, by which the
    caller knows again which fit it was.
    """

    def __init__(
        self,
        settings: DecoderSettings,
        tree: LogLinearTree,
        rows: CodedRows | DealtRows,
        valid: CodedRows | None,
        rng: np.random.Generator,
        step_taken: Callable[[], None],
        savepoints: Savepoints = NOTHING_KEPT,
        about: Piece = NO_PIECE,
    ) -> None:
        self._settings, self._rng, self._step_taken = settings, rng, step_taken
        self._savepoints, self._about = savepoints, about
        self._valid = valid.some(MOST_VALIDATION_ROWS, rng) if valid is not None else None
        self._objective = Objective(tree, ThreadTeam(thread_count(None)))
        self._batches = self._batches_of(rows)
        self._grid = _grid(settings.points, settings.latent)

    def _batches_of(self, rows: CodedRows | DealtRows) -> Gradients:
        settings = self._settings
        if isinstance(rows, CodedRows):
            return Batches(rows, settings.batch_rows, self._rng)
        steps, tree = settings.steps + settings.settling, self._objective.tree
        return DealtBatches(rows, tree, settings.points, settings.batch_rows, steps, self._rng)

    def run(self, plain: Sequence[NDArray[np.float64]], resume: Piece | None = None) -> TreeMixture:
        """Return the fitted mixture.

        All trees start near the tree `plain[column][state of the parent, state]`. `resume` is a
        kept state of the same fit; raises `UnusableError` if it is none.
        """
        settings = self._settings
        decoder = Decoder.random(
            settings.latent, settings.hidden, self._objective.tree.logits_of(plain), self._rng
        )
        mixture = TreeMixture(decoder, *_uniform(settings.points, settings.latent))
        phases = (
            (PHASES[0], settings.steps, self._learning),
            (PHASES[1], settings.settling, self._settling),
        )
        try:
            for name, steps, opened in phases:
                adam, step = opened(mixture)
                phase = _Phase(name, steps, mixture, adam, mixture.copy())
                if resume is not None and resume.about["phase"] != name:
                    continue  # it was done when the run was killed
                if resume is not None:
                    self._take_up(phase, resume)
                    resume = None
                else:
                    phase.best_average = self._average(mixture)
                mixture = self._best_of(phase, step)
            return mixture
        finally:
            self._objective.team.close()

    def _learning(self, mixture: TreeMixture) -> tuple[Adam, Callable[[float], None]]:
        """Return the optimiser and the step of the decoder, at newly shifted points each time."""
        settings, decoder = self._settings, mixture.decoder
        decays = [settings.decay] * len(decoder.weights) + [0.0] * len(decoder.biases)
        adam = Adam(decoder.arrays, decays)

        def step(rate: float) -> None:
            points = _normal(self._grid + self._rng.random((settings.latent, 1)))
            found = self._batches.gradient(self._objective, decoder, points, mixture.log_weights)
            adam.step(found.arrays, rate * settings.rate)

        return adam, step

    def _settling(self, mixture: TreeMixture) -> tuple[Adam, Callable[[float], None]]:
        """Return the optimiser and the step of the points and their weights."""
        points, log_weights = mixture.points, mixture.log_weights
        adam = Adam([points, log_weights], [0.0, 0.0])
        count = np.float32(self._settings.points)

        def step(rate: float) -> None:
            found = self._batches.gradient(self._objective, mixture.decoder, points, log_weights)
            # A point's gradient is proportional to its share of the rows. Scaled by the number of
            # points, it is large compared with Adam's epsilon.
            weights = mixture.weights().astype(np.float32)
            gradients = [found.points * count, (found.shares - weights) * count]
            adam.step(gradients, rate * SETTLING_RATE)

        return adam, step

    def _best_of(self, phase: _Phase, step: Callable[[float], None]) -> TreeMixture:
        """Take steps that change the mixture in place, at a rate that falls from one to zero.

        Return the mixture that is best on the validation rows; without any, the last.
        """
        steps, mixture = phase.steps, phase.mixture
        validated = {round(steps * (i + 1) / VALIDATIONS) for i in range(VALIDATIONS)}
        for number in range(phase.done + 1, steps + 1):
            step(0.5 * (1.0 + np.cos(np.pi * (number - 1) / steps)))
            phase.done = number
            self._step_taken()
            if self._valid is not None and number in validated:
                average = self._average(mixture)
                if average > phase.best_average:
                    phase.best, phase.best_average = mixture.copy(), average
            if self._savepoints.is_due():
                self._save(phase)
        return phase.best if self._valid is not None else mixture

    def _average(self, mixture: TreeMixture) -> float:
        if self._valid is None:
            return -np.inf
        logits, log_weights = mixture.logits(), np.log(mixture.weights()).astype(np.float32)
        return self._objective.average(logits, log_weights, self._valid.cells, self._valid.weights)

    def _save(self, phase: _Phase) -> None:
        """Keep all that the next step depends on."""
        pieces = (self._about, phase.stored(), self._batches.stored())
        about = {name: value for piece in pieces for name, value in piece.about.items()}
        about["rng"] = generator_state(self._rng)
        arrays = {name: array for piece in pieces for name, array in piece.arrays.items()}
        self._savepoints.save("fit", Piece(about, arrays))

    def _take_up(self, phase: _Phase, piece: Piece) -> None:
        """Set a phase, the random numbers and the mini-batches to where they were."""
        try:
            phase.take_up(piece)
            self._batches.take_up(piece)
            set_generator_state(self._rng, piece.about["rng"])
        except (LookupError, TypeError, ValueError) as error:
            raise UnusableError(str(error) or type(error).__name__) from error


@dataclass(eq=False)
class _Phase:
    """How far one phase of a fit has come."""

    name: str
    steps: int
    mixture: TreeMixture  # changed in place
    adam: Adam
    best: TreeMixture
    best_average: float = -np.inf
    done: int = 0  # steps

    def stored(self) -> Piece:
        """Return the phase as plain values and arrays."""
        about = {
            "phase": self.name,
            "done": self.done,
            "best_average": float(self.best_average),
            "adam_steps": self.adam.steps,
        }
        return Piece(about, {name: array.copy() for name, array in self._arrays().items()})

    def take_up(self, piece: Piece) -> None:
        """Continue from where a phase was. Raises LookupError, TypeError or ValueError."""
        about, arrays = piece
        done, adam_steps = about["done"], about["adam_steps"]
        if not (type(done) is type(adam_steps) is int and 0 <= done == adam_steps <= self.steps):
            raise ValueError("its steps are not those of this fit")
        for name, array in self._arrays().items():
            kept = arrays[name]
            if kept.shape != array.shape or kept.dtype != array.dtype:
                raise ValueError("its arrays do not have the shapes of this fit")
            array[...] = kept
        self.done = self.adam.steps = done
        self.best_average = float(about["best_average"])

    def _arrays(self) -> dict[str, NDArray[Any]]:
        groups = {
            "now": self.mixture.arrays,
            "best": self.best.arrays,
            "mean": self.adam.mean,
            "square": self.adam.square,
        }
        return {f"{name}.{i}": a for name, group in groups.items() for i, a in enumerate(group)}


def measured_step(
    columns: Sequence[Column],
    settings: DecoderSettings,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the seconds that a step takes on this machine: the least of a few.

    Leaves over numbers are taken to be normal, on the column's warp if it has one.
    """
    rng = np.random.default_rng(0)
    finite = [column for column in columns if column.is_finite]
    numbers = stand_in(columns)
    tree = LogLinearTree.of(finite, list(pairwise(range(len(finite)))), numbers)
    middle = np.concatenate([np.zeros(tree.logits, dtype=np.float32), numbers.plain])
    decoder = Decoder.random(settings.latent, settings.hidden, middle, rng)
    objective = Objective(tree, ThreadTeam(thread_count(None)))
    cells = drawn_cells(columns, settings.batch_rows, rng)
    weights = np.full(settings.batch_rows, 1.0 / settings.batch_rows, dtype=np.float32)
    adam = Adam(decoder.arrays, [0.0] * len(decoder.arrays))
    least = np.inf
    with threadpool_limits(limits=1), quiet():
        # What is imported or computed once is no part of a step.
        _uniform(1, settings.latent)
        numbers.decoded(numbers.plain[:, None])
        for _ in range(MEASURED_STEPS):
            began = clock()
            points = _uniform(settings.points, settings.latent)
            adam.step(objective.gradient(decoder, *points, cells, weights).arrays, 0.0)
            least = min(least, clock() - began)
            if least >= LONG_STEP:
                break
    objective.team.close()
    return least


def _uniform(points: int, latent: int) -> tuple[Floats32, Floats32]:
    """Return points that fill the latent space evenly, and their equal log weights."""
    log_weights = np.full(points, -np.log(points), dtype=np.float32)
    return _normal(_grid(points, latent)), log_weights


def _grid(points: int, latent: int) -> NDArray[np.float64]:
    """Return the first points of a Sobol sequence in the unit cube, `[dimension, point]`."""
    from scipy.stats.qmc import Sobol

    exponent = (points - 1).bit_length()
    found: NDArray[np.float64] = Sobol(latent, scramble=False).random_base2(exponent)[:points].T
    return found + 0.5 / (1 << exponent)


def _normal(cube: NDArray[np.float64]) -> Floats32:
    """Map points, taken modulo the unit cube, to points of a standard normal distribution."""
    from scipy.special import ndtri

    inside = np.clip(cube % 1.0, CUBE_MARGIN, 1.0 - CUBE_MARGIN)
    found: Floats32 = ndtri(inside).astype(np.float32)
    return found
