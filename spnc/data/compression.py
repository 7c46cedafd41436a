"""Compressed files: gzip, bzip2, Zstandard, and zip archives with one file."""

from __future__ import annotations

import bz2
import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from spnc.common.limits import check_unpacked

COMPRESSIONS = (".gz", ".bz2", ".zst", ".zip")
_PIECE = 1 << 22  # bytes that are unpacked at a time
_NAMES = {".gz": "gzip", ".bz2": "bzip2", ".zst": "Zstandard", ".zip": "zip"}
_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".zst": b"\x28\xb5\x2f\xfd", ".zip": b"PK\x03\x04"}


class CompressionError(Exception):
    """A file cannot be decompressed; `help` says what to do."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


def suffix_of(name: str) -> str:
    """Return the suffix of a file's name that says how it is compressed; empty if it is not."""
    suffix = Path(name).suffix.lower()
    return suffix if suffix in COMPRESSIONS else ""


def compression_of(data: bytes) -> str:
    """Return how data is compressed, from its first bytes, as a suffix; empty if it is not."""
    return next((suffix for suffix, magic in _MAGIC.items() if data.startswith(magic)), "")


def member_name(file: BinaryIO) -> str:
    """Return the name of the only file in a zip archive. Raises `CompressionError`."""
    with _explained(".zip", file):
        with zipfile.ZipFile(file) as archive:
            names = [n for n in archive.namelist() if not n.endswith("/") and "__MACOSX" not in n]
        if len(names) == 1:
            return names[0]
    raise CompressionError(
        f"the zip archive holds {len(names)} files, not one", "unpack it, and name one file"
    )


@contextmanager
def decompressing(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    """Yield the content of a file as a stream.

    Raises `CompressionError`, and `LimitError` for a file that unpacks to too much, also while the
    stream is read.
    """
    with _unpacking(file, suffix) as stream:
        yield _Bounded(stream, file) if suffix else stream  # type: ignore[misc]


class _Bounded:
    """A stream that may not be much longer than the compressed file that it comes from."""

    def __init__(self, stream: BinaryIO, file: BinaryIO) -> None:
        self._stream, self._done = stream, 0
        at = file.tell()
        self._packed = file.seek(0, SEEK_END)
        file.seek(at)

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, or the rest. Raises `LimitError`."""
        pieces, left = [], size
        while left:
            piece = self._stream.read(_PIECE if left < 0 else min(left, _PIECE))
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece) if size >= 0 else 0
            self._done += len(piece)
            check_unpacked(self._done, self._packed)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


@contextmanager
def _unpacking(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    with _explained(suffix, file):
        if suffix == ".zip":
            name = member_name(file)
            with zipfile.ZipFile(file) as archive, archive.open(name) as stream:
                yield stream  # type: ignore[misc]
        elif suffix == ".zst":
            with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd") as stream:
                yield stream
        elif suffix == ".bz2":
            with bz2.BZ2File(file) as stream:
                yield stream  # type: ignore[misc]
        elif suffix == ".gz":
            with gzip.GzipFile(fileobj=file) as stream:
                yield stream  # type: ignore[misc]
        else:
            yield file


@contextmanager
def _explained(suffix: str, file: Any) -> Iterator[None]:
    """Turn the errors of all libraries into `CompressionError`."""
    if not suffix:
        yield
        return
    begins = file.read(4).startswith(_MAGIC[suffix])
    file.seek(0)
    try:
        yield
    except CompressionError:
        raise
    except (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason, hint = "the content is damaged", "copy or download the file again"
        if not begins:
            reason = "it does not begin like one"
            hint = f"if it is not compressed, remove `{suffix}` from its name"
        elif isinstance(error, EOFError):
            reason = "it ends too early"
        message = f"this is not a readable {_NAMES[suffix]} file: {reason}"
        raise CompressionError(message, hint) from error
