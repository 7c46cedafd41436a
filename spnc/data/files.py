"""Reading a data file: decompress it, and pass it to the reader for its type."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

from spnc.common.observer import Progress
from spnc.data.array_files import parse_npy, parse_npz
from spnc.data.dataset import UNSPLIT
from spnc.data.file_report import FileReport
from spnc.data.options import MISSING, Header
from spnc.data.raw_table import RawTable
from spnc.data.text_tables import parse_text
from spnc.diagnostics import Sink, Span, nearest

# The delimiter of each text type; None: found from the first lines.
TEXT_TYPES: dict[str, str | None] = {".csv": None, ".tsv": "\t", ".data": None, ".txt": None}
ARRAY_TYPES = {".npy": parse_npy, ".npz": parse_npz}
SUPPORTED = (*TEXT_TYPES, *ARRAY_TYPES)
_CHUNK_BYTES = 1 << 20  # read between two reports of progress


def read_file(
    path: Path,
    sink: Sink,
    *,
    span: Span | None = None,
    header: Header = "auto",
    missing: Sequence[str] = MISSING,
    progress: Progress | None = None,
    help: str | None = None,
) -> dict[str, RawTable] | None:
    """Return the tables in a file by split, "all" if it has no splits; None if none could be read.

    All problems are reported; a table that could be read in spite of them is not `sound`. `span`
    is where a spec names the file; problems inside the file are reported with file and line.
    `help` replaces the advice about a file that cannot be opened.
    """
    file = path.as_posix()
    data = _bytes(path, sink, span, progress, help)
    if data is None:
        return None
    kind, compressed = file_type(path)
    if kind not in SUPPORTED:
        message = f"spnc cannot read files of this type: `{path.name}`"
        hint = f"supported: {', '.join(SUPPORTED)}, each also with .gz"
        sink.error("E312", message, span, help=hint, where=file)
        return None
    with FileReport(sink, file) as report:
        if compressed:
            data = _decompressed(data, report)
        if data is None:
            return None
        if kind in ARRAY_TYPES:
            return ARRAY_TYPES[kind](data, report)
        delimiter = TEXT_TYPES[kind]
        table = parse_text(data, report, delimiter=delimiter, header=header, missing=missing)
        return None if table is None else {UNSPLIT: table}


def file_type(path: Path) -> tuple[str, bool]:
    """Return the suffix that tells a file's type, such as ".csv", and whether it is compressed."""
    suffixes = [s.lower() for s in path.suffixes]
    compressed = suffixes[-1:] == [".gz"]
    kind = (suffixes[:-1] if compressed else suffixes)[-1:]
    return (kind[0] if kind else ""), compressed


def read_bytes(path: Path, progress: Progress | None = None) -> bytes:
    """Return the content of a file, reporting progress. Raises OSError."""
    total = path.stat().st_size
    parts: list[bytes] = []
    done = 0
    with path.open("rb") as stream:
        while part := stream.read(_CHUNK_BYTES):
            parts.append(part)
            done += len(part)
            if progress is not None:
                progress(path.name, done, max(total, done))
    return b"".join(parts)


def _bytes(
    path: Path, sink: Sink, span: Span | None, progress: Progress | None, help: str | None
) -> bytes | None:
    """Return the content of a file; None after reporting why it cannot be read."""
    file = path.as_posix()
    try:
        if path.is_dir():
            message = f"`{file}` is a folder, not a file"
            sink.error("E302", message, span, help=help or "name a file in it", where=file)
            return None
        return read_bytes(path, progress)
    except FileNotFoundError:
        hint = help or _nearby(path)
        sink.error("E302", f"there is no file `{file}`", span, help=hint, where=file)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        reason = getattr(error, "strerror", None) or str(error)
        message = f"`{file}` cannot be read: {reason}"
        sink.error("E302", message, span, help=help, where=file)
    return None


def _nearby(path: Path) -> str | None:
    """Return a hint: the most similar file name in the folder, or that there is no such folder."""
    folder = path.parent
    try:
        names = [p.name for p in folder.iterdir()]
    except OSError:
        return f"there is no folder `{folder.as_posix()}` either"
    close = nearest(path.name, names)
    return None if close is None else f"did you mean `{(folder / close).as_posix()}`?"


def _decompressed(data: bytes, report: FileReport) -> bytes | None:
    """Return the content of gzip data; None after reporting why it cannot be decompressed."""
    if not data:
        report.error_empty()
        return None
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        reason, hint = "the content is damaged", "copy or download the file again"
        if not data.startswith(b"\x1f\x8b"):
            reason = "it does not begin like one"
            hint = "if it is not compressed, remove `.gz` from its name"
        elif isinstance(error, EOFError):
            reason = "it ends too early"
        report.error("E315", f"this is not a readable gzip file: {reason}", help=hint)
        return None
