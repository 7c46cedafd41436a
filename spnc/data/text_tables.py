"""Reading text tables: cells between commas, semicolons, tabs or whitespace; a header or none."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from spnc.data.file_report import FileReport
from spnc.data.options import MISSING, Header
from spnc.data.raw_table import RawTable
from spnc.data.text_cells import is_header, records, sniff_delimiter
from spnc.data.text_exact import check_names, parse_exact
from spnc.data.text_fast import parse_fast

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SNIFFED_BYTES = 1 << 16  # from which the delimiter is found


def parse_text(
    data: bytes,
    report: FileReport,
    *,
    delimiter: str | None = None,
    header: Header = "auto",
    missing: Sequence[str] = MISSING,
) -> RawTable | None:
    """Return the table in the bytes of a text file; None if there is none.

    `parse_fast` reads regular files of numbers; `parse_exact`, which knows the line of every cell,
    reads all others. Both return the same values. If a problem was reported, the table is not
    `sound`. A `delimiter` of None is found from the first lines.
    """
    data = with_plain_line_ends(data.removeprefix(BYTE_ORDER_MARK))
    # Where the delimiter is known to be a tab, a line of tabs is a row of missing cells.
    if not data.strip(b" \n" if delimiter == "\t" else None):
        report.error_empty()
        return None
    return parse_rows(data, report, delimiter or found_delimiter(data), header, missing)


def with_plain_line_ends(data: bytes) -> bytes:
    """Return the same lines, all ended by `\\n`."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def found_delimiter(data: bytes) -> str:
    """Return the delimiter, found from the first lines."""
    start = data[:SNIFFED_BYTES]
    return sniff_delimiter(start[: start.rfind(b"\n") + 1 or None].decode(errors="replace"))


def parse_rows(
    data: bytes, report: FileReport, delimiter: str, header: Header, missing: Sequence[str]
) -> RawTable | None:
    """Return the table in a text whose line ends are `\\n`, by the fast reader if possible."""
    table = _fast(data, report, delimiter, header, missing)
    if table is not None:
        return table
    text = _decoded(data, report)
    if text is None:
        return None
    return parse_exact(text, report, delimiter=delimiter, header=header, missing=missing)


def _fast(
    data: bytes, report: FileReport, delimiter: str, header: Header, missing: Sequence[str]
) -> RawTable | None:
    """Return the table if it is regular, apart from at most one header line; otherwise None."""
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
    """Return the bytes as text; None after reporting that they are not UTF-8, or hold a NUL."""
    try:
        text = data.decode("utf-8")
        line = data[: data.index(b"\0")].count(b"\n") + 1 if b"\0" in data else None
        reason = "it contains a NUL byte"
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
