"""Reading Parquet, Arrow and JSON files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet

from spnc.common.limits import check_columns, check_unpacked
from spnc.common.wording import half_character
from spnc.data.arrow_columns import object_column, raw_columns
from spnc.data.dataset import UNSPLIT
from spnc.data.file_report import FileReport
from spnc.data.pandas_names import Header, header_of, repeated
from spnc.data.raw_table import RawTable
from spnc.data.text_fast import rounded

Tables = dict[str, RawTable]
ArrowError = (pa.ArrowException, OSError, ValueError)  # what Arrow raises for damaged files
_NULL_LINE = re.compile(rb"(?:\A|\n)[ \t\r]*null")  # a part of a file crashes Arrow if it begins so
_IPC_FILE, _FEATHER_1 = b"ARROW1", b"FEA1"  # the first bytes of files; streams have none


def parse_parquet(data: bytes, report: FileReport) -> Tables | None:
    """Return the table of a Parquet file; None after reporting a problem."""

    def read(file: BytesIO) -> Any:
        found = pa.parquet.ParquetFile(file)
        check_columns(found.metadata.num_columns, "table")
        groups = range(found.metadata.num_row_groups)
        size = sum(found.metadata.row_group(i).total_byte_size for i in groups)
        # Repeated values take no space in the file, but at least a byte each in memory.
        size = max(size, found.metadata.num_rows * found.metadata.num_columns)
        check_unpacked(size, len(data), size)
        return found.read()

    return _arrow(data, report, "Parquet", read)


def parse_arrow(data: bytes, report: FileReport) -> Tables | None:
    """Return the table of an Arrow IPC or Feather file; None after reporting a problem."""

    def read(file: BytesIO) -> Any:
        if data.startswith((_IPC_FILE, _FEATHER_1)):
            return pa.feather.read_table(file)
        with pa.ipc.open_stream(file) as stream:
            return stream.read_all()

    return _arrow(data, report, "Arrow", read)


def parse_json(data: bytes, report: FileReport) -> Tables | None:
    """Return the table of JSON lines, one object per row, or of one list of objects."""
    if not data.strip():
        report.error_empty()
        return None
    if data.lstrip().startswith(b"["):
        return _json_list(data, report)
    if _NULL_LINE.search(data):
        return _json_lines(data, report)
    try:
        table = pa.json.read_json(pa.BufferReader(data))
        times = [field for field in table.schema if pa.types.is_timestamp(field.type)]
        if times:  # Arrow would drop zones; spnc reads dates in texts itself
            texts = pa.schema([(field.name, pa.string()) for field in times])
            options = pa.json.ParseOptions(explicit_schema=texts)
            table = pa.json.read_json(pa.BufferReader(data), parse_options=options)
        table.validate(full=True)  # Arrow takes any bytes for texts and names
        doubles = (c for c in table.columns if pa.types.is_floating(c.type))
        return _json_lines(data, report) if any(map(rounded, doubles)) else _tables(table, report)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError):
        return _json_lines(data, report)  # slow, but it knows the lines


def parquet_pieces(
    file: BinaryIO, cells: int, groups: Sequence[int] | None = None
) -> Iterator[RawTable]:
    """Yield the rows of a Parquet file in pieces of at most `cells` cells. May raise `ArrowError`.

    `groups` are the row groups that are read; None: all. What the file lacks or has twice is not
    reported.
    """
    with pa.parquet.ParquetFile(file) as found:
        rows = max(1, cells // max(1, found.metadata.num_columns))
        for batch in found.iter_batches(batch_size=rows, row_groups=groups):
            yield _piece(batch, header_of(batch.schema))  # that of `found` may say something else


def arrow_pieces(file: BinaryIO, cells: int) -> Iterator[RawTable]:
    """Yield the rows of an Arrow IPC or Feather file in pieces, as `parquet_pieces` does."""
    start = file.read(len(_IPC_FILE))
    file.seek(0)
    if start == _IPC_FILE:
        found = pa.ipc.open_file(file)
        batches = (found.get_batch(i) for i in range(found.num_record_batches))
    else:
        found = pa.ipc.open_stream(file)
        batches = iter(found)
    header = header_of(found.schema)
    step = max(1, cells // max(1, len(header.names)))
    for batch in batches:
        for begin in range(0, batch.num_rows, step):
            yield _piece(batch.slice(begin, step), header)


def arrow_rows(path: Path) -> int:
    """Return the number of rows of an Arrow IPC or Feather file. May raise `ArrowError`."""
    with pa.memory_map(str(path)) as file:
        start = file.read(len(_IPC_FILE))
        file.seek(0)
        if start == _IPC_FILE:
            found = pa.ipc.open_file(file)
            return sum(found.get_batch(i).num_rows for i in range(found.num_record_batches))
        return sum(batch.num_rows for batch in pa.ipc.open_stream(file))


def _piece(batch: Any, header: Header) -> RawTable:
    batch.validate(full=True)  # as for whole files
    return RawTable("", raw_columns(batch, header), header.names, index=header.row_names)


def _arrow(data: bytes, report: FileReport, what: str, read: Any) -> Tables | None:
    if not data:
        report.error_empty()
        return None
    try:
        table = read(BytesIO(data))
        table.validate(full=True)  # Arrow follows wrong offsets to memory that is not its own
        return _tables(table, report)
    except ArrowError as error:
        reason = str(error).splitlines()[0] if str(error) else "it is damaged"
        hint = "write the file again, or check its name"
        report.error("E315", f"this is not a readable {what} file", notes=[reason], help=hint)
        return None


def _tables(table: Any, report: FileReport) -> Tables | None:
    header = header_of(table.schema)
    check_columns(len(header.names), "table")
    names, twice = header.names, repeated(header.names)
    for name in twice:
        hint = "give each column its own name"
        report.error("E313", f"several columns are named `{name}`", help=hint)
    if table.num_rows == 0 or not names:
        report.error("E306", "the file has no rows")
        return None
    columns, index = raw_columns(table, header), header.row_names
    return {UNSPLIT: RawTable(report.file, columns, names, sound=not twice, index=index)}


def _json_list(data: bytes, report: FileReport) -> Tables | None:
    try:
        rows = _loaded(data)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        message = f"this is not JSON: {getattr(error, 'msg', 'it is nested too deeply')}"
        report.error("E315", message, line=line)
        return None
    return _objects(rows, None, report)


def _json_lines(data: bytes, report: FileReport) -> Tables | None:
    rows, lines = [], []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(_loaded(line))
            lines.append(number)
        except (ValueError, RecursionError) as error:
            message = f"this line is not JSON: {getattr(error, 'msg', str(error))}"
            report.error("E315", message, line=number, help="write one object per line")
    return _objects(rows, lines, report)


def _loaded(data: bytes) -> Any:
    """Return what JSON stands for. Raises ValueError, also for texts that are not Unicode."""
    found = json.loads(data)
    # Escapes may stand for half a character, which no other text can hold.
    half = half_character(json.dumps(found, ensure_ascii=False)) if b"\\u" in data else None
    if half is not None:
        raise json.JSONDecodeError(f"{half} is half of a character", "", 0)
    return found


def _objects(rows: list[Any], lines: list[int] | None, report: FileReport) -> Tables | None:
    """Return the table of objects; a key that an object does not have is a missing cell."""
    good, kept = [], []
    for i, row in enumerate(rows):
        if isinstance(row, dict):
            good.append(row)
            kept.append(lines[i] if lines else i + 1)
        else:
            line = lines[i] if lines else None
            at = "" if lines else f" (row {i + 1})"
            report.error("E311", f"a row is not an object{at}", line=line, help=_OBJECT)
    if not good:
        if not report.failed:
            report.error("E306", "the file has no rows")
        return None
    names = tuple(dict.fromkeys(name for row in good for name in row))
    if not names:
        report.error("E306", "the objects have no keys", help=_OBJECT)
        return None
    check_columns(len(names), "table")
    columns = [object_column([row.get(name) for row in good]) for name in names]
    given = kept if lines else None
    return {UNSPLIT: RawTable(report.file, columns, names, given, sound=not report.failed)}


_OBJECT = 'write each row as an object, such as {"a": 1, "b": 2}'
