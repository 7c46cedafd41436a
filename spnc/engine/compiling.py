"""How kernels are compiled, and how that is shown the first time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event

F = TypeVar("F", bound=Callable[..., Any])

KERNELS: list[str] = []


def kernel(function: F) -> F:
    """Compile at the first call and keep the code on disk; run without the interpreter's lock.

    Sums may be taken in any order and multiply-adds fused, alike on every run; infinities and
    not-a-numbers keep their meaning.
    """
    KERNELS.append(function.__name__)
    fast = {"reassoc", "contract", "nsz"}
    compiled = njit(cache=True, nogil=True, fastmath=fast, error_model="numpy")
    return cast("F", compiled(function))


def inlined(function: F) -> F:
    """A large part of one kernel: compiled with it, and not once more by itself."""
    return cast("F", njit(inline="always")(function))


class Listener(event.Listener):
    """Counts the kernels that are compiled, and not just read from disk."""

    def __init__(self, tell: Callable[[int, int], None]) -> None:
        self.tell, self.compiled = tell, 0

    def on_start(self, event: event.Event) -> None:
        """One more, if it is ours: numba compiles helpers of its own beside them."""
        if event.data["dispatcher"].py_func.__module__.startswith("spnc."):
            self.compiled += 1
            self.tell(self.compiled, len(KERNELS))

    def on_end(self, event: event.Event) -> None:
        """Nothing to say."""


def warm_up(tell: Callable[[int, int], None]) -> None:
    """Make every kernel ready, by a first use; `tell` hears of each that has to be compiled."""
    from spnc.engine.first_use import use_every_kernel

    with event.install_listener("numba:compile", Listener(tell)):
        use_every_kernel()
