"""Reading a data file: decompress it, and pass it to the reader for its type."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from typing import Any, BinaryIO

from spnc.common import limits
from spnc.common.limits import LimitError
from spnc.common.observer import Progress
from spnc.data.array_files import parse_npy, parse_npz
from spnc.data.arrow_files import parse_arrow, parse_json, parse_parquet
from spnc.data.compression import (
    COMPRESSIONS,
    CompressionError,
    compression_of,
    decompressing,
    member_name,
    suffix_of,
)
from spnc.data.dataset import UNSPLIT
from spnc.data.file_report import FileReport
from spnc.data.raw_table import RawTable
from spnc.data.text_rules import UNKNOWN_TABLE, TextRules
from spnc.data.text_tables import Opener, read_text
from spnc.diagnostics import Sink, Span, nearest

STANDARD_INPUT = "-"
# The delimiter of each text type; None: found from the first lines.
TEXT_TYPES: dict[str, str | None] = {".csv": None, ".tsv": "\t", ".data": None, ".txt": None}
Reader = Callable[[bytes, FileReport], dict[str, RawTable] | None]
WHOLE_TYPES: dict[str, Reader] = {
    ".parquet": parse_parquet,
    ".arrow": parse_arrow,
    ".feather": parse_arrow,
    ".ipc": parse_arrow,
    ".jsonl": parse_json,
    ".ndjson": parse_json,
    ".json": parse_json,
    ".npy": parse_npy,
    ".npz": parse_npz,
}
SUPPORTED = (*TEXT_TYPES, *WHOLE_TYPES)
# The first bytes of data without a name, such as standard input, and the type that they tell.
_MAGIC = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x93NUMPY": ".npy", b"{": ".jsonl"}


def read_file(
    path: Path,
    sink: Sink,
    *,
    span: Span | None = None,
    rules: TextRules = UNKNOWN_TABLE,
    progress: Progress | None = None,
    help: str | None = None,
    delimiter: str | None = None,
) -> dict[str, RawTable] | None:
    """Return the tables in a file by split, "all" if it has no splits; None if none could be read.

    All problems are reported; a table that could be read in spite of them is not `sound`. `span`
    is where a spec names the file; problems inside the file are reported with file and line.
    `help` replaces the advice about a file that cannot be opened. `delimiter` is that of a text, if
    it is known.
    """
    file = path.as_posix()
    if not _is_readable(path, sink, span, help):
        return None
    kind, compressed = file_type(path)
    if kind not in SUPPORTED and compressed != ".zip":
        message = f"spnc cannot read files of this type: `{path.name}`"
        endings = ", ".join(COMPRESSIONS[:-1])
        hint = f"supported: {', '.join(SUPPORTED)}, each also with {endings} or {COMPRESSIONS[-1]}"
        sink.error("E312", message, span, help=hint, where=file)
        return None
    if not path.is_file():  # for example a pipe, which cannot be read twice
        with path.open("rb") as stream:
            data = _streamed(stream, file, sink)
        if data is None:
            return None
        return _read(lambda: _in_memory(data), file, kind, compressed, sink, rules, delimiter)

    def opened() -> Any:
        return open_counted(path, progress)

    size = path.stat().st_size if not compressed else None
    return _read(opened, file, kind, compressed, sink, rules, delimiter, size)


def read_standard_input(
    sink: Sink, *, rules: TextRules = UNKNOWN_TABLE
) -> dict[str, RawTable] | None:
    """Return the table on standard input; its first bytes tell its type and compression."""
    data = _streamed(sys.stdin.buffer, "standard input", sink) if sys.stdin is not None else b""
    if data is None:
        return None
    compressed = compression_of(data)
    start = data
    if compressed and compressed != ".zip":
        try:
            with decompressing(BytesIO(data), compressed) as stream:
                start = stream.read(16)
        except CompressionError:
            start = b""
    kind = next((k for magic, k in _MAGIC.items() if start.startswith(magic)), ".csv")
    opened = lambda: _in_memory(data)  # noqa: E731
    return _read(opened, "standard input", kind, compressed, sink, rules)


def _streamed(stream: BinaryIO, name: str, sink: Sink) -> bytes | None:
    """Return all that comes out of a pipe; None after reporting that it does not end (E322)."""
    pieces, size = [], 0
    try:
        while piece := stream.read(1 << 22):
            pieces.append(piece)
            size += len(piece)
            limits.check_streamed(size)
    except LimitError as error:
        sink.error(limits.CODE, str(error), where=name, help=error.help)
        return None
    return b"".join(pieces)


def _read(
    opened: Opener,
    file: str,
    kind: str,
    compressed: str,
    sink: Sink,
    rules: TextRules,
    delimiter: str | None = None,
    size: int | None = None,
) -> dict[str, RawTable] | None:
    """Read a file of a known type, which can be opened several times."""

    @contextmanager
    def content() -> Iterator[BinaryIO]:
        with opened() as stream, decompressing(stream, compressed) as inner:
            yield inner

    with FileReport(sink, file) as report:
        try:
            if compressed:
                with opened() as stream:
                    if not stream.read(1):
                        report.error_empty()
                        return None
            if compressed == ".zip":
                with opened() as stream:
                    kind = Path(member_name(stream)).suffix.lower()
            if kind in WHOLE_TYPES:
                with content() as stream:
                    return WHOLE_TYPES[kind](stream.read(), report)
            if kind not in TEXT_TYPES:
                message = f"spnc cannot read a file of the type `{kind}` in a zip archive"
                report.error("E312", message, help=f"supported: {', '.join(SUPPORTED)}")
                return None
            delimiter = delimiter or TEXT_TYPES[kind]
            table = read_text(content, report, delimiter=delimiter, rules=rules, size=size)
            return None if table is None else {UNSPLIT: table}
        except CompressionError as error:
            report.error("E315", str(error), help=error.help)
            return None
        except LimitError as error:
            report.error(limits.CODE, str(error), help=error.help)
            return None


def file_type(path: Path) -> tuple[str, str]:
    """Return the suffix that tells a file's type, such as ".csv", and that of its compression."""
    compressed = suffix_of(path.name)
    suffixes = [s.lower() for s in path.suffixes]
    kind = (suffixes[:-1] if compressed else suffixes)[-1:]
    return (kind[0] if kind else ""), compressed


