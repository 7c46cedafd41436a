"""Findings as files: the input, ready to be read again, and beside it a report."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.fuzz.harness import Finding

REPORT = ".report.txt"


def write_finding(folder: Path, reader: str, found: Finding) -> Path:
    """Write the input and the report of a finding. Return the path of the input."""
    name = hashlib.sha256(found.input.content).hexdigest()[:12]
    path = folder / f"{reader}-{name}{found.input.ending}"
    path.write_bytes(found.input.content)
    text = f"{found.place}\n\n{found.report}\n"
    path.with_name(path.name + REPORT).write_text(text, encoding="utf-8", errors="replace")
    return path
