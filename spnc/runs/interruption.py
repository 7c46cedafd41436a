"""Interruptions: Ctrl-C and SIGTERM end a run after what there is has been saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from spnc.diagnostics import Diagnostic


class Interrupted(KeyboardInterrupt):
    """A run was interrupted, and what there is was saved; the text says where, and how to resume.

    `diagnostics` are the warnings up to that point.
    """

    def __init__(self, text: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(text)
        self.diagnostics = tuple(diagnostics)


@contextmanager
def termination_interrupts() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C. In other threads than the main one this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
