"""Files that are either complete or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write into, which takes its place when it is complete; if it fails, it is gone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    file = os.fdopen(handle, "wb")
    try:
        yield file
        file.close()
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):  # what is still in its buffer is not wanted
            file.close()
        temporary.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Write beside the target, then put it in place: nobody ever sees half a file."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """The same for text, in UTF-8."""
    write_bytes(path, content.encode())
