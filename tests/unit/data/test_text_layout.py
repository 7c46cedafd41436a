"""The layout of text files: row names, delimiters, comments, and a first line of words."""

from __future__ import annotations

from pathlib import Path

import pytest

from spnc.data import text_tables
from spnc.data.load import load
from spnc.data.options import ColumnRule, DataOptions
from spnc.data.stream import stream_table
from spnc.diagnostics import Sink
from tests.reading import read, write


def cars(header: str, sep: str, names: list[str]) -> str:
    """A table as R's `write.table` writes it: names of rows, and no name above them."""
    rows = [sep.join([name, str(i % 7 + 0.5), str(i % 2)]) for i, name in enumerate(names)]
    return "\n".join([header, *rows]) + "\n"


QUOTED = [f'"car {i}"' for i in range(30)]
NUMBERED = [f'"{i}"' for i in range(1, 31)]


@pytest.mark.parametrize("names", [QUOTED, NUMBERED])
@pytest.mark.parametrize("sep", [" ", ",", ";", "\t"])
@pytest.mark.parametrize("header", ["auto", "yes"])
def test_a_first_column_without_a_name_names_the_rows(
    tmp_path: Path, names: list[str], sep: str, header: str
) -> None:
    source = write(tmp_path, "cars.txt", cars(sep.join(['"mpg"', '"am"']), sep, names))
    dataset, problems = read(source, header=header)
    assert dataset is not None
    assert [(c.name, c.kind) for c in dataset.columns] == [("mpg", "real"), ("am", "binary")]
    assert dataset.splits["all"].values[8].tolist() == [1.5, 0.0]
    assert problems == [("W314", "cars.txt:1"), ("W306", "cars.txt")]
    assert dataset.rules.names == ("rownames", "mpg", "am")


def test_words_below_words_do_not_hide_a_header_without_the_first_name(tmp_path: Path) -> None:
    rows = "".join(
        f"r{i},{'red' if i % 3 else 'blue'},{'x' if i % 2 else 'y'}\n" for i in range(40)
    )
    dataset, problems = read(write(tmp_path, "a.csv", "colour,mark\n" + rows))
    assert dataset is not None
    assert [c.name for c in dataset.columns] == ["colour", "mark"]
    assert ("W314", "a.csv:1") in problems


def test_row_names_can_be_declared_and_get_a_name_of_their_own(tmp_path: Path) -> None:
    text = cars("rownames,am", ",", [f"car{i}" for i in range(30)])
    write(tmp_path, "a.csv", text)
    rule = ColumnRule(name="rownames_", kind="categorical")
    options = DataOptions(source=str(tmp_path / "a.csv"), columns=(rule,))
    dataset = load(options, Sink())
    assert dataset is not None
    assert [c.name for c in dataset.columns] == ["rownames_", "rownames", "am"]


@pytest.mark.parametrize(
    "text",
    [
        cars("mpg,am", ",", ["a", "b", "a"]),
        cars("mpg,am", ",", ["a", "b", "c"]).replace("mpg,am", "am"),
        "mpg,am\n1.5,0,\n2.5,1,\n3.5,0,\n",
        "mpg,am\n1.5,0,1\n",
        "mpg,am\na,1.5,0\nb,2.5\n",
    ],
    ids=["not different", "two names short", "delimiters at the end", "one row", "uneven"],
)
def test_other_headers_of_another_width_are_errors(tmp_path: Path, text: str) -> None:
    dataset, problems = read(write(tmp_path, "a.csv", text))
    assert dataset is None
    assert {code for code, _ in problems} == {"E303"}


def test_bars_separate_cells_if_nothing_else_does(tmp_path: Path) -> None:
    dataset, problems = read(write(tmp_path, "a.csv", "a|b|c\n1|2.5|x y\n2|3.5|z w\n2|4.5|x y\n"))
    assert dataset is not None
    assert [c.name for c in dataset.columns] == ["a", "b", "c"]
    assert problems == []
    commas, _ = read(write(tmp_path, "b.csv", "a,b|c\n1,x|y\n2,z\n2,x|y\n"))
    assert commas is not None
    assert [c.name for c in commas.columns] == ["a", "b|c"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [16, 1 << 20])
def test_comments_before_a_table_are_skipped(
    tmp_path: Path, end: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_tables, "BLOCK_BYTES", size)
    lines = ['# it is 5" long', "#", "# a, b, and c", "a,b", "1,2", "2,3.5", "3,4.5"]
    source = write(tmp_path, "a.csv", end.join(lines))
    dataset, problems = read(source)
    assert dataset is not None
    assert [c.name for c in dataset.columns] == ["a", "b"]
    assert dataset.splits["all"].rows == 3
    assert problems == [("W317", "a.csv")]
    pieces = list(stream_table(source, Sink(), columns=dataset.columns, rules=dataset.rules))
    assert sum(piece.rows for _, piece in pieces) == 3


def test_lines_keep_their_numbers_below_comments(tmp_path: Path) -> None:
    _, problems = read(write(tmp_path, "a.csv", "# one\n# two\na,b\n1,2\n1,2,3\n"))
    assert ("E303", "a.csv:5") in problems


def test_lines_as_wide_as_rows_are_no_comments(tmp_path: Path) -> None:
    colours, _ = read(write(tmp_path, "a.csv", "#fff,1\n#000,2\nred,3\n#fff,2\nred,4\n#000,7\n"))
    assert colours is not None
    assert colours.splits["all"].rows == 6
    named, _ = read(write(tmp_path, "b.csv", "#id,x\n1,2\n2,2.5\n1,3\n"))
    assert named is not None
    assert [c.name for c in named.columns] == ["#id", "x"]


def test_words_of_which_some_occur_again_may_be_a_header(tmp_path: Path) -> None:
    rows = "red,large\nblue,small\nred,small\n"
    _, problems = read(write(tmp_path, "a.csv", "red,green\n" + rows))
    assert ("W305", "a.csv:1") in problems
    for first in ("red,small", "red,red"):
        _, problems = read(write(tmp_path, "a.csv", f"{first}\n{rows}"))
        assert "W305" not in [code for code, _ in problems]
    _, problems = read(write(tmp_path, "a.csv", "red,green\n" + rows), header="no")
    assert "W305" not in [code for code, _ in problems]
