"""Ctrl-C, SIGTERM and SIGHUP: one clean stop, at any moment.

While nothing would be left behind, a signal ends the command line at once. Inside `tidying`, which
covers temporary files, run folders and progress displays, it raises KeyboardInterrupt, so that
there is time to save and to clean up; a second signal then ends the process at once.

This is imported before everything else, so it imports next to nothing.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

INTERRUPTED = 130  # the exit code
# Windows has no SIGHUP.
_STOPPING = tuple(getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n))


class _Signals:
    """What a signal does now."""

    listening = False  # whether the command line's handler is installed
    tidying = 0  # how many contexts want to clean up
    stopping = False  # whether a signal has come


def listen() -> None:
    """Handle signals as the command line does, from here on.

    A signal that is ignored stays ignored: `nohup` and background jobs of a shell ask for that.
    """
    for number in _STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)
    _Signals.listening, _Signals.stopping, _Signals.tidying = True, False, 0


def _handle(number: int, frame: FrameType | None) -> None:
    del number, frame
    if _Signals.tidying == 0 or _Signals.stopping:
        os.write(2, b"interrupted\n")
        os._exit(INTERRUPTED)
    _Signals.stopping = True
    raise KeyboardInterrupt


class tidying:  # noqa: N801 (used as a context, like a function)
    """Let a signal raise KeyboardInterrupt while the code inside runs, so that it can clean up.

    Where the command line does not listen, as in a program that imports spnc, this treats SIGTERM
    and SIGHUP like Ctrl-C. In other threads than the main one it does nothing.
    """

    def __enter__(self) -> None:
        import threading

        self._counts = threading.current_thread() is threading.main_thread()
        self._before: dict[int, Any] = {}
        if self._counts:
            _Signals.tidying += 1
            self._before = {} if _Signals.listening else _replaced_handlers()

    def __exit__(self, *_: object) -> None:
        if self._counts:
            _Signals.tidying -= 1
            for number, handler in self._before.items():
                signal.signal(number, handler)


def _replaced_handlers() -> dict[int, Any]:
    """Let signals other than Ctrl-C raise KeyboardInterrupt, if they would end the process."""
    found = {}
    for number in _STOPPING[1:]:
        if signal.getsignal(number) is signal.SIG_DFL:
            found[number] = signal.signal(number, signal.default_int_handler)
    return found


class interruptions_held_back:  # noqa: N801
    """Hold back Ctrl-C and SIGHUP while processes are started, which then never get them.

    Nor do those that are started by threads which begin meanwhile. A terminal sends both to all
    processes, and they would print tracebacks, also where they run no code of spnc. They are ended
    by this process.
    """

    def __enter__(self) -> None:
        self._before: set[Any] | None = None
        if hasattr(signal, "pthread_sigmask"):
            held = {signal.SIGINT, signal.SIGHUP}
            self._before = signal.pthread_sigmask(signal.SIG_BLOCK, held)

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)
