"""Views of models and trainings: one line of facts, a small table, nothing that can break out."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.common.views import line, model_html, model_text, trained_html, trained_text
from spnc.common.wording import width

COUNTS = {"columns": 8, "nodes": 1145, "edges": 1144, "layers": 1}
SPLITS = {"train": (3000, -2.27834, 0), "test": (1000, None, 1000)}
LIMIT = 2000  # characters that a view may have


def cells(html: str) -> list[list[str]]:
    """The rows of the table, the head first."""
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def test_a_model_in_one_line() -> None:
    text = model_text("asia", COUNTS)
    assert text == "Model('asia', 8 columns, 1,145 nodes, 1,144 edges, 1 layer)"


def test_a_model_as_html_lists_its_first_columns_and_where_it_came_from() -> None:
    columns = [(f"column {i}", "binary") for i in range(11)]
    provenance = {"versions": "spnc 0.1.0", "data": "abc", "recipe": "model: asia\nseed: 0\n"}
    html = model_html("asia", COUNTS, columns, provenance)
    assert "<b>Model asia</b>: 8 columns, 1,145 nodes" in html
    assert "versions: spnc 0.1.0; data: abc<" in html
    rows = cells(html)
    assert rows[:2] == [["column", "type"], ["column 0", "binary"]]
    assert rows[-1] == ["… 3 more", ""]
    assert len(rows) == 10


def test_a_training_in_one_line() -> None:
    text = trained_text("asia", {"train": -2.27834, "test": None}, 21.7, 6)
    assert text == "Trained('asia', train -2.2783, test –, best of 6 tries, 21.7 s)"
    assert trained_text("asia", {}, 1.0) == "Trained('asia', 1.0 s)"


def test_a_training_as_html_has_a_row_per_split() -> None:
    html = trained_html("asia", COUNTS, SPLITS, 0.5, ended="em stopped after 3 iterations")
    assert "1,144 edges, 1 layer; 0.5 s; em stopped after 3 iterations<" in html
    assert cells(html) == [
        ["split", "rows", "average log-likelihood", "impossible rows"],
        ["train", "3,000", "-2.2783", "0"],
        ["test", "1,000", "–", "1,000"],
    ]


EVIL = [
    '"' * 9999,
    "<script>alert(1)</script>" * 99,
    "\u202e" * 9999,
    "e\u0301" * 9999,
    "雪" * 9999,
]


@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
def test_names_are_escaped_and_views_stay_short(name: str) -> None:
    columns, evil = [(name, name)] * 99, {name: "text", "plain": name}
    splits = {f"{i}{name}": (10**12, -1e300, 10**12) for i in range(9)}
    views = [
        model_html(name, COUNTS, columns, evil),
        trained_html(name, COUNTS, splits, 1e9, 10**9, ended=name),
    ]
    for view in views:
        assert len(view) <= LIMIT
        assert "<script" not in view
        assert "\u202e" not in view
        assert set(re.findall(r"</?(\w+)", view)) <= {
            "div", "b", "table", "thead", "tbody", "tr", "th", "td",
        }  # fmt: skip
    for text in (model_text(name, COUNTS), trained_text(name, {"train": -1.0}, 1.0)):
        assert width(text) < 160
        assert len(text) < 300


def test_a_name_that_just_fits_is_not_cut() -> None:
    assert "<b>Model " + "n" * 80 + "</b>" in model_html("n" * 80, COUNTS, [], {})
    assert "<b>Model " + "n" * 79 + "…</b>" in model_html("n" * 81, COUNTS, [], {})


@given(st.text(), st.text(), st.text())
def test_any_text_gives_a_well_formed_line(head: str, text: str, aside: str) -> None:
    html = line(head, text, aside)
    ET.fromstring(html)
    assert len(html) < LIMIT


def test_a_line_has_its_parts_in_order() -> None:
    texts = ET.fromstring(line("head", "a < b & c", "place", "advice")).itertext()
    found = [text.strip() for text in texts if text.strip()]
    assert found == ["head", "a < b & c", "place", "advice"]


def test_a_digest_is_shown_by_its_first_digits() -> None:
    html = model_html("m", COUNTS, [], {"data": "0123456789ab" + "c" * 52, "versions": "spnc 1"})
    assert "data: 0123456789ab…; versions: spnc 1" in html
