"""How kernels are compiled, and how that can be watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile at the first call and keep the code on disk; run without the interpreter's lock.

    Sums may be taken in any order and multiply-adds fused, alike on every run; infinities and
    not-a-numbers keep their meaning.
    """
    fast = {"reassoc", "contract", "nsz"}
    try:
        compiled = njit(cache=True, nogil=True, fastmath=fast, error_model="numpy")(function)
    except RuntimeError:  # there is nowhere to keep it
        compiled = njit(nogil=True, fastmath=fast, error_model="numpy")(function)
    return cast("F", compiled)


class Listener(event.Listener):
    """Counts the kernels that are compiled, and not just read from disk."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self.tell, self.compiled = tell, 0

    def on_start(self, event: event.Event) -> None:
        """One more, if it is ours: numba compiles helpers of its own beside them."""
        if event.data["dispatcher"].py_func.__module__.startswith("spnc."):
            self.compiled += 1
            self.tell(self.compiled)

    def on_end(self, event: event.Event) -> None:
        """Nothing to say."""
