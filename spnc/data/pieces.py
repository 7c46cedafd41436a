"""Reading a file piece by piece, so that memory does not grow with the number of rows.

These readers handle files without problems. Messages about a problem need the whole file (how
wide most rows are, how many more cells of a column are wrong), so at the first sign of a problem
they raise `PiecewiseError`, and `stream` falls back on the readers of whole files.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from spnc.common.limits import LimitError
from spnc.common.observer import Progress
from spnc.data.arrow_files import ArrowError, arrow_pieces, parquet_pieces, parse_arrow
from spnc.data.assembly import fitted
from spnc.data.columns import Column
from spnc.data.compression import CompressionError, decompressing
from spnc.data.dataset import UNSPLIT
from spnc.data.file_report import FileReport
from spnc.data.files import TEXT_TYPES, WHOLE_TYPES, file_type
from spnc.data.odd_cells import OddCells
from spnc.data.raw_table import RawTable, number_columns
from spnc.data.table import PIECE_CELLS, Table
from spnc.data.table_rules import TableRules
from spnc.data.text_cells import records
from spnc.data.text_exact import check_names, parse_exact
from spnc.data.text_fast import FastReader, IrregularTextError
from spnc.data.text_forms import TextForm, text_form
from spnc.data.text_layout import FirstLine, Layout, found_layout
from spnc.data.text_rules import TextRules
from spnc.data.text_tables import cut_header, fast_reader, table_rows, text_start
from spnc.diagnostics import Sink

PIECE_BYTES = 1 << 22  # of text; a cell takes at least two bytes, so this is about PIECE_CELLS


class PiecewiseError(Exception):
    """The file has to be read as a whole."""


def read_pieces(
    files: Sequence[Path],
    columns: Sequence[Column],
    rules: TableRules,
    odd: OddCells,
    *,
    progress: Progress | None,
) -> Iterator[Table]:
    """Yield the rows of files without splits, in order. May raise `PiecewiseError` at any piece.

    `columns` are those of the model that the rows are for. `odd` collects the
    texts that count as missing. Progress counts bytes of the file; a
    piece is counted when the next one is requested.
    """
    widths = frozenset({len(columns), len(rules.names)})
    for raw in raw_pieces(files, rules.text_rules(columns), widths=widths, progress=progress):
        found = fitted({UNSPLIT: raw}, columns, rules, Sink(), odd)
        if found is None:
            raise PiecewiseError
        yield found[UNSPLIT]


def raw_pieces(
    files: Sequence[Path],
    rules: TextRules,
    *,
    widths: Set[int] | None = None,
    progress: Progress | None = None,
) -> Iterator[RawTable]:
    """Yield the rows of a table as they are read, in pieces. May raise `PiecewiseError` at any.

    The columns of several files are in the order of the first one. `widths` are how many columns an
    array without names may have; None: any number.
    """
    form = form_of(files, rules)
    first: RawTable | None = None
    for file in files:
        for raw in file_pieces(file, form, rules, widths=widths, progress=progress):
            first = first or raw
            yield ordered(raw, first.names, first.width)


def ordered(table: RawTable, names: tuple[str, ...] | None, width: int) -> RawTable:
    """Return a table with these columns. Raises `PiecewiseError` if it has others."""
    if table.names is None or names is None:
        if table.width != width or (table.names is None) != (names is None):
            raise PiecewiseError
        return table
    if table.names == names:
        return table
    if set(table.names) != set(names):
        raise PiecewiseError
    return table.in_order(names)


def form_of(files: Sequence[Path], rules: TextRules) -> TextForm | None:
    """Return how several texts are laid out; None for one file. May raise `PiecewiseError`."""
    if len(files) == 1:
        return None
    with _piecewise():
        return text_form(files, rules)


@contextmanager
def _piecewise() -> Iterator[None]:
    """Turn what readers raise into `PiecewiseError`."""
    try:
        yield
    except (
        EOFError,
        zlib.error,
        CompressionError,
        LimitError,
        IrregularTextError,
        *ArrowError,
    ) as error:
        raise PiecewiseError from error


def file_pieces(
    path: Path,
    form: TextForm | None,
    rules: TextRules,
    *,
    groups: Sequence[int] | None = None,
    widths: Set[int] | None = None,
    progress: Progress | None = None,
) -> Iterator[RawTable]:
    """Yield the rows of a file in pieces. May raise `PiecewiseError` at any.

    `form` is that of the texts of a table in several files. `groups` are the row groups of a
    Parquet file that are read; None: all.
    """
    kind, compressed = file_type(path)
    if not path.is_file():  # for example a pipe, which cannot be read twice
        raise PiecewiseError
    done = place = 0
    with _piecewise():
        layout = None
        if kind in TEXT_TYPES:
            delimiter = TEXT_TYPES[kind]
            if form is not None:
                if form.problem(path, rules) is not None:
                    raise PiecewiseError
                rules, delimiter = form.rules(rules), form.delimiter
            with path.open("rb") as file, decompressing(file, compressed) as stream:
                layout = _layout_of(text_start(stream), delimiter, rules)
        with path.open("rb") as file, decompressing(file, compressed) as stream:
            total = path.stat().st_size
            if layout is not None:
                tables = _text(stream, layout, rules)
            elif kind == ".npy":
                tables = _array(stream, widths)
            elif kind == ".parquet" and not compressed:  # its end has to be read first
                tables = parquet_pieces(stream, PIECE_CELLS, groups)
            elif WHOLE_TYPES.get(kind) is parse_arrow and not compressed:
                tables = arrow_pieces(stream, PIECE_CELLS)
            else:
                raise PiecewiseError
            for raw in tables:
                rows = raw.rows
                if raw.names is not None and len(set(raw.names)) < len(raw.names):
                    raise PiecewiseError
                yield raw
                done += rows
                place = max(place, min(file.tell(), total))
                if progress is not None:
                    progress(f"{done:,} rows, {path.name}", place, total)


def _layout_of(start: bytes, delimiter: str | None, rules: TextRules) -> Layout:
    """Return the layout of a text from its beginning."""
    if not start.strip(b" \n" if delimiter == "\t" else None):
        raise PiecewiseError
    return found_layout(start, delimiter, rules)


def _text(stream: BinaryIO, layout: Layout, rules: TextRules) -> Iterator[RawTable]:
    """Yield the table in each piece of a text; only the first one may have column names."""
    names: tuple[str, ...] | None = None
    reader: FastReader | None = None
    for block in table_rows(stream, layout, PIECE_BYTES):
        if reader is None:
            block = block.lstrip(b"\n")  # blank lines are no rows
            if not block:
                continue
            first, block = cut_header(block, layout)
            report = FileReport(Sink(), "")
            names = check_names(first, 1, report) if layout.first_line.is_header else None
            reader = fast_reader(first, layout, rules)
            if report.failed:
                raise PiecewiseError
        # A piece of blank lines, for example at the end of the file, is no problem.
        if not block.strip() and not any(records(block.decode(), layout.delimiter)):
            continue
        try:
            yield RawTable("", reader.parse(block), names, delimiter=layout.delimiter)
        except IrregularTextError:
            report = FileReport(Sink(), "")
            table = parse_exact(block.decode(), report, Layout(layout.delimiter, FirstLine(False)))
            if table is None or not table.sound or table.width != reader.width:
                raise PiecewiseError from None
            yield replace(table, names=names, lines=None)


def _array(stream: BinaryIO, widths: Set[int] | None) -> Iterator[RawTable]:
    """Yield the rows of an NPY file that is stored row by row."""
    rows, width, dtype = array_layout(stream, widths)
    step = max(1, PIECE_CELLS // width)
    for begin in range(0, rows, step):
        count = min(step, rows - begin)
        data = stream.read(count * width * dtype.itemsize)
        if len(data) < count * width * dtype.itemsize:
            raise PiecewiseError
        array = np.frombuffer(data, dtype).reshape(count, width)
        yield RawTable("", number_columns(array), coded=True)


def array_layout(stream: BinaryIO, widths: Set[int] | None) -> tuple[int, int, np.dtype[Any]]:
    """Return the numbers of rows and columns and the type of the cells of an NPY file.

    Raises `PiecewiseError` if it is not a matrix of numbers that is stored row by row, or if it has
    another number of columns than one of `widths`.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of headers written by Python 2
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, by_column, dtype = read(stream)
    except Exception as error:  # corrupt headers raise from ast, tokenize, struct and numpy
        raise PiecewiseError from error
    if by_column or len(shape) != 2 or shape[1] == 0 or dtype.kind not in "buif":
        raise PiecewiseError
    if widths is not None and shape[1] not in widths:
        raise PiecewiseError
    return shape[0], shape[1], dtype
