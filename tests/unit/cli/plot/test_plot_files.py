"""Files of pictures: the same bytes every time, of the type that their name says."""

from __future__ import annotations

import io
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.image import imread

from spnc.cli import main
from spnc.reports.plots import learning_curve as curves
from spnc.reports.plots import mutual_information as matrices
from tests.plotting import curve, two_matrices


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_pictures_are_the_same_bytes_whatever_the_settings(suffix: str) -> None:
    def pictures() -> list[bytes]:
        comparison = two_matrices(3, 5)
        return [
            matrices.picture([comparison], list("abcde"), "data", suffix),
            curves.picture([curve([-3.0, -2.0], [-3.5, -2.5])], suffix),
        ]

    before = pictures()
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        assert pictures() == before
        assert mpl.rcParams["font.size"] == 30
    for content in before:
        if suffix == ".png":
            assert imread(io.BytesIO(content)).shape[0] > 400
            assert b"Software" not in content
        else:
            assert ET.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
            assert b"<dc:date>" not in content


@pytest.mark.parametrize("name", ["curve.png", "new/folder/CURVE.SVG"])
def test_the_suffix_says_what_is_written(finished: Path, name: str) -> None:
    assert main(["plot", "history", str(finished), "-o", name]) == 0
    content = Path(name).read_bytes()
    assert content.startswith(b"\x89PNG" if name.lower().endswith("png") else b"<?xml")


def test_drawing_leaves_the_windows_of_matplotlib_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it fails
    assert curves.picture([curve([-3.0, -2.0])], ".svg")
    assert matrices.picture([two_matrices(0, 2)], ["a", "b"], "data", ".svg")


def test_hidden_characters_in_names_are_shown_in_pictures(tmp_path: Path) -> None:
    circuit, picture = tmp_path / "c.json", tmp_path / "density.svg"
    circuit.write_text(
        '{"graph": {"variables": {"a\\u202eb": {"kind": "real", "unit": "k\\u202eg"}}}, "nodes": '
        '[{"id": 1, "kind": "leaf", "variable": "a\\u202eb", "distribution": "gaussian", '
        '"p": [0, 1]}], "edges": []}'
    )
    assert main(["compile", str(circuit), "-o", str(tmp_path / "m.spnc")]) == 0
    question = 'density of e"a\\u202eb"'
    assert main(["query", str(tmp_path / "m.spnc"), question, "--plot", str(picture)]) == 0
    assert "\u202e" not in picture.read_text("utf-8")
    assert "U+202E" in picture.read_text("utf-8")
