"""Progress of a benchmark: a moving line on a terminal, a line per step elsewhere."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.status import Status


class Steps:
    """Says on standard error what is being done, so that standard output holds results only."""

    def __init__(self, quiet: bool = False) -> None:
        self._console = Console(stderr=True)
        self._quiet = quiet
        self._status: Status | None = None
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """What is being done from now on."""
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
        """Nothing more is to come; how long it all took."""
        if self._status is not None:
            self._status.stop()
        return time.monotonic() - self._began
