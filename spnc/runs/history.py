"""The learning curve of a run: written at its end, read from its folder at any time."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from spnc.common.sealed import read_sealed_arrays
from spnc.diagnostics import Sink
from spnc.runs import checkpoint
from spnc.runs.files import RunFiles
from spnc.runs.results import report_changed_files
from spnc.training import Record

# What reading a damaged file can raise.
_DAMAGE = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError, csv.Error)
# What a `Record` has only with validation rows, or only with an objective.
_MAY_LACK = {"valid", "valid_impossible", "train_conditional", "valid_conditional"}
_ABSURD = 1e15  # no iteration and no log-likelihood is beyond this


@dataclass(frozen=True)
class History:
    """Average log-likelihoods by iteration; `valid` is empty without validation rows.

    A value is NaN where no row was possible. `kept` is the position of the parameters that were
    kept, or the best so far if the run is not `finished`.
    """

    name: str
    iterations: tuple[int, ...]
    train: tuple[float, ...]
    valid: tuple[float, ...]
    kept: int | None
    finished: bool


def read_history(path: Path, sink: Sink) -> History | None:
    """Return the curve of a run folder, or None after reporting why there is none (E601)."""
    folder = RunFiles(path)
    if not path.is_dir():
        found = "is a file" if path.exists() else "does not exist"
        sink.error(
            "E601",
            f"no learning curve: `{path}` {found}",
            where=str(path),
            help="give the folder that `spnc train` wrote",
        )
        return None
    file = folder.history if folder.history.is_file() else folder.checkpoint
    if not file.is_file():
        begun = folder.lock.is_file()
        sink.error(
            "E601",
            f"there is no learning curve in `{path}`" + (" yet" if begun else ""),
            where=str(path),
            notes=["a running training writes its curve after the first iteration"]
            if begun
            else [],
            help=None if begun else "give a folder that `spnc train` wrote",
        )
        return None
    try:
        if file == folder.history:
            return _finished(folder)
        return _in_progress(folder)
    except (OSError, *_DAMAGE) as error:
        _report_damage(file, error, sink)
        return None


def _report_damage(file: Path, error: Exception, sink: Sink) -> None:
    sink.error(
        "E601",
        "the learning curve cannot be read",
        where=str(file),
        notes=[(str(error) or type(error).__name__).splitlines()[0]],
        help="the file was changed; train again",
    )


def _finished(folder: RunFiles) -> History:
    own = Sink()
    if report_changed_files(folder.metrics, [folder.history], own):
        raise ValueError("; ".join(d.message for d in own.diagnostics))
    with folder.history.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    lacking = [n for n in ("iteration", "train", "valid") if not rows or n not in rows[0]]
    if lacking:
        raise ValueError(f"it has no {' and no '.join(lacking)}")
    if any(None in row.values() for row in rows):
        raise ValueError("a line of it is cut short")
    lines = [(int(r["iteration"]), float(r["train"]), float(r["valid"] or "nan")) for r in rows]
    return _history(folder, lines, _kept(folder), finished=True)


def _kept(folder: RunFiles) -> int | None:
    """Return which iteration a finished run kept; None if its metrics do not say."""
    try:
        metrics = json.loads(folder.metrics.read_text(encoding="utf-8"))
        return int(metrics["optimizer"]["kept_iteration"])
    except (OSError, *_DAMAGE):
        return None


def _in_progress(folder: RunFiles) -> History:
    about, _ = read_sealed_arrays(checkpoint.FORMAT, folder.checkpoint.read_bytes())
    records = [Record(*row) for row in about["history"]]
    lines = [
        (int(r.iteration), float(r.train), math.nan if r.valid is None else float(r.valid))
        for r in records
    ]
    return _history(folder, lines, about["best_iteration"], finished=False)


def _history(
    folder: RunFiles, lines: list[tuple[int, float, float]], kept: int | None, *, finished: bool
) -> History:
    if not lines:
        raise ValueError("it has no iterations")
    iterations, train, valid = (tuple(column) for column in zip(*lines, strict=True))
    if any(after <= before for before, after in pairwise(iterations)):
        raise ValueError("its iterations are not in order")
    if any(abs(value) > _ABSURD for line in lines for value in line):
        raise ValueError("its numbers are absurd")
    watched = any(map(math.isfinite, valid))
    if not finished and not watched:
        kept = None  # without validation rows the last iteration is kept, which is still to come
    return History(
        folder.path.resolve().name,
        iterations,
        train,
        valid if watched else (),
        iterations.index(kept) if kept in iterations else None,
        finished,
    )


def history_text(history: Sequence[Record]) -> str:
    """Return the content of `history.csv`: a line per iteration."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [f.name for f in fields(Record)]
    writer.writerow(names)
    writer.writerows([_cell(getattr(r, n)) for n in names] for r in history)
    return text.getvalue()


def read_records(file: Path, sink: Sink) -> tuple[Record, ...] | None:
    """Return what `history_text` has written to a file; None after reporting damage (E601)."""
    names = [f.name for f in fields(Record)]
    try:
        with file.open(encoding="utf-8", newline="") as text:
            rows = [{n: _value(n, row[n]) for n in names} for row in csv.DictReader(text)]
        if not rows:
            raise ValueError("it has no iterations")
    except (OSError, *_DAMAGE) as error:
        _report_damage(file, error, sink)
        return None
    return tuple(Record(**row) for row in rows)


def _value(name: str, cell: str | None) -> Any:
    if cell is None:
        raise ValueError("a line of it is cut short")
    if name == "iteration":
        return int(cell)
    return None if cell == "" and name in _MAY_LACK else float(cell)


def _cell(value: object) -> str:
    return "" if value is None else repr(value)
