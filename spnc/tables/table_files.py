"""Writing tables: CSV, Parquet and Arrow files."""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from spnc.diagnostics import Sink, nearest

TEXT_FORMS = {".csv": ",", ".tsv": "\t"}
ARROW_FORMS = (".parquet", ".arrow", ".feather")
FORMS = (*TEXT_FORMS, *ARROW_FORMS)
STANDARD_OUTPUT = "-"


def check_form(output: str | None, sink: Sink) -> None:
    """Report the name of a file that a table cannot be written to (E510)."""
    if output is None or output == STANDARD_OUTPUT:
        return
    suffix = Path(output).suffix.lower()
    if suffix not in FORMS:
        kind = f"as `{suffix}`" if suffix else "without a suffix"
        near = nearest(suffix, FORMS) if suffix else None
        help = f"give a name that ends in {', '.join(FORMS[:-1])} or {FORMS[-1]}"
        if near is not None:
            help += f"; did you mean `{near}`?"
        message = f"a table cannot be written {kind}"
        sink.error("E510", message, where=output, help=help)


def table_bytes(table: Any, suffix: str) -> bytes:
    """Return the content of a file with an Arrow table."""
    if suffix in TEXT_FORMS:
        return csv_text(table, TEXT_FORMS[suffix]).encode()
    content = io.BytesIO()
    if suffix == ".parquet":
        pa.parquet.write_table(table, content)
    else:
        pa.feather.write_feather(table, content)
    return content.getvalue()


def arrow_column(cells: Sequence[Any]) -> Any:
    """Return cells as an Arrow array; as texts if they are of different types, as labels may be."""
    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())


def csv_text(table: Any, delimiter: str = ",") -> str:
    """Return an Arrow table as text with a header; missing cells are empty."""
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*map(_texts, table.columns), strict=True))
    return lines.getvalue()


def json_rows(table: Any) -> list[list[Any]]:
    """Return the rows of an Arrow table as JSON holds them."""
    columns = [[_json(cell) for cell in column.to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _texts(column: Any) -> Sequence[str]:
    return [_text(cell) for cell in column.to_pylist()]


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell.isoformat(" ") if isinstance(cell, dt.datetime) else str(cell)


def _json(cell: Any) -> Any:
    if isinstance(cell, float) and not abs(cell) < float("inf"):
        return None if cell != cell else str(cell)
    return cell.isoformat() if isinstance(cell, dt.date) else cell
