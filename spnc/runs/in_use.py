"""One training at a time in a run folder.

A run holds the file `in-use.json` in its folder, locked with the operating system, which frees the
lock when the process ends, however it ends. So a file that was left behind is no obstacle. The file
says who holds it: host, process and start. It is deleted at the end.

Every second its time of change is set, as a sign of life: after a kill, it tells how long the run
had been going on, which a time budget has to count.

The folder may be removed while it is held, which `Hold.renew` notices: then it is taken again,
unless another training has done so before.

The lock is advisory: it keeps other trainings of spnc out, nothing else. Where the file system has
no locks, what the file says has to do: a process on this host that has ended does not count.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from spnc.common.atomic import create_folders, remove_folders
from spnc.diagnostics import Sink, writing

NAME = "in-use.json"
BEAT_SECONDS = 1.0
# What locking a file raises where the file system has no locks.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


@dataclass(frozen=True)
class Killed:
    """A run that ended without a word, by the file that it left: seconds since 1970."""

    began: float
    last_sign: float


class Hold:
    """A folder that is held, with the locked file in it, and the run that was killed there."""

    def __init__(self, folder: Path, file: IO[str], killed: Killed | None = None) -> None:
        self.folder, self.file, self.killed = folder, file, killed

    def renew(self) -> bool:
        """Take the folder again if it was removed. Return whether it was.

        Raises OSError, also if another training has it now.
        """
        if _is_same(self.file, self.folder / NAME):
            return False
        create_folders(self.folder)
        file = _taken(self.folder / NAME)
        if file is None:
            reason = "it was removed, and another training is under way in it now"
            raise OSError(errno.EBUSY, reason, str(self.folder))
        self.file.close()
        self.file = file
        return True

    def beat(self, ended: threading.Event) -> None:
        """Give signs of life until the run has ended."""
        by_number = os.utime in os.supports_fd  # the name may be another's by now
        while not ended.wait(BEAT_SECONDS):
            with suppress(OSError, ValueError):  # ValueError: it is being closed
                os.utime(self.file.fileno() if by_number else self.folder / NAME)

    def release(self) -> None:
        """Delete the file while it is still locked, so that nobody else's is deleted."""
        if _is_same(self.file, self.folder / NAME):
            with suppress(OSError):
                (self.folder / NAME).unlink()
        self.file.close()


@contextmanager
def in_use(folder: Path, sink: Sink) -> Iterator[Hold]:
    """Hold a folder, which is created if need be; stop if another run holds it (E511).

    A folder that was created here, and in which nothing was written, is removed again.
    """
    with writing(folder):
        made = create_folders(folder)
        killed = _killed(folder / NAME)
        try:
            file = _taken(folder / NAME)
        except OSError:
            remove_folders(made)
            raise
    if file is None:
        holder = _holder(folder / NAME)
        sink.error(
            "E511",
            f"another training is under way in `{folder}`",
            where=str(folder),
            notes=[f"held by {holder}"] if holder else [],
            help="wait until it has ended, stop it, or train into another folder",
        )
        sink.stop()
    assert file is not None
    hold, ended = Hold(folder, file, killed), threading.Event()
    threading.Thread(target=hold.beat, args=(ended,), daemon=True).start()
    try:
        yield hold
    finally:
        ended.set()
        hold.release()
        remove_folders(made)


def _killed(path: Path) -> Killed | None:
    """Return what a file that was left behind tells; None without one."""
    try:
        began = datetime.fromisoformat(str(_read(path)["since"])).timestamp()
        return Killed(began, max(began, path.stat().st_mtime))
    except (OSError, LookupError, ValueError):
        return None


def _taken(path: Path) -> IO[str] | None:
    """Return the locked file with a word about this process in it; None if another has it."""
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            _lock(file)
        except OSError as error:
            if error.errno not in _NO_LOCKS or _is_held(path):
                file.close()
                return None
        # The one who held it may have deleted it in between: then this file is nobody's.
        if _is_same(file, path):
            break
        file.close()
    try:
        file.seek(0)
        file.truncate()
        json.dump(_about_this_process(), file)
        file.flush()
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        with suppress(OSError):  # flushing its buffer fails again
            file.close()
        raise OSError(error.errno, error.strerror, str(path)) from error
    return file


def _lock(file: IO[str]) -> None:
    if sys.platform == "win32":
        import msvcrt

        # A byte far behind the text, since Windows lets nobody read a locked part.
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_same(file: IO[str], path: Path) -> bool:
    try:
        there = path.stat()
    except OSError:
        return False
    return os.path.samestat(os.fstat(file.fileno()), there)


def _about_this_process() -> dict[str, Any]:
    began = datetime.now(UTC).isoformat(timespec="seconds")
    return {"host": socket.gethostname(), "process": os.getpid(), "since": began}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _holder(path: Path) -> str | None:
    """Return who holds a folder, in words."""
    found = _read(path)
    if not found:
        return None
    return f"process {found.get('process')} on {found.get('host')}, since {found.get('since')}"


def _is_held(path: Path) -> bool:
    """Return whether the file names a process that is not known to have ended."""
    found = _read(path)
    if not found or found.get("host") != socket.gethostname():
        return bool(found)
    try:
        os.kill(int(found["process"]), 0)
    except ProcessLookupError:
        return False
    except (OSError, LookupError, TypeError, ValueError, OverflowError):
        return True
    return int(found["process"]) != os.getpid()
