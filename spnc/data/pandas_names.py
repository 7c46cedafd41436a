"""Names that pandas gives to columns and rows, in its data frames and in the files it writes."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

_UNNAMED = "__index_level_"  # how a column of a file begins that holds an index without a name


class Header(NamedTuple):
    """The names of columns with their places in a table.

    `row_names` are those that name rows, `categorical` the places of those that pandas calls so:
    a Parquet file has no type for categories that are numbers.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    row_names: frozenset[str] = frozenset()
    categorical: frozenset[int] = frozenset()


def flat_name(label: Any) -> str:
    """Return the name of a column as text, and the levels of a name with several as `a.b`."""
    if isinstance(label, tuple):
        return ".".join(str(level) for level in label if str(level))
    return str(label)


def repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def header_of(schema: Any) -> Header:
    """Return the header of an Arrow table. An index of pandas without a name is no column."""
    about = _description(schema)
    index = {name for name in about["index_columns"] if isinstance(name, str)}
    levels = len(about["column_indexes"])
    named = [
        (i, name)
        for i, name in enumerate(map(str, schema.names))
        if not (name in index and name.startswith(_UNNAMED))
    ]
    places = tuple(i for i, _ in named)
    names = tuple(_level_name(name) if levels > 1 else name for _, name in named)
    called = {
        str(column.get("field_name"))
        for column in about["columns"]
        if isinstance(column, dict) and column.get("pandas_type") == "categorical"
    }
    categorical = frozenset(i for i, name in enumerate(schema.names) if name in called)
    return Header(names, places, frozenset(names) & index, categorical)


def _description(schema: Any) -> dict[str, list[Any]]:
    """Return the lists in which pandas describes a table; what is not such a list is empty."""
    try:
        found = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    except (ValueError, RecursionError):  # pandas has not written this
        found = {}
    about = found if isinstance(found, dict) else {}
    lists = {key: about.get(key) for key in ("index_columns", "column_indexes", "columns")}
    return {key: value if isinstance(value, list) else [] for key, value in lists.items()}


def _level_name(text: str) -> str:
    """Return the name that pandas wrote as a tuple, such as `('a', 'b')`."""
    try:
        return flat_name(ast.literal_eval(text))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


def index_levels(frame: Any) -> dict[str, Any]:
    """Return the levels of a data frame's index that have names, as series.

    Row numbers from 0 on are none: pandas does not write them to a file either.
    """
    if type(frame.index).__name__ == "RangeIndex":
        return {}
    names = {flat_name(name) for name in frame.columns}
    return {
        flat_name(name): frame.index.get_level_values(level).to_series()
        for level, name in enumerate(frame.index.names)
        if name is not None and flat_name(name) not in names
    }
