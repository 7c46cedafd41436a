"""Reading text tables: cells between commas, semicolons, tabs or whitespace; a header or none."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import BytesIO
from typing import BinaryIO

from spnc.common.limits import check_columns
from spnc.data.file_report import FileReport
from spnc.data.raw_table import RawTable
from spnc.data.text_bytes import QUOTE, count_byte
from spnc.data.text_cells import ends_inside_a_cell, records
from spnc.data.text_exact import check_names, parse_exact
from spnc.data.text_fast import FastReader, IrregularTextError, read_blocks
from spnc.data.text_layout import (
    BYTE_ORDER_MARK,
    SNIFFED_BYTES,
    Layout,
    found_layout,
    with_plain_line_ends,
)
from spnc.data.text_rules import UNKNOWN_TABLE, TextRules
from spnc.diagnostics import counted

BLOCK_BYTES = 1 << 22  # of text that is parsed at a time
Opener = Callable[[], AbstractContextManager[BinaryIO]]


def parse_text(
    data: bytes,
    report: FileReport,
    *,
    delimiter: str | None = None,
    rules: TextRules = UNKNOWN_TABLE,
) -> RawTable | None:
    """Return the table in the bytes of a text file; None if there is none. See `read_text`."""
    return read_text(lambda: BytesIO(data), report, delimiter=delimiter, rules=rules)


def read_text(
    opened: Opener,
    report: FileReport,
    *,
    delimiter: str | None = None,
    rules: TextRules = UNKNOWN_TABLE,
    size: int | None = None,
) -> RawTable | None:
    """Return the table in a text, which may be opened several times; None if there is none.

    `text_fast` reads regular text; `text_exact`, which knows the line of every cell, reads all
    other. Both return the same cells. If a problem was reported, the table is not `sound`. A
    `delimiter` of None is found from the first lines. `size` is that of the text, if it is known.
    """
    with opened() as stream:
        start = text_start(stream)
    # Where the delimiter is known to be a tab, a line of tabs is a row of missing cells.
    if not start.strip(b" \n" if delimiter == "\t" else None):
        with opened() as stream:
            if not stream.read().strip():
                report.error_empty()
                return None
    layout = found_layout(start, delimiter, rules)
    if layout.comments:
        lines = counted(layout.comments, "line")
        message = f"{lines} before the table skipped for starting with `#`"
        help = "if one of them holds the names of the columns, remove its `#`"
        report.sink.warning("W317", message, where=report.file, help=help)
    table = _fast(opened, report, layout, rules, size)
    if table is not None:
        return table
    with opened() as stream:
        data = with_plain_line_ends(stream.read().removeprefix(BYTE_ORDER_MARK))
    text = _decoded(data, report)
    if text is None:
        return None
    rest = text.split("\n", layout.comments)[-1]
    return parse_exact("\n" * layout.comments + rest, report, layout)  # lines keep their numbers


def text_start(stream: BinaryIO) -> bytes:
    """Return the beginning of a text, from which its layout is found, with plain line ends."""
    # Line ends of two bytes shrink to one; as much text as for a whole file must remain.
    start = stream.read(2 * SNIFFED_BYTES + len(BYTE_ORDER_MARK))
    return with_plain_line_ends(start.removeprefix(BYTE_ORDER_MARK))


def _fast(
    opened: Opener, report: FileReport, layout: Layout, rules: TextRules, size: int | None
) -> RawTable | None:
    """Return the table if it is regular, apart from at most one header line; otherwise None."""
    reader: FastReader | None = None
    try:
        while True:
            with opened() as stream:
                blocks = table_rows(stream, layout, BLOCK_BYTES)
                first, body = cut_header(next(blocks, b""), layout)
                check_columns(len(first), "table")
                reader = reader or fast_reader(first, layout, rules, parallel=False)
                columns = read_blocks(_after(body, blocks), reader, size)
            if columns is not None:
                break
    except IrregularTextError:
        return None
    named = layout.first_line.is_header
    names = check_names(first, layout.comments + 1, report) if named else None
    begin = layout.comments + (2 if named else 1)
    lines = range(begin, begin + columns[0].rows)
    doubt = layout.first_line.doubt
    sound, delimiter = not report.failed, layout.delimiter
    return RawTable(report.file, columns, names, lines, None, sound, doubt, delimiter=delimiter)


def fast_reader(
    first: list[str], layout: Layout, rules: TextRules, *, parallel: bool = True
) -> FastReader:
    """Return the reader for a text, given the cells of its first line."""
    names = [cell.strip() for cell in first] if layout.first_line.is_header else None
    as_texts = rules.text_places(names, len(first))
    return FastReader(len(first), layout.delimiter, rules.missing, as_texts, parallel=parallel)


def _after(first: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the first block and the others, without blank lines at the end of the text."""
    held, any_rows = first, False
    for block in blocks:
        if block[:1024].strip(b"\n") or block.strip(b"\n"):
            yield held
            held, any_rows = block, True
        else:
            held += block
    if held.strip(b"\n"):
        yield held
    elif not any_rows:
        raise IrregularTextError


def cut_header(block: bytes, layout: Layout) -> tuple[list[str], bytes]:
    """Return the cells of the first line of a text, and the block without the header, if any.

    Raises `IrregularTextError` if the first line is not a row.
    """
    line, _, rest = block.partition(b"\n")
    try:
        rows = [cells for _, cells in records(line.decode("utf-8"), layout.delimiter)]
    except UnicodeDecodeError:
        raise IrregularTextError from None
    if len(rows) != 1 or isinstance(rows[0], csv.Error) or b"\0" in line:
        raise IrregularTextError
    return rows[0], rest if layout.first_line.is_header else block


def table_rows(stream: BinaryIO, layout: Layout, size: int) -> Iterator[bytes]:
    """Yield what `whole_rows` does, without the lines before the table."""
    left = layout.comments
    for block in whole_rows(stream, layout.delimiter, size):
        while left and block:
            block = block.partition(b"\n")[2]
            left -= 1
        if block:
            yield block


def whole_rows(stream: BinaryIO, delimiter: str, size: int) -> Iterator[bytes]:
    """Yield a text in pieces that end at the end of a row, with `\\n` as the only line end."""
    rest = stream.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
    wanted = size
    while True:
        more, open_end = stream.read(wanted), b""
        last = not more
        if b"\r" in more or b"\r" in rest:
            rest, more = b"", rest + more
            # A `\r` at the end may be the first byte of a `\r\n`.
            open_end = b"\r" if not last and more.endswith(b"\r") else b""
            more = with_plain_line_ends(more[: len(more) - len(open_end)])
        end = len(more) if last else more.rfind(b"\n") + 1
        rows = b"".join((rest, memoryview(more)[:end]))  # without a copy of a slice
        rest = more[end:] + open_end
        del more
        if not last and (end == 0 or _is_cut(rows, delimiter)):
            rest = rows + rest
            wanted = max(wanted, len(rest))  # doubling keeps the total cost linear
            continue
        if rows:
            yield rows
        if last:
            return
        wanted = size


def _is_cut(data: bytes, delimiter: str) -> bool:
    """Whether a piece ends inside a quoted cell."""
    if b'"' not in data or count_byte(data, QUOTE) % 2 == 0:
        return False  # or quotes are not in order, which is found out later
    return ends_inside_a_cell(data.decode(errors="replace"), delimiter)


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
