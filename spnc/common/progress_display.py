"""A live progress display on the error stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spnc.common.observer import Observer, Stage
from spnc.common.wording import clipped, visible

if TYPE_CHECKING:
    from rich.progress import Progress

_BESIDE_TRIES = 60  # columns that the rest of a try's line takes
_SHARE_FROM = 10_000  # of so many things, bytes for example, the share done is shown


@contextmanager
def displayed(progress: Observer | bool) -> Iterator[Observer]:
    """Yield the observer that was asked for: a progress display (True), none, or one's own."""
    if isinstance(progress, Observer):
        yield progress
    elif progress:
        with _live() as observer:
            yield observer
    else:
        yield Observer()


@contextmanager
def observing(quiet: bool) -> Iterator[Observer]:
    """Show progress on the error stream, if that is a terminal and not `quiet`."""
    with displayed(not quiet and sys.stderr.isatty()) as observer:
        yield observer


@contextmanager
def _live() -> Iterator[Observer]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=10),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[limit]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _LiveObserver(progress)


class _LiveObserver(Observer):
    """Shows the present stage, how far it is, and the training curve in numbers."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: Any = None
        self._tries: Any = None

    def stage(self, stage: Stage | str) -> None:
        """A new stage begins: its line replaces the last one's."""
        title = stage.value if isinstance(stage, Stage) else stage
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(_plain(title), total=None, note="", limit="")

    def progress(self, label: str, done: int, total: int | None) -> None:
        """So much of the present stage is done."""
        if self._task is None:
            self.stage(label)
        note = f"{label} {done:,}" + (f" of {total:,}" if total else "")
        if total and total >= _SHARE_FROM:
            note = f"{label} {done / total:.0%}"
        self._progress.update(self._task, completed=done, total=total, note=_plain(note))

    def attempt(self, done: int, total: int | None, what: str, best: str) -> None:
        """A try begins: a line of its own, above that of the stage."""
        title = f"try {done + 1:,}" + (f" of {total:,}" if total is not None else "")
        room = self._progress.console.width - len(best) - _BESIDE_TRIES
        what = clipped(what, max(1, room))
        note = f"{what}; {best}" if best else what
        if self._tries is None:
            if self._task is not None:
                self._progress.remove_task(self._task)
                self._task = None
            self._tries = self._progress.add_task(title, total=total, note="", limit="left ≈")
        self._progress.update(self._tries, description=title, note=_plain(note))
        if total is not None:
            self._progress.update(self._tries, completed=done, total=total)

    def spent(self, seconds: float, budget: float) -> None:
        """The bar of the tries is the time."""
        if self._tries is not None:
            completed = min(seconds, budget)
            self._progress.update(self._tries, completed=completed, total=budget, limit="left")

    def tried(self, number: int, what: str, valid: float, best: bool) -> None:
        """A finished try stays on the screen, above the lines that move."""
        mark = "→" if best else " "
        line = _plain(f"{mark} {number:3}  {valid:10.4f}  {what}")
        self._progress.console.print(line, highlight=False)

    def training(self, max_iterations: int | None) -> None:
        """Training begins, with as many steps as the optimiser allows; it may well stop before."""
        self._progress.update(self._task, total=max_iterations, completed=0, limit="left ≤")

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        """Training has come this far."""
        note = f"{number}: train {train:.4f}"
        if valid is not None:
            note += f" valid {valid:.4f}{'*' if is_best else ' '}"
        self._progress.update(self._task, completed=number, note=note)


def _plain(text: str) -> str:
    """The text as it is to be read: neither the terminal nor rich takes any of it for a command."""
    from rich.markup import escape

    return escape(visible(text))
