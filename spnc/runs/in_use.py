"""One training at a time in a run folder.

A run holds the file `in-use.json` in its folder, locked with the operating system, which frees the
lock when the process ends, however it ends. So a file that was left behind is no obstacle. The file
says who holds it: host, process and start. It is deleted at the end.

Every second its time of change is set, as a sign of life: after a kill, it tells how long the run
had been going on, which a time budget has to count.

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


@contextmanager
def in_use(folder: Path, sink: Sink) -> Iterator[Killed | None]:
    """Hold a folder, which is created if need be; stop if another run holds it (E511).

    Yield what is known of a run that was killed there. A folder that was created here, and in which
    nothing was written, is removed again.
    """
    with writing(folder):
        made = _created(folder)
        killed = _killed(folder / NAME)
        file = _taken(folder / NAME)
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
    ended = threading.Event()
    threading.Thread(target=_beat, args=(folder / NAME, ended), daemon=True).start()
    try:
        yield killed
    finally:
        ended.set()
        # Deleted while it is still locked, so that nobody else's file is.
        with suppress(OSError):
            (folder / NAME).unlink()
        file.close()
        for path in made:
            with suppress(OSError):  # it is not empty
                path.rmdir()


def _beat(path: Path, ended: threading.Event) -> None:
    """Give signs of life until the run has ended."""
    while not ended.wait(BEAT_SECONDS):
        with suppress(OSError):  # the folder may have been removed
            os.utime(path)


def _killed(path: Path) -> Killed | None:
    """Return what a file that was left behind tells; None without one."""
    try:
        began = datetime.fromisoformat(str(_read(path)["since"])).timestamp()
        return Killed(began, max(began, path.stat().st_mtime))
    except (OSError, LookupError, ValueError):
        return None


def _created(folder: Path) -> list[Path]:
    """Create a folder. Return which folders are new, the innermost first."""
    new = [p for p in (folder, *folder.parents) if not p.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return new


def _taken(path: Path) -> IO[str] | None:
    """Return the locked file with a word about this process in it; None if another has it."""
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            _lock(file)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                file.close()
                return None
            if _is_held(path):
                file.close()
                return None
        # The one who held it may have deleted it in between: then this file is nobody's.
        if _is_same(file, path):
            break
        file.close()
    file.seek(0)
    file.truncate()
    json.dump(_about_this_process(), file)
    file.flush()
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
