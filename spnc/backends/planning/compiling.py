"""How kernels are compiled, and how that can be watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event

FAST = {"reassoc", "contract", "nsz"}
F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile at the first call and keep the code on disk; run without the interpreter's lock.

    Sums may be taken in any order and multiply-adds fused, alike on every run; infinities and
    not-a-numbers keep their meaning.
    """
    try:
        compiled = njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")(function)
    except RuntimeError:  # there is nowhere to keep it
        compiled = njit(nogil=True, fastmath=FAST, error_model="numpy")(function)
    return cast("F", compiled)


def part(function: F) -> F:
    """A piece of a kernel: put into every kernel that calls it.

    Left as a function of its own, the code that runs would be this process's where the kernel has
    just been compiled, and the kernel's where that came from disk; and of a sum that may be taken
    in any order, the two have not the same bits.
    """
    return cast("F", njit(inline="always", fastmath=FAST, error_model="numpy")(function))


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
