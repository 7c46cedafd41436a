"""Training: what an optimiser is given, what it carries from step to step, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self

from spnc.backends import Engine
from spnc.backends.parted import PartedEngine
from spnc.common.arrays import Floats
from spnc.data.parted import Rows
from spnc.diagnostics import Sink
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import Parameters
from spnc.program.score import Score

# The arrays that an optimiser carries from one iteration to the next besides the parameters, by
# name. Whatever follows from the iteration's number, random numbers included, is recomputed
# instead of stored.
Memory = Mapping[str, Floats]
OUT_OF_TIME = "time"  # `FitResult.stopped` when the caller ended training


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the training history: the scores of the parameters before an update."""

    iteration: int
    train: float  # average log-likelihood of the possible training rows
    train_impossible: float
    objective: float  # summed log-likelihood plus log prior: EM on all rows never lowers it
    valid: float | None
    valid_impossible: float | None
    seconds: float  # since training began
    # With `objective: conditional`, in the iterations of that objective: the average
    # log-likelihood of the target given the other cells.
    train_conditional: float | None = None
    valid_conditional: float | None = None


Enough = Callable[[tuple[Record, ...]], bool]


@dataclass(frozen=True, eq=False)
class FitResult:
    """What an optimiser returns: the parameters to keep, and how it found them."""

    parameters: Parameters
    history: tuple[Record, ...]
    stopped: str  # which rule ended training
    kept: str  # which parameters were kept: "best on valid" or "last"
    kept_iteration: int

    def known_scores(self, tables: Mapping[str, Rows]) -> dict[str, Score]:
        """Return the scores that training has computed of the parameters that were kept."""
        kept = self.history[self.kept_iteration]
        seen = {
            "train": (kept.train, kept.train_impossible),
            "valid": (kept.valid, kept.valid_impossible),
        }
        found = {}
        for name, (average, impossible) in seen.items():
            if average is not None and impossible is not None:
                possible = tables[name].total - impossible
                total = average * possible if possible > 0.0 else 0.0
                found[name] = Score(total, possible, impossible)
        return found


@dataclass(frozen=True, eq=False)
class State:
    """All that is needed to resume training after an iteration, with bit-identical results."""

    parameters: Parameters
    best: Parameters
    best_iteration: int
    history: tuple[Record, ...]
    memory: Memory = field(default_factory=dict)
    earlier: tuple[FitResult, ...] = ()  # the fits before this one: see `spnc.training.fit`


@dataclass(frozen=True, eq=False)
class FitTask:
    """What an optimiser is given."""

    engine: PartedEngine
    start: Parameters
    train: Rows
    valid: Rows | None
    smoothing: Smoothing
    sink: Sink
    seed: int = 0  # of the random streams, each named after its purpose and iteration
    resume: State | None = None
    monitor: Callable[[State], None] | None = None  # called after every iteration
    enough: Enough | None = None  # asked before every iteration whether to end here


class Optimizer(Protocol):
    """A way of fitting parameters."""

    plugin_name: ClassVar[str]

    def fit(self, task: FitTask) -> FitResult | None:
        """Fit the parameters. Return None if a problem was reported."""
        ...

    def cut(self, iterations: int) -> Self | None:
        """Return an optimiser that takes the same steps but at most `iterations` of them.

        Return None if there is no such optimiser.
        """
        ...


class Objective(Protocol):
    """What parameters are fitted to once the optimiser has fitted them to the joint distribution.

    An objective that does not `refine` leaves the parameters as they are.
    """

    plugin_name: ClassVar[str]
    refines: ClassVar[bool]

    def refine(self, task: FitTask) -> FitResult | None:
        """Fit the parameters further, from `task.start`. Return None if a problem was reported."""
        ...

    def cut(self, iterations: int) -> Self | None:
        """Return an objective that takes the same steps but at most `iterations` of them.

        Return None if there is no such objective; then it is not ended by a time limit.
        """
        ...

    def score(self, engine: Engine, parameters: Parameters, table: Rows) -> Score | None:
        """Return how well the objective is met by rows; None if it is their joint likelihood."""
        ...


class StopRule(Protocol):
    """A rule that ends training, based on the training log-likelihoods so far."""

    plugin_name: ClassVar[str]

    def should_stop(self, log_likelihoods: Sequence[float]) -> bool:
        """Return whether training has converged."""
        ...
