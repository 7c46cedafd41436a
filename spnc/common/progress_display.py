"""Progress on the error stream: a live display, or lines where that is not a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spnc.common.observer import Observer, Stage, title_of
from spnc.common.signals import tidying
from spnc.common.wording import clipped, duration, visible

if TYPE_CHECKING:
    from rich.progress import Progress

_BESIDE_TRIES = 60  # terminal columns that the rest of a try's line takes
# Without a terminal, a line is printed at most this often, and short runs print none.
LINE_SECONDS = 5.0
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
    """Show progress on the error stream, unless `quiet`: live, or in lines without a terminal."""
    shown = not quiet and sys.stderr is not None
    lines = shown and not sys.stderr.isatty()
    with displayed(_Lines() if lines else shown) as observer:
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


class _Lines(Observer):
    """Prints a line about progress now and then, where nothing can be drawn."""

    def __init__(self) -> None:
        self._began = self._printed_at = time.monotonic()
        self._stage = ""
        self._try = ""
        self._speed = ""

    def stage(self, stage: Stage | str) -> None:
        """Note what is under way."""
        self._stage = title_of(stage)

    def progress(self, label: str, done: int, total: int | None) -> None:
        """Print how far the stage is."""
        self._print(_amount_text(label, done, total))

    def notice(self, text: str) -> None:
        """Print the notice at once."""
        sys.stderr.write(f"{visible(text)}\n")
        sys.stderr.flush()

    def speed(self, workers: int, rows_per_second: float) -> None:
        """Note the speed, for the lines about iterations."""
        self._speed = _speed_text(workers, rows_per_second)

    def attempt(self, done: int, total: int | None, what: str, best: str) -> None:
        """Note which try is under way."""
        del what, best
        self._try = f"try {done + 1:,}{f' of {total:,}' if total is not None else ''}: "

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        """Print the log-likelihoods of the iteration."""
        self._print(_scores_text(number, train, valid, is_best) + self._speed)

    def _print(self, text: str) -> None:
        now = time.monotonic()
        if now - self._printed_at >= LINE_SECONDS:
            self._printed_at = now
            line = f"{self._try}{self._stage}: {text} ({duration(now - self._began)})"
            sys.stderr.write(f"{visible(line)}\n")
            sys.stderr.flush()


class _LiveObserver(Observer):
    """Shows the current stage, its progress, and the latest log-likelihoods."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: Any = None
        self._tries: Any = None
        self._speed = ""

    def stage(self, stage: Stage | str) -> None:
        """Replace the line of the last stage."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(_plain(title_of(stage)), total=None, note="", limit="")

    def progress(self, label: str, done: int, total: int | None) -> None:
        """Update the line of the current stage."""
        if self._task is None:
            self.stage(label)
        note = _plain(_amount_text(label, done, total))
        self._progress.update(self._task, completed=done, total=total, note=note)

    def notice(self, text: str) -> None:
        """Print the notice above the moving lines."""
        self._progress.console.print(_plain(text), highlight=False)

    def speed(self, workers: int, rows_per_second: float) -> None:
        """Note the speed, which is shown with the next iteration."""
        self._speed = _speed_text(workers, rows_per_second)

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
        note = _scores_text(number, train, valid, is_best) + self._speed
        self._progress.update(self._task, completed=number, note=note)


def _amount_text(label: str, done: int, total: int | None) -> str:
    if total and total >= _PERCENT_FROM:
        return f"{label} {done / total:.0%}"
    return f"{label} {done:,}" + (f" of {total:,}" if total else "")


def _speed_text(workers: int, rows_per_second: float) -> str:
    return f" ({workers} worker{'' if workers == 1 else 's'}, {rows_per_second:,.0f} rows/s)"


def _scores_text(number: int, train: float, valid: float | None, is_best: bool) -> str:
    note = f"{number}: train {train:.4f}"
    return note if valid is None else f"{note} valid {valid:.4f}{'*' if is_best else ' '}"


def _plain(text: str) -> str:
    """Return the text so that neither the terminal nor rich interprets any of it."""
    from rich.markup import escape

    return escape(visible(text))
