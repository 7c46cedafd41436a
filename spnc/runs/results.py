"""The results of a finished run belong together: `metrics.json` has checksums of all of them.

It also has a checksum of itself, and the run's id, a name of what the model was made from. So a
file that was damaged, edited or taken from another run is noticed by whoever reads the folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spnc.common.sealed import read_sealed_json, sealed_json
from spnc.diagnostics import Sink
from spnc.runs.metrics import Metrics

_MADE_FROM = ("recipe", "data", "versions")  # what a run's id stands for, in a model's provenance


def metrics_content(
    metrics: Metrics, provenance: Mapping[str, Any], files: Mapping[str, bytes]
) -> bytes:
    """Return the content of `metrics.json`; `files` are the other files, by name."""
    about = {
        **metrics.to_json(),
        "run": run_id(provenance),
        "files": {name: _digest(files[name]) for name in sorted(files)},
    }
    return sealed_json(about, indent=2)


def run_id(provenance: Mapping[str, Any]) -> str:
    """Return the id of the runs that make a model: same recipe, data and versions, same id."""
    return _digest("\n".join(str(provenance.get(key)) for key in _MADE_FROM).encode())[:16]


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
