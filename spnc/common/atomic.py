"""Writing files that are either complete or absent."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from spnc.common.signals import tidying

_LONGEST_PREFIX = 50  # characters of a name in that of its temporary file: at most 255 bytes


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` at the end, or is deleted after an exception.

    The new file has the permissions of the old one. A device or a pipe is written to as it is.
    Raises OSError with the name of `path`, also where the system gives none or that of the
    temporary file.
    """
    with tidying():
        yield from _replacing(path) if not _is_special(path) else _writing_to(path)


def _replacing(path: Path) -> Iterator[BinaryIO]:
    if path.is_file() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    made = create_folders(path.parent)
    temporary = path.parent / f".{path.name[:_LONGEST_PREFIX]}.{secrets.token_hex(8)}"
    file: BinaryIO | None = None
    try:
        file = temporary.open("xb")
        yield file
        flush(file)  # or, after a crash, the new name could have none of the content
        file.close()
        with suppress(OSError):  # there is no old file, or the file system has no permissions
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        temporary.replace(path)
    except BaseException as error:
        if file is not None:
            with suppress(OSError):  # flushing its buffer may fail again
                file.close()
        with suppress(OSError):  # the folder may have been removed, or made read-only
            temporary.unlink(missing_ok=True)
        remove_folders(made)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error
        raise


def _writing_to(path: Path) -> Iterator[BinaryIO]:
    with path.open("wb") as file:
        yield file


def _is_special(path: Path) -> bool:
    """Whether a path leads to a device or a pipe, which must not be replaced by a file."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def flush(file: BinaryIO) -> None:
    """Bring all that was written to the disk, so that a full disk shows now."""
    file.flush()
    os.fsync(file.fileno())


def create_folders(folder: Path) -> list[Path]:
    """Create a folder. Return which folders are new, the innermost first. Raises OSError."""
    new = [p for p in (folder, *folder.parents) if not p.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        remove_folders(new)
        raise
    return new


def remove_folders(folders: list[Path]) -> None:
    """Remove those of these folders that are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: a reader sees the old content or the new, never a part."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: Path, content: str) -> None:
    """Write a UTF-8 text file atomically."""
    write_bytes(path, content.encode())


def write_together(contents: dict[Path, bytes]) -> None:
    """Write several files atomically, in this order; if one does not fit on the disk, none is."""
    with ExitStack() as files:
        for path, content in reversed(contents.items()):  # the last to be entered appears first
            file = files.enter_context(replacing(path))
            file.write(content)
            flush(file)
