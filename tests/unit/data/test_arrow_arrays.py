"""Arrow arrays become NumPy arrays with the same cells, without pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.arrow_arrays import (
    doubles,
    holes,
    index_array,
    stored_numbers,
    text_array,
    truth_array,
    truths,
)
from spnc.data.arrow_columns import raw_column

cells = st.lists(st.none() | st.integers(-100, 100), max_size=40)


@given(st.lists(cells, max_size=4), st.integers(0, 5), st.sampled_from(["int8", "int64", "double"]))
def test_numbers_in_any_chunks_are_those_of_arrow(
    parts: list[list[int | None]], skipped: int, kind: str
) -> None:
    whole = pa.chunked_array([pa.array(p, type=kind) for p in parts], type=kind).slice(skipped)
    expected = [cell for part in parts for cell in part][skipped:]
    missing = holes(whole)
    absent = [cell is None for cell in expected]
    assert (missing is not None) == any(absent)
    if missing is not None:
        assert missing.tolist() == absent
    found = stored_numbers(whole)
    assert found.dtype == np.dtype(kind)
    assert [c for c, a in zip(found.tolist(), absent, strict=True) if not a] == [
        cell for cell in expected if cell is not None
    ]
    np.testing.assert_array_equal(
        doubles(whole), np.array([np.nan if c is None else c for c in expected], dtype=np.float64)
    )


@given(st.lists(st.none() | st.booleans(), max_size=40), st.integers(0, 20))
def test_a_missing_truth_value_is_false(values: list[bool | None], skipped: int) -> None:
    found = truths(pa.array(values, type=pa.bool_()).slice(skipped))
    assert found.tolist() == [bool(v) for v in values[skipped:]]


@given(st.lists(st.text(max_size=5)), st.lists(st.booleans()), st.lists(st.integers(0, 9)))
def test_arrow_reads_what_is_given_to_it(
    texts: list[str], mask: list[bool], positions: list[int]
) -> None:
    assert text_array(texts).equals(pa.array(texts, type=pa.string()))
    assert truth_array(np.array(mask, dtype=np.bool_)).equals(pa.array(mask, type=pa.bool_()))
    made = index_array(np.array(positions, dtype=np.int32))
    assert made.equals(pa.array(positions, type=pa.int32()))


def test_a_missing_entry_of_a_dictionary_is_a_missing_cell() -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array(["a", None, "b"]))
    column = raw_column(words)
    assert column.absent.tolist() == [False, True, True, False]
    present = [column.text_list()[i] for i in column.present.tolist()]
    assert present == ["a", "b"]


def test_reading_a_text_does_not_import_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    path = tmp_path / "rows.csv"
    rows = [f"{i / 4},{i % 40},{'ab'[i % 2]},2024-01-{1 + i % 9:02},true" for i in range(99)]
    path.write_text("\n".join(["x,n,word,day,flag", *rows, ",,,,false"]))
    code = (
        "import sys\n"
        "from spnc.data.load import load_table\n"
        "from spnc.diagnostics import Sink\n"
        "assert load_table(sys.argv[1], Sink()) is not None\n"
        "sys.exit('pandas' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 0
