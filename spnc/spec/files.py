"""Kinds of files, by suffix and content."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from spnc.diagnostics import Sink, Source
from spnc.language.parser import opens_circuit

FileKind = Literal["yaml", "dsl", "circuit", "node-link", "graphml", "model"]


def kind_of(path: Path, text: str | None, sink: Sink) -> FileKind | None:
    """What a file holds, by its suffix and, for `.spn`, its first word; None after reporting."""
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        return "yaml"
    if suffix == ".json":
        return "node-link"
    if suffix == ".graphml":
        return "graphml"
    if suffix == ".spnc":
        return "model"
    if suffix == ".spn":
        return "circuit" if text is not None and opens_circuit(text) else "dsl"
    sink.error(
        "E116",
        f"`{path}` has a suffix that spnc does not know",
        where=str(path),
        help="specs end in .yaml, .yml or .spn, circuits in .spn, .json or .graphml, models in "
        ".spnc",
    )
    return None


def report_empty(source: Source, sink: Sink) -> None:
    """Report a spec in which nothing is written."""
    sink.error(
        "E112",
        "the file is empty",
        source.span(1, 1, 1, 2),
        help="a spec needs at least `model`, `data` and `forest`",
    )
