"""Arrow and Parquet files that are well formed outside and wrong inside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from spnc.data.columns import Column
from spnc.data.stream import stream_table
from spnc.diagnostics import Sink
from tests.reading import read

DAMAGED = {
    "offsets": pa.StringArray.from_buffers(
        2, pa.array([0, 2**31 - 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"ab")
    ),
    "UTF-8": pa.StringArray.from_buffers(
        2, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")
    ),
    "positions": pa.DictionaryArray.from_arrays(
        pa.array([0, 99], pa.int8()), pa.array(["a", "b"]), safe=False
    ),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("damage", DAMAGED)
def test_an_array_that_points_nowhere_is_reported(
    damage: str, stream: bool, tmp_path: Path
) -> None:
    """Unchecked, Arrow reads memory that is not its own, which ends the process."""
    batch = pa.record_batch([DAMAGED[damage]], names=["a"])
    path = tmp_path / "table.arrow"
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with path.open("wb") as file, new(file, batch.schema) as writer:
        writer.write_batch(batch)
    assert read(str(path)) == (None, [("E315", "table.arrow")])
    sink = Sink()
    column = Column("a", "categorical", 2, labels=("a", "b"))
    assert list(stream_table(str(path), sink, columns=[column])) == []
    assert [d.code for d in sink.diagnostics] == ["E315"]


@pytest.mark.parametrize(
    "about",
    [
        *(
            1,
            [],
            {"index_columns": 1},
            {"column_indexes": 2},
            {"columns": 0.5},
            {"columns": [None]},
        ),
        {"columns": [{"pandas_type": "categorical", "field_name": []}]},
        {"column_indexes": [{}, {}]},
        "not JSON",
        "[" * 10_000,
    ],
)
def test_a_description_that_pandas_has_not_written_is_ignored(about: Any, tmp_path: Path) -> None:
    text = about if isinstance(about, str) else json.dumps(about)
    deep = "(" * 300 + ")" * 300  # looks like a name with levels, but is nested too deeply
    table = pa.table({"a": [0, 1, 1], deep: [1, 0, 1]}).replace_schema_metadata({"pandas": text})
    path = tmp_path / "table.parquet"
    pa.parquet.write_table(table, path)
    dataset, reported = read(str(path))
    assert reported == []
    assert dataset is not None
    assert [column.name for column in dataset.columns] == ["a", deep]


@pytest.mark.parametrize("line", [b'{"a": "2\xff"}', b'{"\xff": 1}'])
def test_json_lines_that_are_not_utf_8_are_reported(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_bytes(b'{"a": "x"}\n' + line)
    assert read(str(path)) == (None, [("E315", "table.jsonl:2")])


@pytest.mark.parametrize(
    "content",
    [b"null", b'null\n{"a": 1}\n', b'{"a": 1}\n null\n', b'{"a": 1}\n' * 150_000 + b"null\n"],
    ids=["alone", "first", "later", "in another part"],
)
def test_null_in_place_of_an_object_is_reported(content: bytes, tmp_path: Path) -> None:
    """Arrow would follow a null pointer, which ends the process."""
    path = tmp_path / "table.jsonl"
    path.write_bytes(content)
    dataset, reported = read(str(path))
    assert dataset is None
    assert [code for code, _ in reported] == ["E311"]


@pytest.mark.parametrize("scale", [2**27 + 10, -(2**27)])
def test_decimals_with_an_absurd_scale_are_reported(scale: int, tmp_path: Path) -> None:
    bits = pa.array([1, 0, 2, 0], pa.int64()).buffers()
    decimals = pa.Array.from_buffers(pa.decimal128(38, scale), 2, bits)
    path = tmp_path / "table.arrow"
    batch = pa.record_batch([decimals], names=["a"])
    with path.open("wb") as file, pa.ipc.new_stream(file, batch.schema) as writer:
        writer.write_batch(batch)
    assert read(str(path)) == (None, [("E315", "table.arrow")])


def test_two_descriptions_that_differ_give_the_same_columns_in_pieces(tmp_path: Path) -> None:
    """A Parquet file holds what pandas wrote twice: damage may hit one of them."""
    about = json.dumps({"index_columns": ["__index_level_0__"]})
    table = pa.table({"__index_level_0__": [0, -1, 0], "a": [0, 1, 1]})
    path = tmp_path / "table.parquet"
    pa.parquet.write_table(table.replace_schema_metadata({"pandas": about}), path)
    content = path.read_bytes()
    first, second = content.find(about.encode()), content.rfind(b"index_columns")
    for place in (first, second):
        path.write_bytes(content[:place] + b"?" + content[place + 1 :])
        dataset, _ = read(str(path))
        assert dataset is not None
        pieces = stream_table(str(path), Sink(), columns=dataset.columns, rules=dataset.rules)
        found = np.concatenate([piece.values for _, piece in pieces])
        assert np.array_equal(found, dataset.splits["all"].values)


@pytest.mark.parametrize("encoded", [False, True])
def test_missing_texts_that_point_anywhere_are_missing(encoded: bool, tmp_path: Path) -> None:
    """Arrow checks no view of a missing text, but follows it when views are cast."""
    texts = pa.array(["one text that is too long for its view", None, "short"], pa.string_view())
    views = np.frombuffer(texts.buffers()[1], np.uint8).copy()
    views[16:20] = 0, 0, 0, 0xF8  # the length of the missing text is negative
    data = [texts.buffers()[0], pa.py_buffer(views), *texts.buffers()[2:]]
    wild = pa.Array.from_buffers(pa.string_view(), 3, data)
    if encoded:
        wild = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), wild)
    path = tmp_path / "table.arrow"
    batch = pa.record_batch([wild], names=["a"])
    with path.open("wb") as file, pa.ipc.new_stream(file, batch.schema) as writer:
        writer.write_batch(batch)
    dataset, _ = read(str(path))
    assert dataset is not None
    assert np.isnan(dataset.splits["all"].values[:, 0]).tolist() == [False, True, False]
    assert dataset.columns[0].labels == ("one text that is too long for its view", "short")
