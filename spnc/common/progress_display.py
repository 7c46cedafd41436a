"""A live progress display on the error stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spnc.common.observer import Observer, Stage
from spnc.common.signals import tidying
from spnc.common.wording import clipped, visible

if TYPE_CHECKING:
    from rich.progress import Progress

_BESIDE_TRIES = 60  # terminal columns that the rest of a try's line takes
_PERCENT_FROM = 10_000  # from this total on, progress is shown in percent


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
    # A display that is not ended properly leaves the terminal without its cursor.
    with tidying(), Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _LiveObserver(progress)


class _LiveObserver(Observer):
    """Shows the current stage, its progress, and the latest log-likelihoods."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: Any = None
        self._tries: Any = None

    def stage(self, stage: Stage | str) -> None:
        """Replace the line of the last stage."""
        title = stage.value if isinstance(stage, Stage) else stage
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(_plain(title), total=None, note="", limit="")

    def progress(self, label: str, done: int, total: int | None) -> None:
        """Update the line of the current stage."""
        if self._task is None:
            self.stage(label)
        note = f"{label} {done:,}" + (f" of {total:,}" if total else "")
        if total and total >= _PERCENT_FROM:
            note = f"{label} {done / total:.0%}"
        self._progress.update(self._task, completed=done, total=total, note=_plain(note))

    def attempt(self, done: int, total: int | None, what: str, best: str) -> None:
        """Show the try on a line of its own, above that of the stage."""
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
        """Show the time used as the bar of the tries."""
        if self._tries is not None:
            completed = min(seconds, budget)
            self._progress.update(self._tries, completed=completed, total=budget, limit="left")

    def tried(self, number: int, what: str, valid: float, best: bool) -> None:
        """Print the finished try above the moving lines."""
        mark = "→" if best else " "
        line = _plain(f"{mark} {number:3}  {valid:10.4f}  {what}")
        self._progress.console.print(line, highlight=False)

    def training(self, max_iterations: int | None) -> None:
        """Count up to the largest number of iterations; training may stop earlier."""
        self._progress.update(self._task, total=max_iterations, completed=0, limit="left ≤")

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        """Show the log-likelihoods of the iteration."""
        note = f"{number}: train {train:.4f}"
        if valid is not None:
            note += f" valid {valid:.4f}{'*' if is_best else ' '}"
        self._progress.update(self._task, completed=number, note=note)


def _plain(text: str) -> str:
    """Return the text so that neither the terminal nor rich interprets any of it."""
    from rich.markup import escape

    return escape(visible(text))
