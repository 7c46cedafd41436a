"""The time that a run has used, also in processes that were interrupted or killed.

The file `time-used.json` in the run folder is written when a process begins and when it ends in
good order. After a kill, the signs of life of `spnc.runs.in_use` tell how long it went on.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from spnc.common.atomic import write_bytes
from spnc.common.sealed import read_sealed_json, sealed_json
from spnc.diagnostics import Sink
from spnc.runs.in_use import Killed

NAME = "time-used.json"


def note(folder: Path, seconds: float | None) -> None:
    """Write how many seconds the run has used up to now; None if the count is over.

    A full disk, which others report, does not end a training here.
    """
    with suppress(OSError):
        if seconds is None:
            (folder / NAME).unlink(missing_ok=True)
        else:
            about = {"seconds": seconds, "written": time.time()}
            write_bytes(folder / NAME, sealed_json(about))


def read(folder: Path, killed: Killed | None, sink: Sink) -> float:
    """Return the seconds that earlier processes have used; `killed` is the last, if it was."""
    file = folder / NAME
    seconds, written = 0.0, killed.began if killed is not None else 0.0
    if file.is_file():
        try:
            about = read_sealed_json(file.read_bytes())
            seconds, written = float(about["seconds"]), float(about["written"])
        except (OSError, LookupError, TypeError, ValueError) as error:
            sink.error(
                "E403",
                "the time that the run has used cannot be read",
                where=str(file),
                notes=[(str(error) or type(error).__name__).splitlines()[0]],
                help="delete the file to resume as if no time had been used",
            )
    return seconds + (max(0.0, killed.last_sign - written) if killed is not None else 0.0)
