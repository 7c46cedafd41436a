"""Show the progress of a benchmark: a status line on a terminal, a line per step elsewhere."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.status import Status


class Steps:
    """Report steps on standard error, so that standard output holds results only."""

    def __init__(self, quiet: bool = False) -> None:
        self._console = Console(stderr=True)
        self._quiet = quiet
        self._status: Status | None = None
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Show what is being done from now on."""
        if self._quiet:
            return
        seconds = time.monotonic() - self._began
        if not self._console.is_terminal:
            print(f"[{seconds:6.1f} s] {text}", file=sys.stderr, flush=True)
        elif self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        else:
            self._status.update(f"{text}  [dim]{seconds:.0f} s so far[/]")

    def done(self) -> float:
        """End the display and return the seconds since the start."""
        if self._status is not None:
            self._status.stop()
        return time.monotonic() - self._began
