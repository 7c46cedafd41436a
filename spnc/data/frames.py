"""Tables from Python: data frames of any library, dicts of columns, and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from spnc.data.arrow_columns import object_column, raw_column
from spnc.data.raw_table import RawColumn, RawTable, number_columns
from spnc.diagnostics import Sink, counted

GIVEN = "the given data"  # where messages say the problem is
_HELP = "give a data frame, a dict of columns, or an array with one row per case"


def raw_from_python(data: Any, sink: Sink) -> RawTable | None:
    """Return the table of a data frame, a dict of columns or an array; None after an error (E505).

    Data frames are those that narwhals knows: pandas, polars, pyarrow and others. An array has no
    names; one of a single dimension is one row.
    """
    if isinstance(data, RawTable):
        return data
    if isinstance(data, Mapping):
        return _from_dict(data, sink)
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        return _from_dict({name: data[name] for name in data.dtype.names}, sink)
    frame = _frame(data)
    if frame is not None:
        names = [str(name) for name in frame.columns]
        if len(set(names)) < len(names):
            sink.error("E313", "two columns of the data frame have the same name", where=GIVEN)
            return None
        if not names or not len(frame):
            sink.error("E306", "the data frame has no rows or no columns", where=GIVEN)
            return None
        columns = [_series(frame[name]) for name in frame.columns]
        return RawTable(GIVEN, columns, tuple(names))
    return _from_array(data, sink)


def _frame(data: Any) -> Any:
    """Return a data frame of narwhals; None if the data is not a data frame."""
    import narwhals as nw

    found = nw.from_native(data, pass_through=True)
    if isinstance(found, nw.LazyFrame):
        return found.collect()
    return found if isinstance(found, nw.DataFrame) else None


def _series(series: Any) -> RawColumn:
    """Return a column of a data frame; values of mixed kinds become texts."""
    try:
        return raw_column(series.to_arrow())
    except Exception:  # each library has its own for what Arrow cannot hold
        return object_column(series.to_list())


def _from_dict(data: Mapping[Any, Any], sink: Sink) -> RawTable | None:
    columns: dict[str, RawColumn] = {}
    for name, cells in data.items():
        array = cells if isinstance(cells, np.ndarray) else None
        if array is not None and array.dtype.kind in "buif" and array.ndim == 1:
            columns[str(name)] = number_columns(array[:, None])[0]
        elif isinstance(cells, str) or not hasattr(cells, "__len__"):
            message = f"column `{name}` is a single value, not a list of cells"
            sink.error("E505", message, where=GIVEN, help=_HELP)
        else:
            columns[str(name)] = object_column(list(cells))
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


def _from_array(data: Any, sink: Sink) -> RawTable | None:
    try:
        array = np.asarray(data)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.ndim == 1 and len(array):
        array = array[None, :]
    if array.ndim != 2 or array.shape[1] == 0:
        message = f"the data is not a table: {_described(data)}"
        sink.error("E505", message, where=GIVEN, help=_HELP)
        return None
    if array.dtype.kind in "buif":
        return RawTable(GIVEN, number_columns(array))
    return RawTable(GIVEN, [object_column(list(cells)) for cells in array.T])


def _described(data: Any) -> str:
    shape = getattr(data, "shape", None)
    if shape is not None:
        return f"it has the shape {tuple(shape)}"
    size = f" of {counted(len(data), 'value')}" if hasattr(data, "__len__") else ""
    return f"it is a {type(data).__name__}{size}"
