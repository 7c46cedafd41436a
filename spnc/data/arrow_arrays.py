"""Arrow arrays as NumPy arrays, and the other way.

pyarrow's own conversions import pandas where it is installed, which takes longer than reading most
tables. These use the memory of arrays directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


class _Compute:
    """The functions of `pyarrow.compute`, which is imported when one is first used.

    That takes a tenth of a second, and questions about arrays do without.
    """

    def __getattr__(self, name: str) -> Any:
        import pyarrow.compute

        return getattr(pyarrow.compute, name)


compute = _Compute()


def stored_numbers(values: Any) -> NDArray[Any]:
    """Return whole numbers or doubles as Arrow stores them, chunked or not.

    What is stored for a missing cell is arbitrary. The result may be read-only.
    """
    if isinstance(values, pa.ChunkedArray):
        parts = [stored_numbers(chunk) for chunk in values.chunks]
        return _whole(parts, _type_of(values.type))
    kind = _type_of(values.type)
    data = values.buffers()[1]
    if data is None or not len(values):
        return np.empty(0, dtype=kind)
    return np.frombuffer(data, kind, len(values), values.offset * kind.itemsize)


def holes(values: Any) -> Mask | None:
    """Return which cells of an array, chunked or not, are missing; None if none is."""
    if not values.null_count:
        return None
    if isinstance(values, pa.ChunkedArray):
        parts = [(holes(chunk), len(chunk)) for chunk in values.chunks]
        return _whole([np.zeros(n, np.bool_) if m is None else m for m, n in parts], np.bool_)
    return truths(values.is_null())


def doubles(values: Any) -> NDArray[np.float64]:
    """Return the numbers of a chunked array as doubles, NaN where missing."""
    found = np.empty(len(values))
    begin = 0
    for chunk in values.chunks:
        own = found[begin : begin + len(chunk)]
        own[:] = stored_numbers(chunk)
        missing = holes(chunk)
        if missing is not None:
            own[missing] = np.nan
        begin += len(chunk)
    return found


def truths(values: Any) -> Mask:
    """Return the truth values of an array; a missing one is False."""
    if not len(values):
        return np.empty(0, dtype=np.bool_)
    present, data = values.buffers()
    found = _bits(data, values.offset, len(values))
    return found if present is None else found & _bits(present, values.offset, len(values))


def _bits(data: Any, begin: int, count: int) -> Mask:
    packed = np.frombuffer(data, np.uint8)[: (begin + count + 7) // 8]
    return np.unpackbits(packed, count=begin + count, bitorder="little")[begin:].view(np.bool_)


def text_array(texts: Sequence[str]) -> Any:
    """Return an Arrow array of texts."""
    parts = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int32)
    data = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.string(), len(parts), data)


def truth_array(mask: Mask) -> Any:
    """Return an Arrow array of truth values."""
    bits = pa.py_buffer(np.packbits(mask, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, bits])


def index_array(positions: NDArray[np.int32]) -> Any:
    """Return an Arrow array of positions, in the same memory."""
    data = pa.py_buffer(np.ascontiguousarray(positions))
    return pa.Array.from_buffers(pa.int32(), len(positions), [None, data])


def _type_of(kind: Any) -> np.dtype[Any]:
    """Return NumPy's type of whole numbers or doubles."""
    return np.dtype(np.float64 if kind == pa.float64() else str(kind))


def _whole(parts: Sequence[NDArray[Any]], kind: Any) -> NDArray[Any]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype=kind)
