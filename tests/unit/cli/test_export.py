"""`spnc export` writes every format, and leaves an old file alone if it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spnc
from spnc.cli import main
from spnc.exports.formats import FORMATS
from tests.places import ROOT

ASIA = str(ROOT / "specs/circuits/asia.spn")
START = {
    "dot": b"digraph",
    "svg": b"<svg",
    "graphml": b"<?xml",
    "json": b"{",
    "spn": b"circuit asia",
    "onnx": b"\x08",
}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_suffix_names_the_format(name: str, tmp_path: Path, capsys) -> None:
    if name == "onnx":
        pytest.importorskip("onnx")
    path = tmp_path / f"asia.{name}"
    assert main(["export", ASIA, "-o", str(path)]) == 0
    content = path.read_bytes()
    assert content.startswith(START[name])
    said = capsys.readouterr()
    assert said.err == ""
    assert "40 nodes, 62 edges" in said.out
    other = tmp_path / "other.txt"
    assert main(["export", ASIA, "-o", str(other), "--format", name, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["format"] == name
    assert facts["bytes"] == len(content)
    assert (facts["nodes"], facts["edges"]) == (40, 62)
    assert other.read_bytes() == content


def test_the_page_shows_the_picture_that_is_drawn_today(tmp_path: Path) -> None:
    """`spnc export specs/circuits/asia.spn -o docs/pictures/circuit-asia.svg` makes it."""
    assert main(["export", ASIA, "-o", str(tmp_path / "asia.svg")]) == 0
    shown = ROOT / "docs/pictures/circuit-asia.svg"
    assert (tmp_path / "asia.svg").read_bytes() == shown.read_bytes()


@pytest.mark.parametrize("name", ["graphml", "json", "spn"])
def test_what_spnc_reads_is_the_same_circuit(name: str, tmp_path: Path) -> None:
    model = tmp_path / "asia.spnc"
    spnc.compile(ASIA).save(model)
    path = tmp_path / f"asia.{name}"
    assert main(["export", str(model), "-o", str(path)]) == 0
    rows = [[0, 0, 1, 0, 1, 0, float("nan"), 1]]
    again = spnc.compile(path).log_likelihood(rows)
    assert again == pytest.approx(spnc.load(model).log_likelihood(rows), abs=1e-12)


def test_a_text_can_be_printed(capsys) -> None:
    assert main(["export", ASIA, "--format", "dot", "--depth", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("digraph")
    assert printed.count(" -> ") == 4


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ([], "-o FILE says where to write"),
        (["--format", "svg", "--json"], "-o FILE says where to write"),
        (["--format", "onnx"], "onnx is not a text"),
        (["-o", "x.graphml", "--depth", "2"], "--depth and --force are for drawings"),
        (["-o", "x.onnx", "--force"], "--depth and --force are for drawings"),
    ],
)
def test_options_that_do_not_go_together(line: list[str], hint: str, capsys) -> None:
    assert main(["export", ASIA, *line]) == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize("depth", ["0", "-1", "x", "1.5"])
def test_a_depth_is_a_whole_number(depth: str, capsys) -> None:
    with pytest.raises(SystemExit) as end:
        main(["export", ASIA, "-o", "x.svg", "--depth", depth])
    assert end.value.code == 2


def test_a_failure_leaves_the_old_file(tmp_path: Path, capsys) -> None:
    wide = tmp_path / "wide.spn"
    leaves = " + ".join("1/256 (rain ~ bernoulli(0.5))" for _ in range(256))
    wide.write_text(f"circuit wide\nvariables {{ rain: binary }}\ntop = {leaves}\nroot top\n")
    path = tmp_path / "wide.svg"
    path.write_text("old")
    assert main(["export", str(wide), "-o", str(path), "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["diagnostics"][0]["code"] == "E862"
    assert "257 nodes" in said.err
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    assert main(["export", str(wide), "-o", str(path), "--force"]) == 0
    assert path.read_text().startswith("<svg")


def test_options_of_drawings_are_refused_elsewhere_in_python(tmp_path: Path) -> None:
    model = spnc.compile(ASIA)
    with pytest.raises(ValueError, match="for drawings"):
        model.export(tmp_path / "x.json", depth=2)
    with pytest.raises(ValueError, match="at least 1"):
        model.export(tmp_path / "x.svg", depth=0)
    model.export(tmp_path / "x.svg", depth=1)
    assert "4 parts not drawn" in (tmp_path / "x.svg").read_text()
