"""How kernels are compiled, and how compilation can be observed."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
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
        _guard_cache(compiled)
    return cast("F", compiled)


def _guard_cache(compiled: Any) -> None:
    """Compile anew if the files of the cache are damaged, or of another version of spnc.

    Numba trusts them: a file that was cut short is an exception, a changed byte of machine code a
    wrong result. So each one ends with a checksum. An intact index, too, may not be readable:
    numba reads the argument types in it before it checks whether it is out of date, and fails if
    a type has been moved or renamed since.
    """
    file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    private = ("_load_index", "_load_data", "_dump", "_index_path", "_data_path")
    if not all(hasattr(file, name) for name in private):  # numba may change what is private to it
        return
    load_index, load_data, dump = file._load_index, file._load_data, file._dump

    def load_intact_index() -> Any:
        try:
            return load_index() if _is_sealed(file._index_path) else {}
        except (AttributeError, ImportError):
            return {}

    def load_intact_data(name: str) -> Any:
        path = file._data_path(name)
        if not _is_sealed(path):
            raise OSError(f"{path} is damaged")  # which numba takes as absent
        return load_data(name)

    file._load_index, file._load_data = load_intact_index, load_intact_data
    file._dump = lambda data: _sealed(dump(data))


def _sealed(content: bytes) -> bytes:
    """Return the content with its checksum and length behind it, where pickle does not look."""
    return content + sha256(content).digest() + len(content).to_bytes(8, "little")


def _is_sealed(path: str) -> bool:
    """Whether a file exists and ends with content that `_sealed` has written."""
    try:
        found = Path(path).read_bytes()
    except FileNotFoundError:
        return False
    content, digest, length = found[:-40], found[-40:-8], int.from_bytes(found[-8:], "little")
    return 0 < length <= len(content) and sha256(content[-length:]).digest() == digest


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
