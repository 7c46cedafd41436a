"""A stopwatch for the stages of a try."""

from __future__ import annotations

from collections.abc import Callable

from spnc.common.observer import Observer, Relay, Stage


class StageClock(Relay):
    """Passes everything on to another observer, and measures the stages of the present try."""

    def __init__(self, observer: Observer, now: Callable[[], float]) -> None:
        """`now` returns the seconds that are used of the budget."""
        super().__init__(observer)
        self._now = now
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
        super().stage(stage)
