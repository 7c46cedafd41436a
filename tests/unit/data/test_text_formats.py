"""Numbers and dates written for people: which format a column has, and that it is kept."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data import pieces
from spnc.data.dataset import Dataset
from spnc.data.load import load, load_table
from spnc.data.options import ColumnRule, DataOptions
from spnc.data.raw_table import text_column
from spnc.data.stream import stream_table
from spnc.data.table_rules import TableRules
from spnc.data.text_formats import (
    DateFormat,
    NumberFormat,
    TextFormat,
    doubt_about,
    format_from_json,
    found_format,
)
from spnc.data.text_values import converted
from spnc.diagnostics import Sink


@pytest.mark.parametrize(
    ("texts", "delimiter", "expected"),
    [
        (["1,05", "2", "-3,5"], ";", NumberFormat(",")),
        (["1,05", "2,5"], "\t", NumberFormat(",")),
        (["1,05", "2,5"], ",", None),
        (["1,050", "2,500"], ";", NumberFormat(",")),
        (["1,050", "2,500"], "\t", NumberFormat(".", ",")),
        (["1,050", "999", "1,000,000"], ";", NumberFormat(".", ",")),
        (["1,050", "999", "12,345.5"], None, NumberFormat(".", ",")),
        (["1.050,25", "3,5"], ";", NumberFormat(",", ".")),
        (["1 050", "12"], ",", NumberFormat(".", " ")),
        (["12%", "5.5%"], ",", NumberFormat(suffix="%")),
        (["12 %", "5.5%", "-3%"], ",", NumberFormat(suffix="%")),
        (["$9.99", "-$1,050.00"], ",", NumberFormat(".", ",", "$")),
        (["9,99 €", "10 €"], ";", NumberFormat(",", suffix="€")),
        (["5.1 kg", "6 kg"], ",", NumberFormat(suffix="kg")),
        (["5.1 kg", "600 g"], ",", None),
        (["12%", "5"], ",", None),
        (["1,05", "2.5"], ";", None),
        (["00501 kg", "1 kg"], ",", None),
        (["192.168.100.200", "10.168.100.200"], ",", None),
        (["1,2,3", "1,3"], ";", None),
        (["A1", "A2"], ",", None),
        (["1-2", "3-4"], ",", None),
        (["31/01/2020", "01/02/2020"], ",", DateFormat("day-first")),
        (["31.1.2020", "1.2.2020 08:30"], ",", DateFormat("day-first")),
        (["01/31/2020", "02/01/2020"], ",", DateFormat("month-first")),
        (["01/02/2020", "02/01/2020"], ",", None),
        (["31/01/2020", "01/31/2020"], ",", None),
        (["31/02/2020", "01/02/2020"], ",", None),
        (["2020/1/5", "2020/12/31"], ",", DateFormat("year-first")),
        (["Jan 5, 2020", "May 12, 2021"], ",", DateFormat("month-names")),
        (["5 January 2020", "12-Sept-2021"], ",", DateFormat("month-names")),
        (["Foo 5, 2020", "May 12, 2021"], ",", None),
        (["08:30", "23:59"], ",", DateFormat("minutes")),
        (["8:30 am", "11:59 PM"], ",", DateFormat("minutes")),
        (["08:30:05", "23:59"], ",", DateFormat("seconds")),
        (["08:30", "25:00"], ",", None),
        ([], ",", None),
    ],
)
def test_the_format_of_texts(
    texts: list[str], delimiter: str | None, expected: TextFormat | None
) -> None:
    assert found_format(texts, delimiter) == expected


def test_what_fits_only_far_down_decides() -> None:
    dates = [f"{1 + i % 12:02}/{1 + i // 12:02}/2020" for i in range(120)]
    assert found_format(dates) is None
    assert doubt_about(dates) is not None
    assert found_format([*dates, "13/01/2020"]) == DateFormat("day-first")


@given(st.floats(-1e9, 1e9).map(lambda v: round(v, 2)))
def test_numbers_mean_what_was_written(value: float) -> None:
    written = {
        f"{value:.2f}".replace(".", ","): NumberFormat(","),
        f"{value:,.2f}": NumberFormat(".", ","),
        f"{value:.2f}%": NumberFormat(suffix="%"),
        f"${value:.2f}": NumberFormat(prefix="$"),
        f"{value:,.2f}".translate(str.maketrans(",.", ".,")): NumberFormat(",", "."),
    }
    for text, format in written.items():
        found, wrong = converted(text_column([text]), format.meaning)
        assert not wrong.any()
        assert found.cells.tolist() == [value]


@given(st.dates(date(1000, 1, 1), date(9999, 12, 31)), st.integers(0, 1439))
def test_dates_mean_what_was_written(day: date, minute: int) -> None:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    seconds = (start - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    year = f"{day.year:04}"
    written = {
        f"{day.day}/{day.month}/{year}": DateFormat("day-first"),
        f"{day.month:02}-{day.day:02}-{year}": DateFormat("month-first"),
        f"{year}/{day.month}/{day.day}": DateFormat("year-first"),
        f"{day:%b} {day.day}, {year}": DateFormat("month-names"),
        f"{day.day} {day:%B} {year}": DateFormat("month-names"),
        day.isoformat(): DateFormat("day-first"),
    }
    for text, format in written.items():
        found, wrong = converted(text_column([text]), format.meaning)
        assert not wrong.any()
        assert found.cells.tolist() == [seconds]
    time = (start + timedelta(minutes=minute)).strftime("%H:%M")
    found, _ = converted(text_column([time]), DateFormat("minutes").meaning)
    assert found.cells.tolist() == [minute]


@pytest.mark.parametrize(
    "format", [NumberFormat(",", ".", "", "€"), DateFormat("day-first"), DateFormat("seconds")]
)
def test_formats_are_kept_with_a_model(format: TextFormat) -> None:
    rules = TableRules(formats=(("a", format),))
    assert TableRules.from_json(rules.as_json()) == rules


@pytest.mark.parametrize("value", [None, [], {"order": "weeks"}, {"decimal": 1}, {"other": ","}])
def test_unknown_formats_are_none(value: object) -> None:
    assert format_from_json(value) is None


def german(folder: Path, name: str = "a.csv", rows: int = 60) -> str:
    lines = ["preis;anteil;gekauft;um"]
    for i in range(rows):
        day = date(2020, 1, 1) + timedelta(days=5 * i)
        lines.append(f"{1000 + i},{i:02};{i * 1.5}%;{day:%d.%m.%Y};{i % 24}:{7 * i % 60:02}")
    (folder / name).write_text("\n".join(lines) + "\n")
    return str(folder / name)


def found(source: str) -> tuple[Dataset, list[str]]:
    sink = Sink()
    dataset = load_table(source, sink)
    assert dataset is not None, sink.diagnostics
    return dataset, [d.code for d in sink.diagnostics]


def test_a_file_with_formats_is_read_with_warnings(tmp_path: Path) -> None:
    dataset, codes = found(german(tmp_path))
    assert [(c.kind, c.unit) for c in dataset.columns] == [
        ("real", ""),
        ("real", "%"),
        ("date", "days"),
        ("real", "min since midnight"),
    ]
    assert codes == ["W315"] * 4
    assert dataset.splits["all"].values[1].tolist() == [1001.01, 1.5, 18267.0, 67.0]


def test_later_data_is_read_in_the_same_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, _ = found(german(tmp_path))
    (tmp_path / "b.csv").write_text(
        "preis;anteil;gekauft;um\n7;8;2020-01-06;0:30\n1,5;3%;01.02.2020;1:00\n"
    )
    expected = [[7.0, 8.0, 18267.0, 30.0], [1.5, 3.0, 18293.0, 60.0]]
    later = load_table(
        str(tmp_path / "b.csv"), Sink(), columns=dataset.columns, rules=dataset.rules
    )
    assert later is not None
    assert later.splits["all"].values.tolist() == expected
    monkeypatch.setattr(pieces, "PIECE_BYTES", 16)
    parts = stream_table(
        str(tmp_path / "b.csv"), Sink(), columns=dataset.columns, rules=dataset.rules
    )
    assert np.concatenate([t.values for _, t in parts]).tolist() == expected


def test_a_text_in_another_format_is_an_error_later(tmp_path: Path) -> None:
    dataset, _ = found(german(tmp_path))
    (tmp_path / "b.csv").write_text("preis;anteil\n1.000.0;5 kg\n")
    sink = Sink()
    load_table(str(tmp_path / "b.csv"), sink, columns=dataset.columns, rules=dataset.rules)
    assert [d.code for d in sink.diagnostics] == ["E304", "E304"]


def test_few_values_stay_texts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("p,y\n" + "10%,1.5\n20%,2.5\n5%,0.5\n5%,1.5\n" * 9)
    dataset, codes = found(str(tmp_path / "a.csv"))
    assert dataset.columns[0].labels == ("10%", "20%", "5%")
    assert codes == []


def test_declared_columns_are_read_in_their_format(tmp_path: Path) -> None:
    rules = (ColumnRule(name="anteil", kind="categorical"), ColumnRule(name="gekauft", kind="date"))
    dataset = load(DataOptions(source=german(tmp_path), columns=rules), Sink())
    assert dataset is not None
    assert (dataset.columns[1].labels or ())[:2] == ("0.0%", "1.5%")
    assert dataset.columns[2].kind == "date"
    assert [name for name, _ in dataset.rules.formats] == ["preis", "gekauft", "um"]


def test_words_among_formatted_numbers_are_odd(tmp_path: Path) -> None:
    rows = "".join(f"{i / 2}%,{i % 3}\n" for i in range(40))
    (tmp_path / "a.csv").write_text("p,y\n" + rows + "unknown,1\n")
    dataset, codes = found(str(tmp_path / "a.csv"))
    assert dataset.columns[0].kind == "real"
    assert sorted(codes) == ["W309", "W315"]
    assert np.isnan(dataset.splits["all"].values[-1, 0])


def test_a_first_row_of_formatted_cells_is_no_header(tmp_path: Path) -> None:
    rows = "".join(f"{1 + i % 28}/01/2020;{i},5\n" for i in range(40))
    (tmp_path / "a.csv").write_text(rows)
    dataset, _ = found(str(tmp_path / "a.csv"))
    assert dataset.splits["all"].rows == 40
