"""Codes that look like numbers, such as 00501 and 1.10, stay as they are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.data import text_tables
from spnc.data.columns import Label
from spnc.data.dataset import Dataset
from spnc.data.file_report import FileReport
from spnc.data.frames import raw_from_python
from spnc.data.load import load, load_table
from spnc.data.options import ColumnRule, DataOptions
from spnc.data.text_bytes import padded_columns
from spnc.data.text_cells import records
from spnc.data.text_exact import parse_exact
from spnc.data.text_layout import FirstLine, Layout
from spnc.data.text_tables import parse_text
from spnc.diagnostics import Sink

ZIPS = ["00501", "01234", "10001", "00501"] * 10


def labels(dataset: Dataset | None, name: str) -> tuple[Label, ...] | None:
    assert dataset is not None
    return next(c.labels for c in dataset.columns if c.name == name)


def declared(path: Path, name: str, **rule: Any) -> Dataset | None:
    sink = Sink()
    rules = (ColumnRule(name=name, **rule),)
    found = load(DataOptions(source=str(path), columns=rules), sink)
    assert found is not None, sink.diagnostics
    return found


def csv(folder: Path, name: str, cells: list[str], quote: str = "") -> Path:
    path = folder / "codes.csv"
    lines = [f"{quote}{cell}{quote},{i % 7}.5" for i, cell in enumerate(cells)]
    path.write_text("\n".join([f"{name},y", *lines]) + "\n")
    return path


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_leading_zero_makes_a_column_texts(tmp_path: Path, quote: str) -> None:
    found = load_table(str(csv(tmp_path, "zip", ZIPS, quote)), Sink())
    assert labels(found, "zip") == ("00501", "01234", "10001")
    assert found is not None
    assert found.columns[1].kind != "categorical"


def test_a_lone_zero_and_zero_point_five_are_numbers(tmp_path: Path) -> None:
    found = load_table(str(csv(tmp_path, "a", ["0", "0.5", "0.25", "10", "-0.5"] * 8)), Sink())
    assert found is not None
    assert found.columns[0].kind == "real"


def test_a_leading_zero_far_down_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tables, "BLOCK_BYTES", 64)
    found = load_table(str(csv(tmp_path, "zip", ["1", "2", "3"] * 40 + ["03"])), Sink())
    assert labels(found, "zip") == ("03", "1", "2", "3")


@pytest.mark.parametrize("way", ["frame", "parquet", "json"])
def test_strings_with_leading_zeros_stay_strings(tmp_path: Path, way: str) -> None:
    frame = {"zip": ZIPS, "y": [i % 7 + 0.5 for i in range(len(ZIPS))]}
    if way == "frame":
        found = load_table(raw_from_python(frame, Sink()), Sink())  # type: ignore[arg-type]
    elif way == "parquet":
        pyarrow.parquet.write_table(pa.table(frame), tmp_path / "a.parquet")
        found = load_table(str(tmp_path / "a.parquet"), Sink())
    else:
        rows = [dict(zip(frame, row, strict=True)) for row in zip(*frame.values(), strict=True)]
        (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
        found = load_table(str(tmp_path / "a.jsonl"), Sink())
    assert labels(found, "zip") == ("00501", "01234", "10001")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.1", "1.10", "1.2"], ("1.1", "1.10", "1.2")),
        (["1E5", "100000", "7"], ("100000", "1E5", "7")),
        (["+1", "1", "2"], ("+1", "1", "2")),
        (["3", "4", "7"], (3, 4, 7)),
        (["1.5", "2.5", "3"], (1.5, 2.5, 3)),
        (["2020-01", "2020-02", "2020-03"], ("2020-01", "2020-02", "2020-03")),
        (["9007199254740993", "9007199254740992", "1"], (1, 2**53, 2**53 + 1)),
        (["9007199254740993", "9007199254740992", "1.5"], None),
    ],
)
def test_declared_categories_never_merge(
    tmp_path: Path, cells: list[str], expected: tuple[Label, ...] | None
) -> None:
    path = csv(tmp_path, "code", cells * 5)
    found = labels(declared(path, "code", kind="categorical"), "code")
    assert found == (expected or tuple(sorted(cells)))
    by_pattern = labels(declared(path, "c*e", kind="categorical"), "code")
    assert by_pattern == found


def test_declared_labels_are_compared_as_texts(tmp_path: Path) -> None:
    path = csv(tmp_path, "zip", ["00501", "01234"] * 5)
    found = declared(path, "zip", labels=("00501", "01234"))
    assert labels(found, "zip") == ("00501", "01234")


def test_declared_numbers_may_have_leading_zeros(tmp_path: Path) -> None:
    path = csv(tmp_path, "n", ["007", "012", "100"] * 5)
    found = declared(path, "n", kind="real")
    assert found is not None
    assert found.splits["train"].values[:3, 0].tolist() == [7.0, 12.0, 100.0]


def test_a_model_knows_its_codes_in_later_data(tmp_path: Path) -> None:
    path = csv(tmp_path, "zip", ZIPS)
    model = load_table(str(path), Sink())
    assert model is not None
    frame = {"zip": ["00501", "10001"], "y": [0.5, 1.5]}
    later = csv(tmp_path, "zip", ["00501", "10001"])
    sink = Sink()
    found = load_table(str(later), sink, columns=model.columns, rules=model.rules)
    assert found is not None, sink.diagnostics
    given = raw_from_python(frame, sink)
    assert given is not None
    same = load_table(given, sink, columns=model.columns, rules=model.rules)
    assert same is not None
    assert found.splits["all"].values.tolist() == same.splits["all"].values.tolist()


def test_a_label_with_a_fraction_of_zero_is_found_by_a_number(tmp_path: Path) -> None:
    found = declared(csv(tmp_path, "v", ["1.0", "1.1", "2.0"] * 5), "v", kind="categorical")
    assert labels(found, "v") == ("1.0", "1.1", "2.0")
    assert found is not None
    given = raw_from_python({"v": [2.0, 1.1], "y": [0.5, 1.5]}, Sink())
    assert given is not None
    later = load_table(given, Sink(), columns=found.columns, rules=found.rules)
    assert later is not None
    assert later.splits["all"].values[:, 0].tolist() == [2.0, 1.0]


CELL = st.sampled_from(["0", "00", "01", "0.5", "10", "100", "-01", "7", "", "a0", "1e05", "0x"])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=9), st.sampled_from(",;\t"))
def test_fast_and_exact_reading_agree(rows: list[tuple[str, ...]], delimiter: str) -> None:
    text = "".join(delimiter.join(row) + "\n" for row in rows)
    exact = parse_exact(text, FileReport(Sink(), "a"), Layout(delimiter, FirstLine(False)))
    fast = parse_text(text.encode(), FileReport(Sink(), "a"), delimiter=delimiter)
    if exact is None or fast is None or exact.rows != fast.rows:
        return  # the first line is a header, or a row of missing cells
    expected = [
        any(cell[:1] == "0" and cell[1:2].isdigit() for cell in cells)
        for cells in zip(*(row for _, row in records(text, delimiter)), strict=True)  # type: ignore[arg-type]
    ]
    found = padded_columns(text.encode(), delimiter, 3)
    assert [i in found for i in range(3)] == expected
    for padded, column in zip(expected, fast.columns, strict=True):
        assert not padded or column.kind == "texts"
