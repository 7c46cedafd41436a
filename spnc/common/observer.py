"""Progress of a run, for whoever displays it. The default observer ignores everything."""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Stage(Enum):
    """The stages of a run; the value is the title that people read."""

    DATA = "reading data"
    STRUCTURE = "learning structure"
    LINKS = "drawing residual links"
    LOWERING = "checking and lowering"
    PREPARING = "preparing the backend"  # slow only once per machine: kernels are compiled
    TRAINING = "training"
    PRUNING = "pruning and training again"
    REFINING = "fitting to the target"
    EVALUATING = "evaluating"


class Progress(Protocol):
    """A callback for progress: what is counted, how much is done, how much there is in total."""

    def __call__(self, label: str, done: int, total: int | None) -> None:
        """Receive progress; `total` is None if unknown. Must return quickly."""


def silent(label: str, done: int, total: int | None) -> None:
    """Ignore progress."""
    del label, done, total


class Observer:
    """Receives progress and ignores it; a display overrides these methods."""

    def stage(self, stage: Stage | str) -> None:
        """A stage begins. A string is the title of a stage outside of training."""

    def progress(self, label: str, done: int, total: int | None) -> None:
        """Part of the current stage is done."""

    def notice(self, text: str) -> None:
        """Something to be known from now on, such as the address of a dashboard."""

    def speed(self, workers: int, rows_per_second: float) -> None:
        """A pass over all rows is done, by this many workers of a cluster at this speed."""

    def attempt(self, done: int, total: int | None, what: str, best: str) -> None:
        """A try begins, after `done` of `total` (None: unknown); `best` says what leads so far."""

    def spent(self, seconds: float, budget: float) -> None:
        """Part of the time budget for all tries is used."""

    def tried(self, number: int, what: str, valid: float, best: bool) -> None:
        """A try is finished; `best` says whether it is the best so far."""

    def training(self, max_iterations: int | None) -> None:
        """Training begins, with at most `max_iterations` (None: unknown)."""

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        """An iteration begins; `train` and `valid` are average log-likelihoods before it."""


class Relay(Observer):
    """Passes everything on to other observers; the base of those that only add something."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def stage(self, stage: Stage | str) -> None:
        """Pass it on."""
        for each in self._observers:
            each.stage(stage)

    def progress(self, label: str, done: int, total: int | None) -> None:
        """Pass it on."""
        for each in self._observers:
            each.progress(label, done, total)

    def notice(self, text: str) -> None:
        """Pass it on."""
        for each in self._observers:
            each.notice(text)

    def speed(self, workers: int, rows_per_second: float) -> None:
        """Pass it on."""
        for each in self._observers:
            each.speed(workers, rows_per_second)

    def attempt(self, done: int, total: int | None, what: str, best: str) -> None:
        """Pass it on."""
        for each in self._observers:
            each.attempt(done, total, what, best)

    def spent(self, seconds: float, budget: float) -> None:
        """Pass it on."""
        for each in self._observers:
            each.spent(seconds, budget)

    def tried(self, number: int, what: str, valid: float, best: bool) -> None:
        """Pass it on."""
        for each in self._observers:
            each.tried(number, what, valid, best)

    def training(self, max_iterations: int | None) -> None:
        """Pass it on."""
        for each in self._observers:
            each.training(max_iterations)

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        """Pass it on."""
        for each in self._observers:
            each.iteration(number, train, valid, is_best)


def title_of(stage: Stage | str) -> str:
    """Return a stage's title, as people read it."""
    return stage.value if isinstance(stage, Stage) else stage
