"""Properties: what is written is read again, and the fast and exact readers agree."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from spnc.data.file_report import FileReport
from spnc.data.load import load_table
from spnc.data.options import MISSING
from spnc.data.text_cells import sniff_delimiter
from spnc.data.text_exact import parse_exact
from spnc.data.text_fast import parse_fast
from spnc.data.text_tables import parse_text
from spnc.diagnostics import Sink

cells = st.one_of(
    st.integers(0, 255).map(float), st.just(float("nan")), st.sampled_from([0.0, 1.0])
)
tables = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=cells
)
names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=5)


def as_text(values: np.ndarray, header: list[str] | None, delimiter: str) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter)
    if header:
        writer.writerow(header)
    for row in values:
        writer.writerow(["" if np.isnan(v) else f"{v:g}" for v in row])
    return stream.getvalue().encode()


@settings(deadline=None)
@given(tables, st.data(), st.sampled_from(["csv", "tsv", "csv.gz", "npy", "npz", "npz.gz"]))
def test_every_table_of_states_survives_every_file_type(
    values: np.ndarray, data: st.DataObject, ending: str
) -> None:
    header = None
    if ending[:3] in ("csv", "tsv") and data.draw(st.booleans()):
        width = values.shape[1]
        drawn = data.draw(st.lists(names, min_size=width, max_size=width, unique=True))
        header = [f"v{name}" for name in drawn]
    stream = io.BytesIO()
    if ending == "npy":
        np.save(stream, values)
    elif ending.startswith("npz"):
        np.savez(stream, values)
    else:
        stream.write(as_text(values, header, "\t" if ending == "tsv" else ","))
    content = stream.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{ending}"
        path.write_bytes(gzip.compress(content, mtime=0) if ending.endswith("gz") else content)
        sink = Sink()
        dataset = load_table(str(path), sink)
    assert dataset is not None, sink.diagnostics
    np.testing.assert_array_equal(dataset.splits["all"].values, values)
    expected = header or [f"x{i}" for i in range(values.shape[1])]
    assert [c.name for c in dataset.columns] == expected
    for i, column in enumerate(dataset.columns):
        known = values[:, i][~np.isnan(values[:, i])]
        assert column.states == max(2, int(known.max(initial=0)) + 1)
        assert (column.kind == "binary") == (column.states == 2)


number_texts = st.one_of(
    st.integers(0, 9).map(str),
    st.integers(-1000, 1000).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["1.", ".5", "+3", "1e5", "-0", "1E-3", "007", "1e999"]),
)


@settings(deadline=None)
@given(
    st.integers(1, 5).flatmap(
        lambda width: st.lists(
            st.lists(number_texts, min_size=width, max_size=width), min_size=1, max_size=8
        )
    ),
    st.sampled_from([",", ";", "\t", " "]),
)
def test_the_fast_and_the_exact_reader_give_the_same_numbers(
    rows: list[list[str]], delimiter: str
) -> None:
    text = "".join(delimiter.join(row) + "\n" for row in rows)
    fast = parse_fast(text.encode(), delimiter, MISSING)
    report = FileReport(Sink(), "f")
    exact = parse_exact(text, report, delimiter=delimiter, header="no")
    assert fast is not None
    assert exact is not None
    assert not report.failed
    np.testing.assert_array_equal(fast, exact.values)


@settings(deadline=None)
@given(
    st.text("0123456789+-.eE ,;\t\n", max_size=60),
    st.sampled_from([",", ";", "\t", " "]),
    st.sampled_from([MISSING, ("?",), ("9",), ("-", "")]),
)
def test_whatever_the_fast_reader_accepts_the_exact_one_reads_alike(
    text: str, delimiter: str, missing: tuple[str, ...]
) -> None:
    fast = parse_fast(text.encode(), delimiter, missing)
    if fast is None:
        return
    report = FileReport(Sink(), "f")
    exact = parse_exact(text, report, delimiter=delimiter, header="no", missing=missing)
    assert exact is not None
    assert not report.failed
    np.testing.assert_array_equal(fast, exact.values)
    assert list(exact.lines or []) == list(range(1, len(fast) + 1))


@settings(deadline=None)
@given(st.one_of(st.text(max_size=80), st.text('019ax,";\t \r\n?', max_size=80)))
def test_any_text_at_all_is_read_or_reported(text: str) -> None:
    report = FileReport(Sink(), "f")
    table = parse_text(text.encode("utf-8", errors="replace"), report)
    assert (table is not None and table.sound) == (not report.failed)


@settings(deadline=None)
@given(st.binary(max_size=80), st.sampled_from(["csv", "tsv", "npy", "npz", "csv.gz", "npy.gz"]))
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
