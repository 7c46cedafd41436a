"""A stopwatch for the stages of a try."""

from __future__ import annotations

from collections.abc import Callable

from spnc.common.observer import Observer, Stage


class StageClock(Observer):
    """Passes everything on to another observer, and measures the stages of the present try."""

    def __init__(self, observer: Observer, now: Callable[[], float]) -> None:
        """`now` returns the seconds that are used of the budget."""
        self._observer, self._now = observer, now
        self._began = self._lowering_began = 0.0
        self._preparing_began: float | None = None
        self._prepared = 0.0  # seconds for what is done once per machine

    def begin(self) -> None:
        """Begin to measure: a try begins."""
        self._began = self._lowering_began = self._now()
        self._prepared, self._preparing_began = 0.0, None

    def setup(self) -> float:
        """Return the seconds since the try began, without what is done once per machine."""
        return self._now() - self._began - self._prepared

    def lowering(self) -> float:
        """Return the seconds since lowering began, without what is done once per machine."""
        return self._now() - self._lowering_began - self._prepared

    def stage(self, stage: Stage | str) -> None:
        """Note when a stage begins."""
        now = self._now()
        if stage is Stage.LOWERING:
            self._lowering_began = now
        if stage is Stage.PREPARING:
            self._preparing_began = now
        elif self._preparing_began is not None:
            self._prepared, self._preparing_began = now - self._preparing_began, None
        self._observer.stage(stage)

    def progress(self, label: str, done: int, total: int | None) -> None:
        """Pass it on."""
        self._observer.progress(label, done, total)

    def attempt(self, done: int, total: int | None, what: str, best: str) -> None:
        """Pass it on."""
        self._observer.attempt(done, total, what, best)

    def spent(self, seconds: float, budget: float) -> None:
        """Pass it on."""
        self._observer.spent(seconds, budget)

    def tried(self, number: int, what: str, valid: float, best: bool) -> None:
        """Pass it on."""
        self._observer.tried(number, what, valid, best)

    def training(self, max_iterations: int | None) -> None:
        """Pass it on."""
        self._observer.training(max_iterations)

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        """Pass it on."""
        self._observer.iteration(number, train, valid, is_best)
