"""Properties: what is written is read again, and the fast and exact readers agree."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spnc.data.assembly import assembled
from spnc.data.dataset import Dataset
from spnc.data.encoding import label_text
from spnc.data.file_report import FileReport
from spnc.data.load import load_table
from spnc.data.options import DataOptions
from spnc.data.raw_table import RawTable
from spnc.data.text_cells import sniff_delimiter
from spnc.data.text_exact import parse_exact
from spnc.data.text_fast import FastReader, IrregularTextError
from spnc.data.text_layout import FirstLine, Layout
from spnc.data.text_rules import MISSING
from spnc.data.text_tables import parse_text
from spnc.diagnostics import Sink

words = st.text(st.characters(codec="utf-8", categories=("L",)), min_size=1, max_size=5)
numbers = st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e9, 1e9))
columns = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=6, max_size=6),
    st.lists(st.one_of(st.none(), numbers), min_size=6, max_size=6),
    st.lists(st.one_of(st.none(), words), min_size=6, max_size=6),
)
frames = st.dictionaries(st.integers(0, 20).map("c{}".format), columns, min_size=1, max_size=4)


def shown(dataset: Dataset) -> dict[str, list[object]]:
    """The cells of a dataset in the words of its table, None where missing."""
    table = dataset.splits["all"]
    found: dict[str, list[object]] = {}
    for i, column in enumerate(dataset.columns):
        cells = table.column(i).tolist()
        if column.labels is not None:
            found[column.name] = [None if c != c else column.labels[int(c)] for c in cells]
        else:
            found[column.name] = [None if c != c else c for c in cells]
    return found


def as_csv(frame: dict[str, list[object]], delimiter: str) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerow(frame)
    for row in zip(*frame.values(), strict=True):
        writer.writerow(["" if v is None else v for v in row])
    return stream.getvalue().encode()


def packed(content: bytes, ending: str) -> bytes:
    if ending.endswith(".gz"):
        return gzip.compress(content, mtime=0)
    if ending.endswith(".bz2"):
        return bz2.compress(content)
    if ending.endswith(".zst"):
        return bytes(pa.compress(content, codec="zstd", asbytes=True))
    if ending.endswith(".zip"):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("rows.csv", content)
        return stream.getvalue()
    return content


def written(frame: dict[str, list[object]], ending: str) -> bytes:
    if ending[1:4] in ("csv", "tsv"):
        return packed(as_csv(frame, "\t" if ending[1:4] == "tsv" else ","), ending)
    table = pa.table({name: pa.array(cells) for name, cells in frame.items()})
    stream = io.BytesIO()
    if ending == ".parquet":
        pa.parquet.write_table(table, stream)
    else:
        pa.feather.write_feather(table, stream)
    return stream.getvalue()


ENDINGS = [".csv", ".tsv", ".csv.gz", ".csv.bz2", ".csv.zst", ".csv.zip", ".parquet", ".feather"]


@settings(deadline=None)
@given(frames, st.sampled_from(ENDINGS))
def test_every_table_survives_every_file_type(frame: dict[str, list[object]], ending: str) -> None:
    """Columns that are not modelled are named; all others have the values that were written."""
    words = (c for cells in frame.values() for c in cells if isinstance(c, str))
    assume(not any(word.strip().lstrip("+-").lower() in ("inf", "infinity") for word in words))
    frame = {
        name: cells if not any(isinstance(c, float) for c in cells) else
        [None if c is None else float(c) for c in cells]
        for name, cells in frame.items()
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        path.write_bytes(written(frame, ending))
        sink = Sink()
        dataset = load_table(str(path), sink)
    if dataset is None:
        assert {d.code for d in sink.diagnostics if d.severity == "error"} == {"E319"}
        return
    known = {m.strip() for m in MISSING}
    found = shown(dataset)
    assert {*found, *dataset.left_out} == set(frame)
    for name, cells in found.items():
        wanted = [None if c is None or c in known else c for c in frame[name]]
        if any(isinstance(c, bool) for c in cells):  # the words `true` and `false` are truth values
            wanted = [c.lower() == "true" if isinstance(c, str) else c for c in wanted]
        assert cells == wanted


number_texts = st.one_of(
    st.integers(0, 9).map(str),
    st.integers(-1000, 1000).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["1.", ".5", "+3", "1e5", "-0", "1E-3", "007", "1e999", "nan", "?", ""]),
    st.sampled_from(["yes", "a b", "2024-01-31", "true", "0x10", "1_000", "Infinity"]),
)


def same_table(fast: RawTable, exact: RawTable, missing: tuple[str, ...]) -> None:
    """Whether two raw tables become the same dataset, or have the same problems."""
    results = []
    for table in (fast, exact):
        sink = Sink()
        options = DataOptions(source="f", missing=missing)
        made = assembled({"all": table}, options, sink, published=True)
        if made is None:
            results.append(([(d.code, d.message) for d in sink.diagnostics], None, None))
        else:
            table = made.tables()["all"]
            results.append((made.columns, dict(made.left_out), table.values))
    assert results[0][:2] == results[1][:2]
    np.testing.assert_array_equal(results[0][2], results[1][2])


@settings(deadline=None)
@given(
    st.integers(1, 5).flatmap(
        lambda width: st.lists(
            st.lists(number_texts, min_size=width, max_size=width), min_size=1, max_size=8
        )
    ),
    st.sampled_from([",", ";", "\t", " "]),
    st.sampled_from([MISSING, ("?", ""), ("9",), ("-0", "")]),
)
def test_whatever_the_fast_reader_accepts_the_exact_one_reads_alike(
    rows: list[list[str]], delimiter: str, missing: tuple[str, ...]
) -> None:
    text = "".join(delimiter.join(row) + "\n" for row in rows)
    layout = Layout(delimiter, FirstLine(False))
    report = FileReport(Sink(), "f")
    exact = parse_exact(text, report, layout)
    try:
        columns = FastReader(len(rows[0]), delimiter, missing).parse(text.encode())
    except IrregularTextError:
        return
    fast = RawTable("f", columns, None, range(1, columns[0].rows + 1))
    assert exact is not None
    assert not report.failed
    assert list(exact.lines or []) == list(fast.lines or [])
    same_table(fast, exact, missing)


@settings(deadline=None)
@given(
    st.text('0123456789+-.eE ,;\t\n"ax', max_size=60),
    st.sampled_from([",", ";", "\t", " "]),
)
def test_irregular_text_is_declined_by_the_fast_reader(text: str, delimiter: str) -> None:
    """Whatever it accepts has the cells that the exact reader finds."""
    layout = Layout(delimiter, FirstLine(False))
    report = FileReport(Sink(), "f")
    exact = parse_exact(text, report, layout)
    width = exact.width if exact is not None else 1
    try:
        columns = FastReader(width, delimiter, MISSING).parse(text.encode())
    except IrregularTextError:
        return
    assert exact is not None
    assert not report.failed
    same_table(RawTable("f", columns, None, range(1, columns[0].rows + 1)), exact, MISSING)


def test_numbers_and_texts_are_shown_as_they_were_written() -> None:
    assert [label_text(v) for v in ("a", 3, 2.5, True)] == ["a", "3", "2.5", "true"]


@settings(deadline=None)
@given(st.one_of(st.text(max_size=80), st.text('019ax,";\t \r\n?', max_size=80)))
def test_any_text_at_all_is_read_or_reported(text: str) -> None:
    report = FileReport(Sink(), "f")
    table = parse_text(text.encode("utf-8", errors="replace"), report)
    assert (table is not None and table.sound) == (not report.failed)


@settings(deadline=None)
@given(
    st.binary(max_size=80),
    st.sampled_from(
        [
            "csv",
            "tsv",
            "npy",
            "npz",
            "csv.gz",
            "npy.gz",
            "csv.bz2",
            "csv.zst",
            "zip",
            "jsonl",
            "parquet",
        ]
    ),
)
def test_any_bytes_at_all_are_read_or_reported(content: bytes, ending: str) -> None:
    if ending == "npy":
        content = b"\x93NUMPY\x01\x00" + content
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{ending}"
        path.write_bytes(content)
        sink = Sink()
        assert (load_table(str(path), sink) is None) == sink.failed


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
def test_the_delimiter_is_found_from_the_lines(delimiter: str) -> None:
    assert sniff_delimiter(f"a{delimiter}b\n0{delimiter}1\n") == delimiter