class _Counted(FileIO):
    """A file that reports how much of it has been read."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        super().__init__(path, "rb")
        self._path, self._progress = path, progress
        self._total = path.stat().st_size

    def _report(self) -> None:
        if self._progress is not None:
            done = self.tell()
            self._progress(self._path.name, done, max(self._total, done))

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and report."""
        found = super().readinto(buffer)
        self._report()
        return found or 0

    def readall(self) -> bytes:
        """Read the rest, and report."""
        found = super().readall()
        self._report()
        return found or b""


def open_counted(path: Path, progress: Progress | None = None) -> BinaryIO:
    """Open a file whose reading reports progress. Raises OSError."""
    return BufferedReader(_Counted(path, progress), buffer_size=1 << 20)


def read_bytes(path: Path, progress: Progress | None = None) -> bytes:
    """Return the content of a file, reporting progress. Raises OSError."""
    with open_counted(path, progress) as stream:
        return stream.read()


@contextmanager
def _in_memory(data: bytes) -> Iterator[BinaryIO]:
    yield BytesIO(data)


def _is_readable(path: Path, sink: Sink, span: Span | None, help: str | None) -> bool:
    """Whether a file can be opened; report why it cannot (E302)."""
    file = path.as_posix()
    try:
        if limits.is_device(path):
            message = f"`{file}` is a device, not a file"
            advice = help or "name a file, or `-` for standard input"
            sink.error("E302", message, span, help=advice, where=file)
            return False
        if path.is_file() or not path.exists():
            with path.open("rb"):
                pass
        return True
    except FileNotFoundError:
        hint = help or nearby(path)
        sink.error("E302", f"there is no file `{file}`", span, help=hint, where=file)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        reason = getattr(error, "strerror", None) or str(error)
        message = f"`{file}` cannot be read: {reason}"
        sink.error("E302", message, span, help=help, where=file)
    return False


def nearby(path: Path) -> str | None:
    """Return a hint: the most similar file name in the folder, or that there is no such folder."""
    folder = path.parent
    try:
        names = [p.name for p in folder.iterdir()]
    except OSError:
        return f"there is no folder `{folder.as_posix()}` either"
    close = nearest(path.name, names)
    return None if close is None else f"did you mean `{(folder / close).as_posix()}`?"
