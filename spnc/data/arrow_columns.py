"""From Arrow arrays, which readers and data frames give, to raw columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spnc.data.arrow_arrays import doubles, holes, stored_numbers, truth_array
from spnc.data.narrow_floats import widened
from spnc.data.pandas_names import Header
from spnc.data.raw_table import RawColumn, smallest, text_column

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400.0
_LARGEST_SCALE = 1000  # of decimals: far beyond doubles; an absurd one crashes Arrow
_VIEW = np.dtype("V16")  # length, first characters and place of a text
DURATION_UNIT = "s"
TIME_UNIT = "s since midnight"


def raw_columns(table: Any, header: Header) -> list[RawColumn]:
    """Return the columns of an Arrow table, or of a batch, that are in its header."""
    found = []
    for place in header.places:
        column = raw_column(table.column(place))
        if place in header.categorical and column.kind == "numbers":
            column = replace(column, stated="categories")
        found.append(column)
    return found


def raw_column(values: Any) -> RawColumn:
    """Return the raw column of an Arrow array, chunked or not.

    Texts are stated to be texts. A dictionary array of texts or numbers states categories.
    """
    if isinstance(values, pa.Array):
        values = pa.chunked_array([values])
    values = _without_wild_views(values)
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _categories(values)
    if _is_text(kind):
        return replace(untyped_texts(values), stated="texts")
    if pa.types.is_null(kind):
        return RawColumn("numbers", np.full(len(values), np.nan))
    if pa.types.is_boolean(kind):
        return _plain("booleans", values.cast(pa.uint8()))
    if pa.types.is_integer(kind):
        return _plain("numbers", values)
    if pa.types.is_floating(kind):
        if kind == pa.float64():
            return RawColumn("numbers", doubles(values))
        return RawColumn("numbers", widened(values.to_numpy()))
    if pa.types.is_decimal(kind):
        if abs(kind.scale) > _LARGEST_SCALE:
            raise pa.ArrowInvalid(f"it has decimals with a scale of {kind.scale:,}")
        return RawColumn("numbers", doubles(values.cast(pa.float64(), safe=False)))
    if pa.types.is_date(kind):
        return RawColumn("dates", doubles(values.cast(pa.date32()).cast(pa.int32())) * _DAY)
    if pa.types.is_timestamp(kind):
        if kind.tz is not None:
            values = pc.local_timestamp(values)  # the time of day in the zone that is given
        return RawColumn("dates", doubles(values.cast(pa.int64())) / _PER_SECOND[kind.unit])
    if pa.types.is_time32(kind) or pa.types.is_time64(kind) or pa.types.is_duration(kind):
        whole = pa.int32() if pa.types.is_time32(kind) else pa.int64()
        seconds = doubles(values.cast(whole)) / _PER_SECOND[kind.unit]
        unit = DURATION_UNIT if pa.types.is_duration(kind) else TIME_UNIT
        return RawColumn("numbers", seconds, unit=unit)
    absent = holes(values)
    if absent is None:
        absent = np.zeros(len(values), dtype=np.bool_)
    return RawColumn("other", np.zeros(len(values), dtype=np.uint8), absent)


def object_column(cells: list[Any]) -> RawColumn:
    """Return the raw column of Python values; values of different kinds become texts."""
    try:
        return raw_column(pa.array(cells, from_pandas=True))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return text_column([object_text(cell) for cell in cells])


def object_text(cell: Any) -> str | None:
    """Return a Python value as a text; None if it is a missing cell."""
    absent = cell is None or (isinstance(cell, float) and np.isnan(cell))
    return None if absent else str(cell)


def _is_text(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _plain(kind: Any, values: Any) -> RawColumn:
    """Return a column of whole numbers or booleans in the smallest type."""
    cells, missing = stored_numbers(values), holes(values)
    if missing is not None:
        cells = np.where(missing, cells.dtype.type(0), cells)
    return RawColumn(kind, smallest(cells), missing)


def _categories(values: Any) -> RawColumn:
    """Return the column of a dictionary array, which has the order of its dictionary if it says so.

    Categories that are neither texts nor numbers, such as dates, are plain values.
    """
    kind = values.type
    order: tuple[Any, ...] = ()
    if kind.ordered and values.num_chunks:
        values = values.unify_dictionaries()
        order = tuple(values.chunk(0).dictionary.to_pylist())
    if _is_text(kind.value_type):
        order = tuple(text.strip() for text in order if text is not None)
        return replace(untyped_texts(values), stated="categories", order=order)
    found = raw_column(values.cast(kind.value_type))
    return replace(found, stated="categories", order=order) if found.kind == "numbers" else found


def untyped_texts(values: Any) -> RawColumn:
    """Return the column of a chunked Arrow array of texts, of which nothing more is stated."""
    if not pa.types.is_dictionary(values.type):
        values = values.cast(pa.string()).dictionary_encode()
    elif not pa.types.is_string(values.type.value_type):
        values = values.cast(pa.dictionary(pa.int32(), pa.string()))
    if not values.num_chunks:
        return text_column([])
    if any(chunk.dictionary.null_count for chunk in values.chunks):
        values = values.cast(pa.string()).dictionary_encode()
    values = values.unify_dictionaries()
    positions = pa.chunked_array([chunk.indices for chunk in values.chunks])
    cells, missing = stored_numbers(positions), holes(positions)
    if missing is not None:
        cells = np.where(missing, cells.dtype.type(0), cells)
    return RawColumn("texts", cells, missing, values.chunk(0).dictionary)


def _without_wild_views(values: Any) -> Any:
    """Return a chunked array of texts, none of whose missing texts points to any memory.

    In a damaged file a missing view may point anywhere. Arrow does not check it, but follows it
    when views are cast.
    """
    kind = values.type
    encoded = pa.types.is_dictionary(kind)
    if not pa.types.is_string_view(kind.value_type if encoded else kind):
        return values
    chunks = [
        pa.DictionaryArray.from_arrays(
            chunk.indices, _tame(chunk.dictionary), ordered=kind.ordered, safe=False
        )
        if encoded
        else _tame(chunk)
        for chunk in values.chunks
    ]
    return pa.chunked_array(chunks, kind)


def _tame(texts: Any) -> Any:
    """Return an array of text views in which the missing ones are empty."""
    missing = holes(texts)
    if missing is None:
        return texts
    _, views, *characters = texts.buffers()
    own = np.frombuffer(views, _VIEW, len(texts), texts.offset * _VIEW.itemsize).copy()
    own[missing] = np.zeros(1, _VIEW)
    present = truth_array(~missing).buffers()[1]
    data = [present, pa.py_buffer(own), *characters]
    return pa.Array.from_buffers(texts.type, len(texts), data)
