"""Training: what an optimiser is given, what it keeps on the way, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from spnc.backends import Engine
from spnc.data.dataset import Table
from spnc.diagnostics import Sink
from spnc.program import Parameters


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the training history: how good the parameters were before an update."""

    iteration: int
    train: float  # average log-likelihood of the possible training rows
    train_impossible: float
    objective: float  # summed log-likelihood plus log prior: what never falls
    valid: float | None
    valid_impossible: float | None
    seconds: float  # since training began


@dataclass(frozen=True, eq=False)
class State:
    """Where training stands: enough to go on from, to the same bits."""

    parameters: Parameters
    best: Parameters
    best_iteration: int
    history: tuple[Record, ...]


@dataclass(frozen=True, eq=False)
class Fit:
    """What an optimiser is given."""

    engine: Engine
    start: Parameters
    train: Table
    valid: Table | None
    smoothing: float
    sink: Sink
    resume: State | None = None
    monitor: Callable[[State], None] | None = None  # called after every iteration


@dataclass(frozen=True, eq=False)
class Fitted:
    """What an optimiser answers: the parameters to keep, and how it came to them."""

    parameters: Parameters
    history: tuple[Record, ...]
    stopped: str  # which rule ended training
    kept: str  # which parameters were kept: "best on valid" or "last"
    kept_iteration: int


class Optimizer(Protocol):
    """A way of fitting parameters."""

    plugin_name: ClassVar[str]

    def fit(self, fit: Fit) -> Fitted | None:
        """Fit the parameters; None if a problem was reported."""
        ...


class StopRule(Protocol):
    """A rule that ends training, judged by the training log-likelihoods so far."""

    plugin_name: ClassVar[str]

    def should_stop(self, log_likelihoods: Sequence[float]) -> bool:
        """Whether nothing more is to be expected."""
        ...
