"""Observers: what the stages of a run report to whoever is watching. Silent by default."""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Stage(Enum):
    """The stages of a run; the value is what people read."""

    DATA = "reading data"
    STRUCTURE = "learning structure"
    LINKS = "drawing residual links"
    LOWERING = "checking and lowering"
    PREPARING = "preparing the backend"  # long only once per machine
    TRAINING = "training"
    PRUNING = "pruning and training again"
    EVALUATING = "evaluating"


class Progress(Protocol):
    """Called as work proceeds: what is counted, how much is done, how much there is in all."""

    def __call__(self, label: str, done: int, total: int | None) -> None:
        """Take note of the progress (`total` is None where it is unknown); must return quickly."""


def silent(label: str, done: int, total: int | None) -> None:
    """Ignore progress."""
    del label, done, total


class Observer:
    """Ignores everything; the command line shows progress by overriding these methods."""

    def stage(self, stage: Stage | str) -> None:
        """Note that a stage begins. A string names one outside of training, as in a report."""

    def progress(self, label: str, done: int, total: int | None) -> None:
        """Note how much of the present stage is done."""

    def attempt(self, done: int, total: int | None, what: str, best: str) -> None:
        """Note that a try begins, after `done` of `total` (None: unknown), and the best so far."""

    def spent(self, seconds: float, budget: float) -> None:
        """Note how much of the time budget for all tries is used."""

    def tried(self, number: int, what: str, valid: float, best: bool) -> None:
        """Note that a try is finished; `best` says whether it is the best so far."""

    def training(self, max_iterations: int | None) -> None:
        """Note that training begins, of at most that many iterations (None: unknown)."""

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        """Note the average log-likelihoods before an iteration, and whether they are the best."""
