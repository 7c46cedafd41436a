"""Kept work: what a run has learned before its training begins, as files in its folder.

Components, links and the state of decoders are kept every `SECONDS`, so that a run that was killed
does not learn them again. Each file has a checksum, and says which run it belongs to. A file that
was damaged is not used: the work is done again, with the same result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import numpy as np

from spnc.common.atomic import write_bytes
from spnc.common.savepoints import NamedSavepoints, Piece, Savepoints
from spnc.common.sealed import (
    DamagedError,
    read_description,
    read_sealed_arrays,
    sealed_arrays,
)
from spnc.diagnostics import Sink

NAME = "kept-work"  # the folder in the run folder
ENDING = ".work"
FORMAT = "spnc-kept-work"
SECONDS = 10.0  # between two writes; a shorter run writes nothing
# Writing may take this part of the time: large pieces are written less often.
_WRITING_SHARE = 0.05
_LONGEST = 25.0  # seconds between two writes, whatever they take: the promise is thirty


class WorkFolder(Savepoints):
    """Keeps results as files; `prepare` is called before one is written."""

    def __init__(
        self,
        path: Path,
        fingerprint: str,
        sink: Sink,
        prepare: Callable[[], None],
        *,
        resuming: bool = False,
    ) -> None:
        """`fingerprint` tells runs apart. Files that are there are used only if `resuming`."""
        self.path, self._fingerprint, self._sink = path, fingerprint, sink
        self.place = str(path)
        self._prepare, self._established = prepare, False
        self._readable = resuming
        # What makes each result, and the prefix of the names of those that it replaces.
        self._pending: dict[str, tuple[Callable[[], Piece | None], str | None]] = {}
        self._written_at, self._pause = time.monotonic(), SECONDS
        self._warned = False

    def load(self, name: str) -> Piece | None:
        """Return what was kept under a name; None, after a warning, if it was damaged."""
        if not self._readable:
            return None
        file = self._file(name)
        try:
            about, arrays = read_sealed_arrays(FORMAT, file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, DamagedError) as error:
            self.unusable(name, str(error))
            return None
        if about.get("fingerprint") != self._fingerprint or about.get("name") != name:
            return None
        kept = about.get("kept")
        return Piece(kept if isinstance(kept, dict) else {}, arrays)

    def is_due(self) -> bool:
        """Whether something is to be written now."""
        return time.monotonic() - self._written_at >= self._pause

    def save(self, name: str, piece: Piece) -> None:
        """Write a result, and what was to be written later."""
        self.cancel(name)
        self.flush()
        self._write(name, piece)

    def later(
        self, name: str, make: Callable[[], Piece | None], replaces: str | None = None
    ) -> None:
        """Write a result if that is due, otherwise with the next one."""
        self._pending[name] = make, replaces
        if self.is_due():
            self.flush()

    def flush(self) -> None:
        """Write what was to be written later."""
        for name in list(self._pending):
            make, replaces = self._pending.pop(name)
            made = make()
            if made is not None and self._write(name, made) and replaces is not None:
                remove(self.path, quote(replaces, safe=""), but=self._file(name))

    def cancel(self, name: str) -> None:
        """Do not write a result later."""
        self._pending.pop(name, None)

    def settle(self) -> None:
        """Write what was to be written later if anything was written yet; forget it otherwise."""
        if self._established:
            self.flush()
        self._pending.clear()

    def drop(self, prefix: str) -> None:
        """Delete the files of results whose names begin like this."""
        for name in [name for name in self._pending if name.startswith(prefix)]:
            self._pending.pop(name)
        if self.is_established:
            remove(self.path, quote(prefix, safe=""))

    def unusable(self, name: str, reason: str) -> None:
        """Warn that a result cannot be used (W405)."""
        self._sink.warning(
            "W405",
            "kept work cannot be used, and is done again",
            where=str(self._file(name)),
            notes=[reason.splitlines()[0] if reason else "it is damaged"],
        )

    def within(self, prefix: str) -> Savepoints:
        """Return the savepoints of a part of the work."""
        return NamedSavepoints(self, prefix)

    @property
    def is_established(self) -> bool:
        """Whether something was written, now or by an earlier run."""
        return self._established or (self._readable and self.path.is_dir())

    def _file(self, name: str) -> Path:
        return self.path / f"{quote(name, safe='')}{ENDING}"

    def _write(self, name: str, piece: Piece) -> bool:
        """Write a result. Return whether that worked; if not, the run goes on (W403)."""
        began, failed = time.monotonic(), False
        try:
            self._prepare()
            self._established = self._readable = True
            about = {"fingerprint": self._fingerprint, "name": name, "kept": piece.about}
            arrays = {n: np.ascontiguousarray(a) for n, a in piece.arrays.items()}
            write_bytes(self._file(name), sealed_arrays(FORMAT, about, arrays))
        except OSError as error:
            failed = True
            if not self._warned:
                self._warned = True
                self._sink.warning(
                    "W403",
                    f"work could not be kept: {error.strerror or error}",
                    where=str(self._file(name)),
                    notes=["the run went on; if it is killed, this work is done again"],
                )
        self._written_at = time.monotonic()
        spent = self._written_at - began
        self._pause = min(max(SECONDS, spent / _WRITING_SHARE), _LONGEST)
        return not failed


def fingerprints(folder: Path, but: str) -> set[str]:
    """Return which runs the files in a folder belong to, as far as their headers can be read.

    `but` is the name of a file that belongs to no run.
    """
    found = set()
    for path in folder.glob(f"*{ENDING}"):
        with suppress(OSError, DamagedError), path.open("rb") as file:
            about = read_description(FORMAT, file)
            if about.get("name") != but:
                found.add(str(about.get("fingerprint")))
    return found


def remove(folder: Path, prefix: str = "", but: Path | None = None) -> None:
    """Delete the kept work in a folder, and the folder if nothing is left in it.

    `prefix` is that of the files to delete, `but` one of them that stays.
    """
    for pattern in (f"{prefix}*{ENDING}", f".{prefix}*{ENDING}.*"):
        for file in folder.glob(pattern):
            if file != but:
                file.unlink(missing_ok=True)
    with suppress(OSError):  # it does not exist, or holds something else
        folder.rmdir()
