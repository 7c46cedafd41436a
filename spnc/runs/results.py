"""The results of a finished run belong together: `metrics.json` has checksums of all of them.

It also has a checksum of itself, and the run's id, a name of what the model was made from. So a
file that was damaged, edited or taken from another run is noticed by whoever reads the folder. The
digest of the request tells whether the same training is asked for again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spnc.common.sealed import read_sealed_json, sealed_json
from spnc.diagnostics import Sink
from spnc.runs.files import RunFiles
from spnc.runs.metrics import Metrics

_MADE_FROM = ("recipe", "data", "versions")  # what a run's id stands for, in a model's provenance


def metrics_content(
    metrics: Metrics, provenance: Mapping[str, Any], request: str, files: Mapping[str, bytes]
) -> bytes:
    """Return the content of `metrics.json`; `files` are the other files, by name.

    `request` is the `request_digest` of the training.
    """
    about = {
        **metrics.to_json(),
        "run": run_id(provenance),
        "request": request,
        "files": {name: _digest(files[name]) for name in sorted(files)},
    }
    return sealed_json(about, indent=2)


def run_id(provenance: Mapping[str, Any]) -> str:
    """Return the id of the runs that make a model: same recipe, data and versions, same id."""
    return _digest("\n".join(str(provenance.get(key)) for key in _MADE_FROM).encode())[:16]


def request_of(folder: RunFiles) -> str | None:
    """Return the `request_digest` of a finished run; None if its metrics do not tell."""
    try:
        about = json.loads(folder.metrics.read_bytes())
        return str(about["request"])
    except (OSError, LookupError, TypeError, ValueError, RecursionError):
        return None


def metrics_of(folder: RunFiles, sink: Sink) -> Metrics | None:
    """Return the metrics of a run, or None after reporting that they are damaged (E603)."""
    try:
        return Metrics.from_text(folder.metrics.read_text(encoding="utf-8"))
    except (OSError, LookupError, RecursionError, TypeError, ValueError, AttributeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        sink.error(
            "E603",
            "the metrics of the run cannot be read",
            where=str(folder.metrics),
            notes=[f"there is no {reason}" if isinstance(error, KeyError) else reason],
            help="the file was changed; train again",
        )
        return None


def report_changed_files(metrics: Path, files: Sequence[Path], sink: Sink) -> bool:
    """Report files that are not what the finished run wrote (E606). Return whether any was.

    Runs of older versions have no checksums, and are taken as they are; so are those whose metrics
    were lost.
    """
    if not metrics.is_file():
        return False
    try:
        content = metrics.read_bytes()
        about = json.loads(content)
        if not isinstance(about, dict) or not {"sha256", "files"} & about.keys():
            return False
        known = dict(read_sealed_json(content)["files"])
    except (OSError, LookupError, TypeError, ValueError, RecursionError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        _report(metrics, [reason], sink)
        return True
    changed = False
    for file in files:
        found = _digest(file.read_bytes()) if file.is_file() else None
        if found != known.get(file.name):
            changed = True
            _report(file, [] if file.is_file() else ["it is missing"], sink)
    return changed


def _report(file: Path, notes: list[str], sink: Sink) -> None:
    sink.error(
        "E606",
        f"`{file.name}` is not the file that the run wrote",
        where=str(file),
        notes=notes,
        help="restore the file, or train again",
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
