"""Training: what an optimiser is given, what it keeps on the way, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self

from spnc.backends import Engine
from spnc.common.arrays import Floats
from spnc.data.dataset import Table
from spnc.diagnostics import Sink
from spnc.leaves.smoothing import Smoothing
from spnc.program.program import Parameters

# What an optimiser carries from one iteration to the next besides the parameters, by name.
# Numbers that follow from the iteration, and random numbers, are made anew and not kept.
Memory = Mapping[str, Floats]
OUT_OF_TIME = "time"  # why training stopped, when whoever asked for it had enough


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the training history: how good the parameters were before an update."""

    iteration: int
    train: float  # average log-likelihood of the possible training rows
    train_impossible: float
    objective: float  # summed log-likelihood plus log prior: what EM on all rows never lowers
    valid: float | None
    valid_impossible: float | None
    seconds: float  # since training began


Enough = Callable[[tuple[Record, ...]], bool]


@dataclass(frozen=True, eq=False)
class Fitted:
    """What an optimiser answers: the parameters to keep, and how it came to them."""

    parameters: Parameters
    history: tuple[Record, ...]
    stopped: str  # which rule ended training
    kept: str  # which parameters were kept: "best on valid" or "last"
    kept_iteration: int


@dataclass(frozen=True, eq=False)
class State:
    """Where training stands: enough to go on from, to the same bits."""

    parameters: Parameters
    best: Parameters
    best_iteration: int
    history: tuple[Record, ...]
    memory: Memory = field(default_factory=dict)
    earlier: Fitted | None = None  # the fit before pruning, when this is the one after


@dataclass(frozen=True, eq=False)
class Fit:
    """What an optimiser is given."""

    engine: Engine
    start: Parameters
    train: Table
    valid: Table | None
    smoothing: Smoothing
    sink: Sink
    seed: int = 0  # of the random streams: those of an iteration depend on nothing else
    resume: State | None = None
    monitor: Callable[[State], None] | None = None  # called after every iteration
    enough: Enough | None = None  # asked before every iteration whether to end here


class Optimizer(Protocol):
    """A way of fitting parameters."""

    plugin_name: ClassVar[str]

    def fit(self, fit: Fit) -> Fitted | None:
        """Fit the parameters; None if a problem was reported."""
        ...

    def cut(self, iterations: int) -> Self | None:
        """The optimiser that takes the same steps, and at most so many; None if there is none."""
        ...


class StopRule(Protocol):
    """A rule that ends training, judged by the training log-likelihoods so far."""

    plugin_name: ClassVar[str]

    def should_stop(self, log_likelihoods: Sequence[float]) -> bool:
        """Whether nothing more is to be expected."""
        ...
