"""Text files: what is read, and that every problem in them is told with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from spnc.data import text_tables
from spnc.data.file_report import FileReport
from spnc.data.load import load_table
from spnc.data.text_fast import parse_digits
from spnc.data.text_tables import parse_text
from spnc.diagnostics import Sink
from tests.reading import read, write


def table(source: str, **options: object) -> np.ndarray:
    """The cells of a file of numbers; codes are shown as what they stand for."""
    dataset, _ = read(source, **options)
    assert dataset is not None
    values = dataset.splits["all"].values.copy()
    for i, column in enumerate(dataset.columns):
        for row, code in enumerate(values[:, i].tolist()):
            if column.labels is not None and code == code:
                values[row, i] = column.labels[int(code)]
    return values


def test_a_headerless_file_names_its_columns_x0_x1(tmp_path: Path) -> None:
    dataset, problems = read(write(tmp_path, "a.csv", "0,1\n1,2\n0,0\n"))
    assert dataset is not None
    assert [c.name for c in dataset.columns] == ["x0", "x1"]
    assert [str(c) for c in dataset.columns] == ["binary", "categorical(3)"]
    assert problems == []
    assert dataset.name == "a.csv"


def test_a_first_line_with_a_word_is_a_header(tmp_path: Path) -> None:
    dataset, _ = read(write(tmp_path, "a.csv", "rain,7\n0,1\n1,2\n"))
    assert dataset is not None
    assert [c.name for c in dataset.columns] == ["rain", "7"]


def test_a_first_line_of_numbers_and_missing_markers_is_data(tmp_path: Path) -> None:
    values = table(write(tmp_path, "a.csv", "?,1\n1,0\n"))
    np.testing.assert_array_equal(values, [[np.nan, 1], [1, 0]])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "a,b\n0,1\n1,2\n"),
        ("a.csv", "a;b\n0;1\n1;2\n"),
        ("a.txt", "a b\n0 1\n1   2\n"),
        ("a.data", "a\tb\n0\t1\n1\t2\n"),
        ("a.tsv", "a\tb\n0\t1\n1\t2\n"),
        ("a.csv", '"a","b"\r\n"0","1"\r\n"1","2"\r\n'),
        ("a.csv", "a, b\n0, 1\n1, 2"),
        ("a.csv", "\ufeffa,b\r0,1\r1,2\r"),
        ("A.CSV", "a,b\n\n0,1\n\n1.0,2e0\n\n"),
        ("a.csv", '"a\nlong name",b\n0,1\n1,2\n'),
    ],
)
def test_delimiters_quotes_line_ends_and_blank_lines_do_not_matter(
    tmp_path: Path, name: str, text: str
) -> None:
    np.testing.assert_array_equal(table(write(tmp_path, name, text)), [[0, 1], [1, 2]])


def test_a_header_with_spaces_over_one_column_is_still_one_column(tmp_path: Path) -> None:
    dataset, _ = read(write(tmp_path, "a.csv", "heavy rain\n0\n1\n"))
    assert dataset is not None
    assert [c.name for c in dataset.columns] == ["heavy rain"]


def test_a_compressed_file_reads_as_the_plain_one(tmp_path: Path) -> None:
    packed = write(tmp_path, "a.csv.gz", gzip.compress(b"a,b\n0,1\n1,2\n", mtime=0))
    np.testing.assert_array_equal(table(packed), [[0, 1], [1, 2]])


def test_a_number_can_mean_missing(tmp_path: Path) -> None:
    for nine in ("9", "9.0", " 9", "+9"):
        path = write(tmp_path, "a.csv", f"0,{nine}\n1,1\n")
        values = table(path, missing=("9",))
        np.testing.assert_array_equal(values, [[0, np.nan], [1, 1]])


def test_the_word_nan_is_text_unless_it_is_a_missing_marker(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "a,b\n0,1\n1,nan\n")
    assert np.isnan(table(path)[1, 1])
    dataset, _ = read(path, missing=("?",))
    assert dataset is not None
    assert dataset.columns[1].labels == ("1", "nan")


def test_minus_zero_is_zero(tmp_path: Path) -> None:
    plain, _ = read(write(tmp_path, "a.csv", "0,1\n1,0\n"))
    signed, _ = read(write(tmp_path, "b.csv", "-0,1\n1,-0.0\n"))
    assert plain is not None
    assert signed is not None
    assert plain.digest == signed.digest


def test_a_ragged_row_is_reported_with_its_line_and_the_others_still_checked(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "a.csv", "a,b,c\n0,1,1\n1,0\n0,1,inf\n1,1,0,1\n0,0,0.5\n")
    _, problems = read(path)
    assert problems == [("E303", "a.csv:3"), ("E303", "a.csv:5"), ("E316", "a.csv:4")]


def test_without_header_the_odd_row_is_wrong_even_if_it_comes_first(tmp_path: Path) -> None:
    _, problems = read(write(tmp_path, "a.csv", "0,1,0\n0,1\n1,0\n1,1\n"))
    assert problems == [("E303", "a.csv:1")]


def test_a_header_that_no_row_agrees_with_is_reported_once(tmp_path: Path) -> None:
    _, problems = read(write(tmp_path, "a.csv", "id,rain\n1,0,1\n2,1,1\n2,1,1\n"))
    assert problems == [("E303", "a.csv:1")]


def test_lines_are_counted_right_after_a_quoted_line_end(tmp_path: Path) -> None:
    _, problems = read(write(tmp_path, "a.csv", '"a\nb",c\n\n0,1\n1,inf\n0,1\n'))
    assert problems == [("E316", "a.csv:5")]


def test_words_are_categories_in_alphabetical_order(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "smoker,x\nyes,0\nno,1\nyes,0\n,1\n")
    dataset, problems = read(path)
    assert dataset is not None
    assert problems == []
    assert dataset.columns[0].labels == ("no", "yes")
    np.testing.assert_array_equal(dataset.splits["all"].column(0), [1, 0, 1, np.nan])


def test_of_many_problems_twenty_are_told_and_the_rest_counted(tmp_path: Path) -> None:
    sink = Sink()
    load_table(write(tmp_path, "a.csv", "a,b\n" + "0,1\n" * 40 + "0\n" * 33), sink)
    assert [d.code for d in sink.diagnostics] == ["E303"] * 21
    assert "13 more problems" in sink.diagnostics[-1].message


def test_a_header_that_is_declared_absent_is_warned_of(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "a,b\n0,1\n1,0\n0,0\n")
    dataset, problems = read(path, header="no")
    assert dataset is not None
    assert problems == [("W305", "a.csv:1")]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("39,State-gov,yes\n50,Self-emp,no\n38,State-gov,no\n", None),  # words below and above
        ("age,work,rich\n50,Self-emp,no\n38,State-gov,no\n", ("age", "work", "rich")),
        ("colour,size\nred,big\nblue,small\nred,small\n", ("colour", "size")),
        ("red,big\nblue,small\nred,small\n", None),
        ("day,rain\n2024-01-31,1\n2024-02-01,0\n", ("day", "rain")),
        ("a,b\n,\n,\n0,1\n1,0\n", ("a", "b")),
    ],
)
def test_a_header_is_told_from_a_row_of_words(
    tmp_path: Path, text: str, names: tuple[str, ...] | None
) -> None:
    raw = parse_text(text.encode(), FileReport(Sink(), "a.csv"))
    assert raw is not None
    assert raw.names == names


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.csv", b"", "E305"),
        ("a.csv", b" \n\n", "E305"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "E305"),
        ("a.csv.gz", b"", "E305"),
        ("a.csv", b"a,b\n", "E306"),
        ("a.xlsx", b"x", "E312"),
        ("noending", b"0,1\n", "E312"),
        ("a.gz", gzip.compress(b"0,1\n", mtime=0), "E312"),
        ("a.csv", b"a,b,a\n0,1,0\n", "E313"),
        ("a.csv", "é,b\n0,1\n".encode("latin-1"), "E315"),
        ("a.csv", "a,b\n0,1\n".encode("utf-16"), "E315"),
        ("a.csv", b"a,b\n0,1\n0,\0\n", "E315"),
        ("a.csv.gz", gzip.compress(b"0,1\n" * 99, mtime=0)[:-9], "E315"),
        ("a.csv.gz", b"0,1\n", "E315"),
        ("a.csv", gzip.compress(b"0,1\n", mtime=0), "E315"),
        ("a.csv", b'a,b\n0,"1\n0,1\n', "E315"),
        ("a.csv", b'a,b\n0,"1"2\n0,1\n', "E315"),
        ("a.csv", b"a,b\n0,1\n0,-inf\n", "E316"),
        ("a.csv", b"0,1\n0,1e999\n", "E316"),
    ],
)
def test_unreadable_content_is_reported_by_its_own_code(
    tmp_path: Path, name: str, content: bytes, code: str
) -> None:
    _, problems = read(write(tmp_path, name, content))
    assert [found for found, _ in problems] == [code]


def test_after_a_malformed_row_the_rest_is_still_read(tmp_path: Path) -> None:
    _, problems = read(write(tmp_path, "a.csv", 'a,b\n0,"1"2\n0,inf\n1,1\n0,1,1\n'))
    assert problems == [("E315", "a.csv:2"), ("E303", "a.csv:5"), ("E316", "a.csv:3")]


def test_a_missing_file_is_reported_with_the_nearest_name(tmp_path: Path) -> None:
    write(tmp_path, "rows.csv", "0,1\n")
    for wrong, hint in [("rows.cvs", "rows.csv"), ("no/rows.csv", "no folder")]:
        sink = Sink()
        assert load_table(str(tmp_path / wrong), sink) is None
        assert [d.code for d in sink.diagnostics] == ["E302"]
        assert hint in str(sink.diagnostics[0].help)


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    assert read(str(tmp_path))[1][0][0] == "E302"


def test_progress_is_told_up_to_the_size_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "0,1\n" * 600_000)
    calls: list[tuple[str, int, int | None]] = []
    read(path, progress=lambda label, done, total: calls.append((label, done, total)))
    assert len(calls) > 2
    assert calls[-1] == ("a.csv", 2_400_000, 2_400_000)


@pytest.mark.parametrize("head", ["", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q\n"])
def test_regular_files_take_the_fast_route(head: str) -> None:
    """Its rows are counted, not remembered: their line numbers are a range."""
    digits = (",".join("01001000100001000") + "\n") * 300
    assert parse_digits(digits.rstrip().encode(), ",") is not None
    bodies = [digits.replace("1", other) for other in ("1", "12", "1.0", "red", '"a, b"', "?")]
    for body in bodies:
        fast = parse_text((head + body).encode(), FileReport(Sink(), "a.data"))
        assert fast is not None
        assert (fast.rows, fast.width) == (300, 17)
        assert isinstance(fast.lines, range)
    exact = parse_text((head + digits).encode() + b"\n \n", FileReport(Sink(), "a.data"))
    assert exact is not None
    assert isinstance(exact.lines, list)
    assert list(fast.lines) == exact.lines


def test_a_column_of_numbers_that_turns_into_words_keeps_its_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`007` is the number 7 only as long as the whole column is of numbers."""
    monkeypatch.setattr(text_tables, "BLOCK_BYTES", 1 << 10)
    codes = [f"{i % 4:03}" for i in range(2000)]
    assert table(write(tmp_path, "a.csv", "code\n" + "\n".join(codes)))[:5, 0].tolist() == [
        0, 1, 2, 3, 0,
    ]  # fmt: skip
    dataset, _ = read(write(tmp_path, "b.csv", "code\n" + "\n".join([*codes, "x"])))
    assert dataset is not None
    assert dataset.columns[0].labels == ("000", "001", "002", "003", "x")


