"""Loaded rows that wait on disk: their arrays in a file, which is mapped into memory when needed.

The file has no name: it is gone with the process, however that ends. All else stays in memory.
"""

from __future__ import annotations

import io
import mmap
import pickle
import tempfile
import weakref
from typing import Any

from spnc.common.cache import cache_root

_SHARED = "shared"
_ALIGNED = 64  # bytes, as NumPy aligns what it computes with


class Spilled:
    """An object whose arrays are in a file. `shared` is what it refers to that stays in memory."""

    def __init__(self, thing: Any, shared: Any) -> None:
        """Write the arrays. Raises OSError if there is no place for them."""
        self._shared = shared
        buffers: list[pickle.PickleBuffer] = []
        stream = io.BytesIO()
        _Pickler(stream, shared, buffers).dump(thing)
        self._rest = stream.getvalue()
        self._file = tempfile.TemporaryFile(dir=_folder())  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._places: list[tuple[int, int]] = []
        end = 0
        for buffer in buffers:
            with buffer.raw() as raw:
                begin = -(-end // _ALIGNED) * _ALIGNED
                self._file.seek(begin)
                self._file.write(raw)
                end = begin + raw.nbytes
                self._places.append((begin, raw.nbytes))
        self._file.flush()
        self._size = end

    def restored(self) -> Any:
        """Return the object; its arrays are read as they are used, and let go of with it."""
        if self._size == 0:
            return _Unpickler(self._rest, self._shared, []).load()
        whole = memoryview(mmap.mmap(self._file.fileno(), self._size))
        arrays = [whole[begin : begin + size] for begin, size in self._places]
        return _Unpickler(self._rest, self._shared, arrays).load()


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, shared: Any, buffers: list[pickle.PickleBuffer]) -> None:
        super().__init__(stream, protocol=5, buffer_callback=buffers.append)
        self._shared = shared

    def persistent_id(self, thing: Any) -> str | None:
        return _SHARED if thing is self._shared else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, rest: bytes, shared: Any, arrays: list[memoryview]) -> None:
        super().__init__(io.BytesIO(rest), buffers=arrays)
        self._shared = shared

    def persistent_load(self, name: str) -> Any:
        assert name == _SHARED
        return self._shared


def _folder() -> str | None:
    """Return a folder on disk; the usual one for temporary files may be in memory."""
    folder = cache_root() / "spilled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return str(folder)
