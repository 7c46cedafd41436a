"""One column from Python: a series of any library, an array or a list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from spnc.data.arrow_columns import object_column, raw_column
from spnc.data.raw_table import RawColumn, number_columns


def is_single(cells: Any) -> bool:
    """Whether a value is one cell, not a column of them."""
    if isinstance(cells, str | bytes) or not hasattr(cells, "__len__"):
        return True
    return getattr(cells, "ndim", 1) == 0


def column_of(cells: Any) -> RawColumn:
    """Return the column of a series, an array or a list; values of mixed kinds become texts."""
    import narwhals as nw

    if isinstance(cells, pa.Array | pa.ChunkedArray):
        return raw_column(cells)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "buif" and cells.ndim == 1:
        if isinstance(cells, np.ma.MaskedArray):
            cells = np.where(np.ma.getmaskarray(cells), np.nan, cells.data.astype(np.float64))
        return number_columns(cells[:, None])[0]
    if hasattr(cells, "categories") and hasattr(cells, "codes"):  # a categorical of pandas
        import pandas as pd

        cells = pd.Series(cells)
    series = nw.from_native(cells, pass_through=True, series_only=True)
    return _from_series(series) if isinstance(series, nw.Series) else object_column(list(cells))


def _from_series(series: Any) -> RawColumn:
    try:
        values = series.to_arrow()
        if pa.types.is_dictionary(values.type) and isinstance(
            values.type.value_type, pa.BaseExtensionType
        ):
            # Categories that are intervals, for instance, are known by their texts.
            native = series.to_native()
            return raw_column(pa.array(native.cat.rename_categories(str), from_pandas=True))
        return raw_column(values)
    except Exception:  # each library has its own for what Arrow cannot hold
        return object_column(series.to_list())
