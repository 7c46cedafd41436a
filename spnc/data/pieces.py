"""Reading a file piece by piece, so that memory does not grow with the number of rows.

These readers handle files without problems. Messages about a problem need the whole file (how
wide most rows are, how many more cells of a column are wrong), so at the first sign of a problem
they raise `PiecewiseError`, and `stream` falls back on the readers of whole files.
"""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from spnc.common.observer import Progress
from spnc.data.column_kinds import typed_columns
from spnc.data.columns import Column
from spnc.data.dataset import PIECE_CELLS, UNSPLIT, Table
from spnc.data.file_report import FileReport
from spnc.data.files import TEXT_TYPES, file_type
from spnc.data.options import Header
from spnc.data.raw_table import RawTable, as_table
from spnc.data.text_cells import ends_inside_a_cell, records
from spnc.data.text_tables import (
    BYTE_ORDER_MARK,
    SNIFFED_BYTES,
    found_delimiter,
    parse_rows,
    with_plain_line_ends,
)
from spnc.diagnostics import Sink

PIECE_BYTES = 1 << 22  # of text; a cell takes at least two bytes, so this is about PIECE_CELLS


class PiecewiseError(Exception):
    """The file has to be read as a whole."""


def read_pieces(
    path: Path,
    columns: Sequence[Column],
    *,
    header: Header,
    missing: Sequence[str],
    progress: Progress | None,
) -> Iterator[Table]:
    """Yield the rows of a file without splits, in order. May raise `PiecewiseError` at any piece.

    `columns` are those that the rows must have. Progress counts bytes of the file; a piece is
    counted when the next one is requested.
    """
    kind, compressed = file_type(path)
    if not path.is_file():  # for example a pipe, which cannot be read twice
        raise PiecewiseError
    done = 0
    try:
        with (
            path.open("rb") as file,
            gzip.GzipFile(fileobj=file) if compressed else nullcontext(file) as stream,
        ):
            total = path.stat().st_size
            if kind in TEXT_TYPES:
                tables = _text(stream, TEXT_TYPES[kind], header, missing)
            elif kind == ".npy":
                tables = _array(stream, len(columns))
            else:
                raise PiecewiseError
            for raw in tables:
                if typed_columns({UNSPLIT: raw}, Sink(), columns) is None:
                    raise PiecewiseError
                yield as_table(raw, columns)
                done += raw.rows
                if progress is not None:
                    progress(f"{done:,} rows, {path.name}", min(file.tell(), total), total)
    except (OSError, EOFError, zlib.error) as error:
        raise PiecewiseError from error


def _text(
    stream: BufferedIOBase, delimiter: str | None, header: Header, missing: Sequence[str]
) -> Iterator[RawTable]:
    """Yield the table in each piece of a text; only the first one may have column names."""
    blank = b" \n" if delimiter == "\t" else None  # as in parse_text
    if delimiter is None:
        # Line ends of two bytes shrink to one; as much text as for a whole file must remain.
        start = stream.read(2 * SNIFFED_BYTES + len(BYTE_ORDER_MARK))
        delimiter = found_delimiter(with_plain_line_ends(start.removeprefix(BYTE_ORDER_MARK)))
        stream.seek(0)
    for position, data in enumerate(_whole_rows(stream, delimiter)):
        if position == 0 and not data.strip(blank):
            raise PiecewiseError
        # A piece of blank lines, for example at the end of the file, is no problem.
        if not data.strip() and not any(records(data.decode(), delimiter)):
            continue
        report = FileReport(Sink(), "")
        table = parse_rows(data, report, delimiter, header if position == 0 else "no", missing)
        if table is None or not table.sound:
            raise PiecewiseError
        yield table


def _whole_rows(stream: BufferedIOBase, delimiter: str) -> Iterator[bytes]:
    """Yield a text in pieces that end at the end of a row, with `\\n` as the only line end."""
    data = stream.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
    size = PIECE_BYTES
    while True:
        more = stream.read(size)
        data += more
        # A `\r` at the end may be the first byte of a `\r\n`.
        open_end = b"\r" if more and data.endswith(b"\r") else b""
        data = with_plain_line_ends(data[: len(data) - len(open_end)])
        end = data.rfind(b"\n") + 1 if more else len(data)
        if more and (end == 0 or _is_cut(data[:end], delimiter)):
            data += open_end
            size = max(size, len(data))  # doubling keeps the total cost linear
            continue
        if end:
            yield data[:end]
        if not more:
            return
        data = data[end:] + open_end
        size = PIECE_BYTES


def _is_cut(data: bytes, delimiter: str) -> bool:
    """Whether a piece ends inside a quoted cell."""
    return b'"' in data and ends_inside_a_cell(data.decode(errors="replace"), delimiter)


def _array(stream: BufferedIOBase, width: int) -> Iterator[RawTable]:
    """Yield the rows of an NPY file that is stored row by row."""
    rows, dtype = _layout(stream, width)
    step = max(1, PIECE_CELLS // width)
    for begin in range(0, rows, step):
        count = min(step, rows - begin)
        data = stream.read(count * width * dtype.itemsize)
        if len(data) < count * width * dtype.itemsize:
            raise PiecewiseError
        with np.errstate(over="ignore"):  # an infinity is reported later
            values = np.frombuffer(data, dtype).reshape(count, width).astype(np.float64)
        yield RawTable("", values)


def _layout(stream: BufferedIOBase, width: int) -> tuple[int, np.dtype[Any]]:
    """Return the number of rows and the type of the cells, from the header of an NPY file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of headers written by Python 2
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, by_column, dtype = read(stream)
    except Exception as error:  # corrupt headers raise from ast, tokenize, struct and numpy
        raise PiecewiseError from error
    if by_column or len(shape) != 2 or shape[1] != width or dtype.kind not in "buif":
        raise PiecewiseError
    return shape[0], dtype
