"""`--log FILE`: what happens during a training, a line of JSON each, as it happens.

The fields are described in docs/long-runs.md. Lines are appended and flushed one by one, so that a
killed run leaves all of them, and the log of a resumed run goes on.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from spnc.common.memory import resident
from spnc.common.observer import Observer, Stage, title_of
from spnc.diagnostics import Sink, writing

PROGRESS_SECONDS = 1.0  # between two lines about progress inside a stage


class Log(Observer):
    """Writes what it observes."""

    def __init__(self, file: IO[str], sink: Sink, began: float) -> None:
        """`began` is when the command began, on `time.monotonic`."""
        self._file: IO[str] | None = file
        self._sink, self._began = sink, began
        self._stage = ""
        self._progress_at = self._speed_at = -math.inf

    def write(self, event: str, **more: Any) -> None:
        """Write a line; if that fails, warn once and go on without the log (W404)."""
        if self._file is None:
            return
        seconds = round(time.monotonic() - self._began, 3)
        line = {"event": event, **_plain(more), "seconds": seconds, "memory": resident()}
        try:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        except OSError as error:
            reason = error.strerror or str(error)
            self._sink.warning(
                "W404",
                f"the log can no longer be written: {reason}",
                where=str(self._file.name),
                notes=["training went on without it"],
            )
            self.close()

    def close(self) -> None:
        """Close the file. What could not be written is lost."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError:  # it flushes again what could not be written
                return

    def stage(self, stage: Stage | str) -> None:
        """Write that a stage begins."""
        self._stage, self._progress_at = title_of(stage), -math.inf
        self.write("stage", stage=self._stage)

    def progress(self, label: str, done: int, total: int | None) -> None:
        """Write how far the stage is, every `PROGRESS_SECONDS`."""
        now = time.monotonic()
        if now - self._progress_at >= PROGRESS_SECONDS:
            self._progress_at = now
            self.write("progress", stage=self._stage, label=label, done=done, total=total)

    def notice(self, text: str) -> None:
        """Write a notice."""
        self.write("notice", text=text)

    def speed(self, workers: int, rows_per_second: float) -> None:
        """Write how many workers there are and how fast they are, every `PROGRESS_SECONDS`."""
        now = time.monotonic()
        if now - self._speed_at >= PROGRESS_SECONDS:
            self._speed_at = now
            rate = round(rows_per_second, 1)
            self.write("speed", stage=self._stage, workers=workers, rows_per_second=rate)

    def attempt(self, done: int, total: int | None, what: str, best: str) -> None:
        """Write that a try begins."""
        del best
        self.write("try", number=done + 1, total=total, what=what)

    def tried(self, number: int, what: str, valid: float, best: bool) -> None:
        """Write the outcome of a try."""
        self.write("tried", number=number, what=what, valid=valid, best=best)

    def iteration(self, number: int, train: float, valid: float | None, is_best: bool) -> None:
        """Write the scores of an iteration."""
        scores = {"train": train, "valid": valid, "best": is_best}
        self.write("iteration", stage=self._stage, iteration=number, **scores)


@contextmanager
def logged(path: str | Path | None, sink: Sink, began: float) -> Iterator[Log | None]:
    """Yield a log that is written to a file, after what is in it; None without a path.

    Stop if the file cannot be opened (E120). The last line says how the training inside ended.
    """
    if path is None:
        yield None
        return
    with writing(path):
        file = Path(path).open("a+", encoding="utf-8")  # noqa: SIM115  (closed by the log)
        _end_last_line(file, Path(path))
    log = Log(file, sink, began)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    log.write("begin", time=now, process=os.getpid())
    outcome = "failed"
    try:
        yield log
        outcome = ""
    except KeyboardInterrupt:
        outcome = "interrupted"
        raise
    finally:
        if outcome:
            log.write("end", outcome=outcome)
        log.close()


def _end_last_line(file: IO[str], path: Path) -> None:
    """End the last line, which a kill may have cut short, so that the next one is readable."""
    with path.open("rb") as content:
        if content.seek(0, os.SEEK_END) > 0:
            content.seek(-1, os.SEEK_END)
            if content.read() != b"\n":
                file.write("\n")


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for JSON, which has no infinite numbers."""
    endless = {k for k, v in values.items() if isinstance(v, float) and not math.isfinite(v)}
    return {key: None if key in endless else value for key, value in values.items()}
