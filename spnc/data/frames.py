"""Tables from Python: data frames of any library, rows and columns of them, dicts and arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from spnc.data.arrow_columns import object_column, raw_columns
from spnc.data.given_shards import GivenShards, is_dask_frame
from spnc.data.pandas_names import flat_name, header_of, index_levels, repeated
from spnc.data.python_columns import column_of, is_single
from spnc.data.raw_table import RawColumn, RawTable, number_columns
from spnc.diagnostics import Sink, counted

GIVEN = "the given data"  # where messages say the problem is
MOST_DENSE = 1 << 26  # cells of a sparse matrix that is read: half a gigabyte of doubles
_HELP = "give a data frame, a dict of columns, a list of dicts, or an array with one row per case"


def given_rows(data: Any, sink: Sink) -> RawTable | GivenShards | None:
    """Return rows to train on, which for a Dask frame stay where they are; None after an error."""
    return GivenShards(data) if is_dask_frame(data) else raw_from_python(data, sink)


def raw_from_python(data: Any, sink: Sink, known: frozenset[str] = frozenset()) -> RawTable | None:
    """Return the table of a data frame, dicts or an array; None after an error.

    Data frames are those that narwhals knows (pandas, polars and others) and whatever offers
    itself as an Arrow stream. A dict holds columns; a list of dicts holds rows. An array has no
    names; one of a single dimension is one row. A series with a name is one column.

    `known` are the names that a model knows, where the table is for a model: then a dict of single
    values is one row, and so is a series of pandas whose index holds names of columns.
    """
    if isinstance(data, RawTable):
        return data
    if isinstance(data, Mapping):
        return _from_dict(data, sink, known)
    if isinstance(data, np.ndarray):
        if data.dtype.names is None:
            return _from_array(data, sink)
        return _from_dict({name: data[name] for name in data.dtype.names}, sink, known)
    if isinstance(data, list | tuple) and data and _is_record(data[0]):
        return _from_records(data, sink)
    return _from_library(data, sink, known)


def _from_library(data: Any, sink: Sink, known: frozenset[str]) -> RawTable | None:
    """Return the table of a data frame, a series or an array of any library."""
    import narwhals as nw

    if nw.dependencies.is_pandas_dataframe(data):
        return _from_pandas(data, sink)
    if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return _from_arrow(data, sink)
    found = nw.from_native(data, pass_through=True, allow_series=True)
    if isinstance(found, nw.Series):
        return _from_series(found, sink, known)
    if isinstance(found, nw.LazyFrame):
        found = found.collect()
    if isinstance(found, nw.DataFrame):
        columns = [column_of(found[name]) for name in found.columns]
        return _named([str(name) for name in found.columns], columns, sink)
    if hasattr(data, "__arrow_c_stream__") and not isinstance(data, pa.ChunkedArray):
        return _from_arrow(data, sink)
    return _from_array(data, sink)


def _named(
    names: Sequence[str],
    columns: list[RawColumn],
    sink: Sink,
    index: frozenset[str] = frozenset(),
) -> RawTable | None:
    """Return the table of columns with names; None after reporting why it is none."""
    for name in repeated(names):
        help = "give each column its own name"
        sink.error("E313", f"several columns are named `{name}`", where=GIVEN, help=help)
    if not columns or not columns[0].rows:
        sink.error("E306", "the data frame has no rows or no columns", where=GIVEN)
    return None if sink.failed else RawTable(GIVEN, columns, tuple(names), index=index)


def _from_pandas(frame: Any, sink: Sink) -> RawTable | None:
    index = index_levels(frame)
    columns = [column_of(frame.iloc[:, i]) for i in range(frame.shape[1])]
    columns += [column_of(series) for series in index.values()]
    names = [*map(flat_name, frame.columns), *index]
    return _named(names, columns, sink, frozenset(index))


def _from_arrow(data: Any, sink: Sink) -> RawTable | None:
    """Return the table of a table, batch or stream of Arrow."""
    try:
        table = (
            pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else pa.table(data)
        )
    except (TypeError, ValueError, pa.ArrowException) as error:
        sink.error("E505", f"the stream is not a table: {error}", where=GIVEN, help=_HELP)
        return None
    header = header_of(table.schema)
    return _named(header.names, raw_columns(table, header), sink, header.row_names)


# ---- series, dicts and records ---------------------------------------------------------------


def _from_series(series: Any, sink: Sink, known: frozenset[str]) -> RawTable | None:
    """Return the column that a series is or, for a model, the row."""
    native, name = series.to_native(), series.name
    labels = list(native.index) if hasattr(native, "index") else []
    is_row = bool(labels) and all(isinstance(label, str | tuple) for label in labels)
    if known:
        is_row = is_row and not known.isdisjoint(map(flat_name, labels))
        is_column = name is not None and flat_name(name) in known
    else:
        is_column = isinstance(name, str) or (name not in (None, "") and not is_row)
    if is_column and name != "":
        return _named([flat_name(name)], [column_of(native)], sink)
    if is_row and known:
        cells = [object_column([cell]) for cell in native.tolist()]
        return _named([flat_name(label) for label in labels], cells, sink)
    message = "a series must have the name of a column"
    if known:
        message = f"{message} of the model, or an index of such names"
    help = 'give `series.to_frame("name")` for a column, `series.to_frame().T` for a row'
    sink.error("E505", message, where=GIVEN, help=help)
    return None


def _is_record(row: Any) -> bool:
    import narwhals as nw

    return isinstance(row, Mapping) or nw.dependencies.is_pandas_series(row)


def _from_records(rows: Sequence[Any], sink: Sink) -> RawTable | None:
    """Return the table of rows that are dicts; what a dict does not have is a missing cell."""
    for i, row in enumerate(rows):
        if not _is_record(row):
            message = f"row {i + 1} is a {type(row).__name__}, and others are dicts"
            sink.error("E505", message, where=GIVEN, help=_HELP)
            return None
    plain = [{flat_name(name): cell for name, cell in row.items()} for row in rows]
    names = list(dict.fromkeys(name for row in plain for name in row))
    return _named(names, [object_column([row.get(n) for row in plain]) for n in names], sink)


def _from_dict(data: Mapping[Any, Any], sink: Sink, known: frozenset[str]) -> RawTable | None:
    if data and known and all(is_single(cell) for cell in data.values()):
        return _from_records([data], sink)
    columns: dict[str, RawColumn] = {}
    for label, cells in data.items():
        name = flat_name(label)
        if is_single(cells):
            message = f"column `{name}` is a single value, not a list of cells"
            sink.error("E505", message, where=GIVEN, help=_HELP)
        elif name in columns:
            help = "give each column its own name"
            sink.error("E313", f"several columns are named `{name}`", where=GIVEN, help=help)
        else:
            columns[name] = column_of(cells)
    lengths = {column.rows for column in columns.values()}
    if len(lengths) > 1:
        shown = ", ".join(f"`{n}` {c.rows:,}" for n, c in list(columns.items())[:8])
        message = f"the columns have different lengths: {shown}"
        sink.error("E505", message, where=GIVEN, help=_HELP)
    elif not sink.failed and (not lengths or lengths == {0}):
        sink.error("E306", "the given data has no rows", where=GIVEN)
    if sink.failed:
        return None
    return RawTable(GIVEN, list(columns.values()), tuple(columns))


# ---- arrays ----------------------------------------------------------------------------------


def _from_array(data: Any, sink: Sink) -> RawTable | None:
    array = _array(data, sink)
    if array is None:
        return None
    if array.ndim == 1 and len(array):
        array = array[None, :]
    if array.ndim != 2 or array.shape[1] == 0:
        message = f"the data is not a table: {_described(data)}"
        sink.error("E505", message, where=GIVEN, help=_HELP)
        return None
    if array.dtype.kind in "buif":
        return RawTable(GIVEN, number_columns(array), coded=True)
    columns = [object_column(list(cells)) for cells in array.T]
    return RawTable(GIVEN, columns, coded=not any(c.kind == "texts" for c in columns))


def _array(data: Any, sink: Sink) -> Any:
    """Return the data as an array; None after reporting that it is too large for one."""
    if hasattr(data, "toarray") and hasattr(data, "nnz"):  # a sparse matrix of scipy
        cells = int(np.prod(data.shape))
        if cells > MOST_DENSE:
            message = f"a sparse matrix of {cells:,} cells is too large to be read as a table"
            help = f"give at most {MOST_DENSE:,} cells at a time, or fewer columns"
            sink.error("E505", message, where=GIVEN, help=help)
            return None
        return np.asarray(data.toarray())
    if isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "buif":
        return np.where(np.ma.getmaskarray(data), np.nan, data.data.astype(np.float64))
    try:
        array = np.asarray(data)
        if array.dtype.kind in "SU" and not isinstance(data, np.ndarray):
            array = np.array(data, dtype=object)  # numbers beside texts stay numbers
    except (TypeError, ValueError):
        return np.empty(0, dtype=object)
    return np.char.decode(array, errors="replace") if array.dtype.kind == "S" else array


def _described(data: Any) -> str:
    shape = getattr(data, "shape", None)
    if shape is not None:
        return f"it has the shape {tuple(shape)}"
    size = f" of {counted(len(data), 'value')}" if hasattr(data, "__len__") else ""
    return f"it is a {type(data).__name__}{size}"
