"""`spnc data show`: what people see of a table, and what programs get."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from spnc.cli import main
from spnc.common.wording import width

HEAD = "id,species,mass,day,a column with a name that is much longer than the screen is wide,note\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "rows.csv"
    rows = []
    for i in range(1, 81):
        species = rng.choice(["Adelie", "Gentoo"])
        note = "x" if i % 9 == 0 else "y" if i % 5 == 0 else ""
        wide = f"{'much longer than the screen ' * 2}{i % 7}"
        mass = rng.normal(4000, 500)
        rows.append(f"{i},{species},{mass:.0f},2024-01-{i % 28 + 1:02},{wide},{note}")
    path.write_text(HEAD + "\n".join(rows) + "\n")
    return path


def test_lines_fit_a_screen_and_line_up(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", str(table), "--quiet"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert max(map(width, lines)) <= 100
    head = next(i for i, line in enumerate(lines) if "histogram" in line)
    place = lines[head].index("histogram")
    for line in lines[head + 2 :]:
        assert line[place - 1] == " "
    text = "\n".join(lines)
    for words in ("Adelie, Gentoo", "2024-01-01 … ", "identifies rows", "█"):
        assert words in text
    assert "W306" in printed.err


def test_json_has_labels_counts_and_reasons(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "show", str(table), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    columns = {c["name"]: c for c in facts["columns"]}
    assert columns["species"]["labels"] == ["Adelie", "Gentoo"]
    assert sum(columns["species"]["counts"]) == 80
    assert columns["mass"]["kind"] == "real"
    assert columns["mass"]["low"] < columns["mass"]["mean"] < columns["mass"]["high"]
    assert sum(columns["mass"]["counts"]) == 80
    assert columns["day"]["first"] == "2024-01-01"
    present = sum(1 for i in range(1, 81) if i % 9 == 0 or i % 5 == 0)
    assert columns["note"]["missing"] == 80 - present
    assert facts["left_out"] == [{"name": "id", "why": "identifies rows"}]


@pytest.mark.parametrize("packing", ["plain", "gz"])
def test_standard_input_is_a_table(
    table: Path, packing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import gzip

    data = table.read_bytes() if packing == "plain" else gzip.compress(table.read_bytes())
    shown = []
    for source in (str(table), "-"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert main(["data", "show", source, "--quiet"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


def test_the_mean_of_small_numbers_is_not_rounded_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [k * 1e-9 + 2.5e-10 for k in range(20)]
    (tmp_path / "small.csv").write_text("a\n" + "".join(f"{cell!r}\n" for cell in cells))
    assert main(["data", "show", str(tmp_path / "small.csv"), "--json"]) == 0
    (column,) = json.loads(capsys.readouterr().out)["columns"]
    assert column["mean"] == pytest.approx(9.75e-9, rel=1e-9)
