"""Parquet and Arrow files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from tests.fuzz.harness import Harness, Input
from tests.fuzz.mutation import mutated_bytes, mutated_json
from tests.fuzz.table_reading import check_table

_ROWS = 6
_TYPES: tuple[Any, ...] = (
    *(pa.bool_(), pa.int8(), pa.uint64(), pa.int64(), pa.float16(), pa.float32(), pa.float64()),
    *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary(2), pa.null()),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"), pa.duration("ms")),
    *(pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ms", "+07")),
    *(pa.decimal128(38, 10), pa.decimal256(76, -3), pa.month_day_nano_interval()),
    *(pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64())),
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int64(), pa.float64())),
    pa.run_end_encoded(pa.int32(), pa.int64()),
)
# Whole numbers that fit into many types; with texts, dates and dictionaries made from them.
_NUMBERS = (0, 1, -1, 2, 100, 127, 20000, 2**31 - 1, 2**62, -(2**63), None)
_NAMES = ("a", "b", "", " ", "a ", "é", "\u202e", "__index_level_0__", "('a', 'b')", "0")


class ArrowTables(Harness):
    """A table is read, summarised, and read again with the columns that were found."""

    name = "parquet"
    endings = (".parquet", ".arrow")

    def seeds(self) -> Iterable[Input]:
        """Return tables with columns of every type, also as pandas writes them."""
        random = Random(0)
        yield from self.files("tests/golden/*/data/*")
        tables = [_made(random, width) for width in (1, 2, 4) for _ in range(8)]
        tables.append(_with_pandas_names(pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]})))
        for table in tables:
            for ending in self.endings:
                content = _written(table, ending, random)
                if content is not None:
                    yield Input(ending, content)

    def mutated(self, given: Input, random: Random) -> bytes:
        """Return the file with changed bytes, or another table in a well-formed file."""
        if random.random() < 0.5:
            return mutated_bytes(given.content, random)
        table = _changed(given, random) if random.random() < 0.5 else None
        if table is None:
            table = _made(random, random.randint(0, 4))
        return _written(table, given.ending, random) or mutated_bytes(given.content, random)

    def read(self, path: Path) -> None:
        """Read a table, as `spnc data show` and then `spnc eval` do."""
        check_table(path)


def _made(random: Random, width: int) -> Any:
    """Return a table of random columns."""
    rows = random.choice((0, 1, _ROWS, _ROWS))
    columns = [_column(random, rows) for _ in range(width)]
    names = [random.choice(_NAMES) if random.random() < 0.3 else f"c{i}" for i in range(width)]
    return pa.table(columns, names=names)


def _column(random: Random, rows: int) -> Any:
    """Return a column of a random type, as far as its values can be cast to that type."""
    kind = random.choice(_TYPES)
    few = random.sample(_NUMBERS, random.randint(1, 3))
    values = [random.choice(few) for _ in range(rows)]
    numbers = pa.array(values, pa.int64())
    ways: tuple[Any, ...] = (
        lambda: numbers.cast(kind),
        lambda: numbers.cast(kind, safe=False),
        lambda: pa.array(values, kind),
        lambda: pa.array([None if v is None else [v] for v in values], kind),
        lambda: pa.array([None if v is None else {"a": v} for v in values], kind),
        lambda: pa.array([None if v is None else [("a", v)] for v in values], kind),
        lambda: pa.array([None if v is None else str(v)[:2] for v in values], kind),
        lambda: numbers.cast(pa.string()).dictionary_encode(),
        lambda: pa.array(np.array([v or 0 for v in values], float), from_pandas=True),
    )
    for way in random.sample(ways[:7], 7):
        try:
            return way()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
    return random.choice(ways[7:])()


def _changed(given: Input, random: Random) -> Any | None:
    """Return the table of a file with another column or other names; None if it has no table."""
    try:
        read = pa.parquet.read_table if given.ending == ".parquet" else pa.feather.read_table
        table = read(BytesIO(given.content))
        table.validate(full=True)  # a damaged one would end this process
        if table.nbytes > 1 << 20 or not table.num_columns:
            return None
        at = random.randrange(table.num_columns)
        match random.randrange(3):
            case 0:
                column = _column(random, table.num_rows)
                return table.set_column(at, random.choice(_NAMES), column)
            case 1:
                return _with_pandas_names(table, random)
            case _:
                return table.append_column(random.choice(_NAMES), _column(random, table.num_rows))
    except Exception:  # pyarrow raises many kinds for damaged files
        return None


def _with_pandas_names(table: Any, random: Random | None = None) -> Any:
    """Return the table with a description of its row names, as pandas writes it; changed, maybe."""
    about: Any = {
        "index_columns": [table.column_names[0]],
        "column_indexes": [{"name": None, "field_name": None, "pandas_type": "unicode"}],
        "columns": [
            {"name": name, "field_name": name, "pandas_type": "int64", "numpy_type": "int64"}
            for name in table.column_names
        ],
    }
    if random is not None:
        about = mutated_json(about, random)
    return table.replace_schema_metadata({"pandas": json.dumps(about)})


def _written(table: Any, ending: str, random: Random) -> bytes | None:
    """Return the table as a file; None if the format has no such type."""
    stream = BytesIO()
    try:
        if ending == ".parquet":
            pa.parquet.write_table(table, stream, compression=random.choice(("snappy", "none")))
        elif random.random() < 0.5:
            with pa.ipc.new_stream(stream, table.schema) as writer:
                writer.write_table(table)
        else:
            pa.feather.write_feather(table, stream, compression="uncompressed")
    except (pa.ArrowException, OSError, TypeError, ValueError):
        return None
    return stream.getvalue()
