"""`spnc impute`, `predict`, `anomalies` and `dependence`: files in, files out."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import spnc
from spnc.cli import main
from tests.places import ROOT

TABLE = """\
who,body_mass,species,note,seen_on
1,3700.0,,"as, it was",2008-01-01
2,NA,Gentoo,?,
3,5.1e3,Gentoo,,2009-05-05
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    spnc.compile(ROOT / "tests/golden/good/circuits/mixed.spn").save("mixed.spnc")
    Path("rows.csv").write_text(TABLE)
    return "mixed.spnc"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_cells_of_a_text_file_stay_as_they_were_written(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["impute", model, "rows.csv", "-o", "filled.csv"]) == 0
    expected = TABLE.replace("3700.0,,", "3700.0,Adelie,").replace(
        "NA,Gentoo,?,", "5075,Gentoo,?,2008-11-17"
    )
    assert Path("filled.csv").read_text() == expected
    said = capsys.readouterr().out
    assert "3 cells filled by mean; written to filled.csv" in said


def test_a_threshold_leaves_cells_empty(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["impute", model, "rows.csv", "--threshold", "0.7", "--probabilities"]
    assert main(line) == 0
    said = capsys.readouterr()
    rows = rows_of(said.out)
    assert [row["body_mass"] for row in rows] == ["3700.0", "NA", "5.1e3"]
    assert [row["body_mass.probability"] for row in rows] == ["", "", ""]
    assert [row["species"] for row in rows] == ["Adelie", "Gentoo", "Gentoo"]
    assert float(rows[0]["species.probability"]) == pytest.approx(0.88, abs=0.02)
    assert "1 cell filled by mean" in said.err


def test_draws_are_put_below_one_another_with_types(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["impute", model, "rows.csv", "--method", "draw", "--draws", "3", "--json"]
    assert main([*line, "-o", "drawn.parquet"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["filled"] == {"species": 3, "body_mass": 3, "seen_on": 3}
    assert facts["output"] == "drawn.parquet"
    table = pq.read_table("drawn.parquet")
    assert table[".draw"].to_pylist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert str(table.schema.field("body_mass").type) == "double"
    assert str(table.schema.field("seen_on").type).startswith(("date", "timestamp"))
    assert table["who"].to_pylist() == ["1", "2", "3"] * 3
    again = ["impute", model, "drawn.parquet", "-o", "again.arrow"]
    assert main(again) == 0


def test_predictions_are_scored_where_the_truth_is_known(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", model, "rows.csv", "--target", "species"]) == 0
    said = capsys.readouterr()
    rows = rows_of(said.out)
    assert [row["species.predicted"] for row in rows] == ["Adelie", "Adelie", "Gentoo"]
    assert "accuracy 0.5" in said.err
    assert "on 2 rows in which it is known" in said.err
    assert main(["predict", model, "rows.csv", "--target", "seen_on", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["scores"]["rows"] == 2
    assert facts["columns"][-5:] == [
        f"seen_on.{n}" for n in ("mean", "sd", "median", "low", "high")
    ]
    assert facts["rows"][1][-3] == "2008-11-17"


def test_odd_rows_name_their_odd_cells(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd.csv").write_text("species,body_mass\nAdelie,3700\nAdelie,6200\nGentoo,5000\n")
    assert main(["anomalies", model, "odd.csv", "--top", "1", "-o", "-"]) == 0
    said = capsys.readouterr()
    [row] = rows_of(said.out)
    assert row["body_mass"] == "6200"
    assert float(row[".p_value"]) < 0.01
    assert row[".odd_cells"].startswith("body_mass = 6200 g (expected 3700,")
    assert "3 rows compared with 10,000 drawn rows" in said.err


def test_dependence_lists_the_strongest_pair_first_and_draws(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "sex,body_mass,species"
    line = ["dependence", model, "--columns", names, "--plot", "map.svg", "-o", "pairs.csv"]
    assert main(line) == 0
    said = capsys.readouterr()
    first, *rest = rows_of(Path("pairs.csv").read_text())
    assert {first["first"], first["second"]} == {"species", "body_mass"}
    assert float(first["share"]) > 0.3
    assert all(float(row["nats"]) == pytest.approx(0.0, abs=1e-9) for row in rest)
    assert "3 pairs written to pairs.csv" in said.out
    picture = Path("map.svg").read_text()
    assert "body_mass" in picture
    assert main(line) == 0
    assert Path("map.svg").read_text() == picture


def test_sampled_columns_are_written_as_parquet(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["sample", model, "-n", "4", "--columns", "seen_on,species", "-o", "s.parquet"]
    assert main(line) == 0
    assert capsys.readouterr().out == "s.parquet: 4 rows drawn from penguins\n"
    table = pq.read_table("s.parquet")
    assert table.column_names == ["seen_on", "species"]
    assert set(table["species"].to_pylist()) <= {"Adelie", "Chinstrap", "Gentoo"}


def test_nothing_is_written_after_an_error(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("filled.csv").write_text("earlier")
    Path("bad.csv").write_text("species\nEmperor\n")
    assert main(["impute", model, "bad.csv", "-o", "filled.csv", "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["diagnostics"][0]["code"] == "E308"
    assert Path("filled.csv").read_text() == "earlier"
    assert main(["impute", model, "rows.csv", "--draws", "2"]) == 2


def test_a_table_without_a_header_is_in_the_order_of_the_model(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = ["Adelie", "Dream", "male", "true", "2", "1", "40.1", "", "2008-01-01", "0"]
    Path("bare.csv").write_text("\n".join([",".join(cells)] * 3) + "\n")
    assert main(["impute", model, "bare.csv"]) == 0
    rows = rows_of(capsys.readouterr().out)
    assert [row["body_mass"] for row in rows] == ["3700"] * 3
    assert [row["species"] for row in rows] == ["Adelie"] * 3
