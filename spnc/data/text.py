"""Text tables: comma, semicolon, tab or whitespace between cells, with or without a header."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from spnc.data.careful import check_names, parse_careful
from spnc.data.cells import is_header, records, sniff_delimiter
from spnc.data.fast import parse_fast
from spnc.data.options import MISSING
from spnc.data.raw import FileReport, Header, RawTable

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SNIFFED_BYTES = 1 << 16


def parse_text(
    data: bytes,
    report: FileReport,
    *,
    delimiter: str | None = None,
    header: Header = "auto",
    missing: Sequence[str] = MISSING,
) -> RawTable | None:
    """The table in the bytes of a text file, not sound if something was reported; None if none.

    A regular file of numbers takes a fast route; anything else goes through `parse_careful`,
    which knows every cell's line. Both give the same values. `delimiter` None means: find out.
    """
    data = with_plain_line_ends(data.removeprefix(BYTE_ORDER_MARK))
    # Tabs alone are a row of missing cells where the tab is known to be the delimiter.
    if not data.strip(b" \n" if delimiter == "\t" else None):
        report.error_empty()
        return None
    return parse_rows(data, report, delimiter or found_delimiter(data), header, missing)


def with_plain_line_ends(data: bytes) -> bytes:
    """The same lines, each ended by `\\n` whatever ended it before."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def found_delimiter(data: bytes) -> str:
    """The delimiter, from the first lines."""
    start = data[:SNIFFED_BYTES]
    return sniff_delimiter(start[: start.rfind(b"\n") + 1 or None].decode(errors="replace"))


def parse_rows(
    data: bytes, report: FileReport, delimiter: str, header: Header, missing: Sequence[str]
) -> RawTable | None:
    """The table in a text with plain line ends, by the fast route if that is possible."""
    table = _fast(data, report, delimiter, header, missing)
    if table is not None:
        return table
    text = _decoded(data, report)
    if text is None:
        return None
    return parse_careful(text, report, delimiter=delimiter, header=header, missing=missing)


def _fast(
    data: bytes, report: FileReport, delimiter: str, header: Header, missing: Sequence[str]
) -> RawTable | None:
    """The table if it is regular, after at most one header line."""
    first, newline, rest = data.partition(b"\n")
    try:
        rows = [cells for _, cells in records(first.decode("utf-8"), delimiter)]
    except UnicodeDecodeError:
        return None
    if len(rows) != 1 or isinstance(rows[0], csv.Error) or b"\0" in first:
        return None
    cells = rows[0]
    named = header == "yes" or (header == "auto" and is_header(cells, missing))
    values = parse_fast(rest if named else first + newline + rest, delimiter, missing)
    if values is None or values.shape[1] != len(cells):
        return None
    begin = 2 if named else 1
    names = check_names(cells, 1, report) if named else None
    lines = range(begin, begin + len(values))
    return RawTable(report.file, values, names, lines, sound=not report.failed)


def _decoded(data: bytes, report: FileReport) -> str | None:
    """The bytes as UTF-8 text without NUL characters, or a report."""
    try:
        text = data.decode("utf-8")
        line = data[: data.index(b"\0")].count(b"\n") + 1 if b"\0" in data else None
        reason = "it holds a NUL byte"
    except UnicodeDecodeError as error:
        text = ""
        line = data[: error.start].count(b"\n") + 1
        reason = f"byte 0x{data[error.start]:02x} does not decode"
    if line is None:
        return text
    hint = "save the file as UTF-8"
    if data.startswith(b"\x1f\x8b"):
        hint = "this looks like gzip: add `.gz` to the file's name"
    elif data.startswith(b"PK\x03\x04"):
        hint = "this looks like a zip archive or a spreadsheet: export the table as CSV"
    report.error("E315", f"this is not UTF-8 text: {reason}", line=line, help=hint)
    return None