@pytest.mark.parametrize("late", [3, 700, 1999])
def test_threads_agree_on_what_a_column_is(
    late: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever block has the first word, all cells of its column are read as texts."""
    monkeypatch.setattr(text_tables, "BLOCK_BYTES", 1 << 9)
    rows = [[f"{i % 3}.50", f"w{i % 2}", str(i % 7), f"{i % 2}e2"] for i in range(2000)]
    rows[late][3] = "nan"
    rows[late][0] = rows[(late + 11) % 2000][2] = "other"
    lines = "a,b,c,d\n" + "\n".join(",".join(row) for row in rows)
    dataset, problems = read(write(tmp_path, "a.csv", lines))
    assert dataset is not None
    assert problems == []
    labels = [column.labels for column in dataset.columns]
    assert labels[0] == ("0.50", "1.50", "2.50", "other")
    assert labels[2] == ("0", "1", "2", "3", "4", "5", "6", "other")
    assert labels[3] == (0, 100)
    column = dataset.splits["all"].column(0)
    assert column.tolist() == [labels[0].index(row[0]) for row in rows]
    assert np.flatnonzero(np.isnan(dataset.splits["all"].column(3))).tolist() == [late]


def test_numbers_with_a_few_words_are_numbers_and_the_words_are_told(tmp_path: Path) -> None:
    cells = [str(i / 4) for i in range(40)]
    cells[7] = "unknown"
    dataset, problems = read(write(tmp_path, "a.csv", "dose\n" + "\n".join(cells)))
    assert dataset is not None
    assert dataset.columns[0].kind == "real"
    assert problems == [("W309", "a.csv:9")]
    assert np.isnan(dataset.splits["all"].column(0)).sum() == 1
