"""How kernels are compiled, and how compilation can be observed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event

FAST = {"reassoc", "contract", "nsz"}
EXACT = {"contract"}
F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile at the first call, cache the code on disk, and run it without the GIL.

    The compiler may reorder sums and fuse multiply-adds, but does so alike on every run. Infinities
    and NaN keep their meaning.
    """
    return _compiled(function, FAST)


def exact_kernel(function: F) -> F:
    """Compile a kernel whose sums must be taken as they are written: it cancels rounding errors."""
    return _compiled(function, EXACT)


def _compiled(function: F, fastmath: set[str]) -> F:
    try:
        compiled = njit(cache=True, nogil=True, fastmath=fastmath, error_model="numpy")(function)
    except RuntimeError:  # no folder for the cache can be written to
        compiled = njit(nogil=True, fastmath=fastmath, error_model="numpy")(function)
    else:
        _tolerate_unreadable_index(compiled)
    return cast("F", compiled)


def _tolerate_unreadable_index(compiled: Any) -> None:
    """Compile anew if the cache was written by a version of spnc with other argument types.

    Numba reads the types in a cache's index before it checks whether the index is out of date, and
    fails if a type has been moved or renamed since.
    """
    cache_file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if cache_file is None:  # these names are private to numba, and may change
        return
    load_index = cache_file._load_index

    def load_index_or_none() -> Any:
        try:
            return load_index()
        except (AttributeError, ImportError):
            return {}

    cache_file._load_index = load_index_or_none


def inlined(function: F) -> F:
    """Compile a function into every kernel that calls it.

    Called as a function of its own, it would be compiled by this process if the kernel is new, and
    come with the kernel if that is read from disk. The two may round differently.
    """
    return cast("F", njit(inline="always", fastmath=FAST, error_model="numpy")(function))


class CompileCounter(event.Listener):
    """Counts the kernels that are compiled rather than read from disk."""

    def __init__(self, report: Callable[[int], None]) -> None:
        self.report, self.compiled = report, 0

    def on_start(self, event: event.Event) -> None:
        """Count and report the kernel if it is one of spnc's; numba compiles helpers as well."""
        if event.data["dispatcher"].py_func.__module__.startswith("spnc."):
            self.compiled += 1
            self.report(self.compiled)

    def on_end(self, event: event.Event) -> None:
        """Do nothing; numba requires the method."""
