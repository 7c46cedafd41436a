"""Writing files that are either complete or absent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from spnc.common.signals import tidying


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` at the end, or is deleted after an exception."""
    with tidying():
        yield from _replacing(path)


def _replacing(path: Path) -> Iterator[BinaryIO]:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    file = os.fdopen(handle, "wb")
    try:
        yield file
        file.flush()
        os.fsync(file.fileno())  # or, after a crash, the new name could have none of the content
        file.close()
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):  # flushing its buffer may fail again
            file.close()
        temporary.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: a reader sees the old content or the new, never a part."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """Write a UTF-8 text file atomically."""
    write_bytes(path, content.encode())
