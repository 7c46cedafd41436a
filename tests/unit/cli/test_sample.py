"""`spnc sample`: rows of a model as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import spnc
from spnc.cli import main
from tests.places import ROOT


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.spnc"
    spnc.compile(ROOT / "tests/golden/good/circuits/mixed.spn").save(path)
    return path


def drawn(line: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["sample", *line]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_rows_are_csv_in_labels_dates_and_units(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(csv.DictReader(io.StringIO(drawn([str(model), "-n", "200"], capsys))))
    assert len(rows) == 200
    assert {row["species"] for row in rows} == {"Adelie", "Chinstrap", "Gentoo"}
    assert {row["ringed"] for row in rows} == {"true", "false"}
    assert all(row["seen_on"].startswith(("19", "20")) for row in rows)
    assert all(int(row["body_mass"]) % 25 == 0 for row in rows)
    assert "two\nlines" in rows[0]


def test_rows_are_those_of_the_python_function(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(drawn([str(model), "-n", "3", "--seed", "7", "--json"], capsys))
    expected = spnc.load(model).sample(3, seed=7).to_dict()
    assert found["ok"] is True
    assert found["seed"] == 7
    assert found["columns"] == list(expected)
    assert [row[0] for row in found["rows"]] == expected["species"]
    assert [row[8] for row in found["rows"]] == [day.isoformat() for day in expected["seen_on"]]
    other = json.loads(drawn([str(model), "-n", "3", "--seed", "8", "--json"], capsys))
    assert other["rows"] != found["rows"]


def test_a_file_gets_what_the_terminal_would(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "drawn.csv"
    said = drawn([str(model), "-o", str(target)], capsys)
    assert said == f"{target}: 10 rows drawn from penguins\n"
    assert target.read_text() == drawn([str(model)], capsys)


@pytest.mark.parametrize("words", [["-n", "-1"], ["-n", "1.5"], ["--seed", "x"], ["-n", "²"]])
def test_numbers_that_cannot_be_are_wrong_usage(
    model: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["sample", str(model), *words])
    assert end.value.code == 2
    assert "is not a whole number" in capsys.readouterr().err


def test_a_file_that_is_no_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", str(ROOT / "tests/golden/bad/models/E507-changed.spnc")]) == 1
    assert "error[E507]" in capsys.readouterr().err
