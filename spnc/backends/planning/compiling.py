"""How kernels are compiled, and how compilation can be observed."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import config, njit
from numba.core import event

from spnc.diagnostics import Diagnostic

FAST = {"reassoc", "contract", "nsz"}
EXACT = {"contract"}
F = TypeVar("F", bound=Callable[..., Any])


class _Unkept:
    """Why compiled code is not kept on disk, as far as that has come up; None if it is."""

    reason: str | None = None


def why_not_kept() -> Diagnostic | None:
    """Return why the next process has to compile the kernels again (W701); None if it has not."""
    if _Unkept.reason is None:
        return None
    message = "compiled code cannot be kept, so every process compiles it again"
    hint = "set the environment variable NUMBA_CACHE_DIR to a folder that can be written to"
    return Diagnostic("W701", message, "warning", notes=(_Unkept.reason,), help=hint)


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
    options: dict[str, Any] = {"nogil": True, "fastmath": fastmath, "error_model": "numpy"}
    if _may_have_cache(function):
        try:
            compiled = njit(cache=True, **options)(function)
        except RuntimeError:  # no folder for the cache can be written to
            pass
        else:
            _guard_cache(compiled)
            return cast("F", compiled)
    _Unkept.reason = "no folder for it can be written to"
    return cast("F", njit(**options)(function))


def _may_have_cache(function: Callable[..., Any]) -> bool:
    """Whether numba can be asked for a cache.

    For a user without a home it would make a folder named `~` in the working directory, unless
    another place is given, or the folder of the source can be written to.
    """
    if config.CACHE_DIR or "XDG_CACHE_HOME" in os.environ:  # type: ignore[attr-defined]
        return True
    with suppress(RuntimeError):
        Path.home()
        return True
    beside = Path(function.__code__.co_filename).parent
    own = beside / "__pycache__"
    return os.access(own if own.is_dir() else beside, os.W_OK)


def _guard_cache(compiled: Any) -> None:
    """Compile anew if the files of the cache are damaged, or of another version of spnc.

    Numba trusts them: a file that was cut short is an exception, a changed byte of machine code a
    wrong result. So each one ends with a checksum. An intact index, too, may not be readable:
    numba reads the argument types in it before it checks whether it is out of date, and fails if
    a type has been moved or renamed since. And it fails where code cannot be written, for example
    because the disk is full.
    """
    file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    private = ("_load_index", "_load_data", "_dump", "_index_path", "_data_path", "_version")
    if not all(hasattr(file, name) for name in private):  # numba may change what is private to it
        return
    load_index, load_data, dump = file._load_index, file._load_data, file._dump
    head = pickle.dumps(file._version, protocol=-1)  # what numba writes before an index
    save = compiled._cache.save_overload

    def save_if_possible(signature: Any, data: Any) -> None:
        try:
            save(signature, data)
        except OSError as error:
            _Unkept.reason = f"`{compiled._cache.cache_path}`: {error.strerror or error}"

    def load_intact_index() -> Any:
        try:
            return load_index() if _is_sealed(file._index_path, head) else {}
        except (AttributeError, ImportError):
            return {}

    def load_intact_data(name: str) -> Any:
        path = file._data_path(name)
        if not _is_sealed(path):
            raise OSError(f"{path} is damaged")  # which numba takes as absent
        return load_data(name)

    file._load_index, file._load_data = load_intact_index, load_intact_data
    file._dump = lambda data: _sealed(dump(data))
    compiled._cache.save_overload = save_if_possible


def _sealed(content: bytes) -> bytes:
    """Return the content with its checksum and length behind it, where pickle does not look."""
    return content + sha256(content).digest() + len(content).to_bytes(8, "little")


def _is_sealed(path: str, head: bytes = b"") -> bool:
    """Whether a file exists and has, after its head, only what `_sealed` has written."""
    try:
        found = Path(path).read_bytes()
    except OSError:
        return False
    content, digest, length = found[len(head) : -40], found[-40:-8], found[-8:]
    whole = len(content) == int.from_bytes(length, "little") and found.startswith(head)
    return whole and sha256(content).digest() == digest


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
