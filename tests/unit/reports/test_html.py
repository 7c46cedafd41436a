"""The building blocks of pages: text and data as HTML, ticks, numbers."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.common.wording import visible
from spnc.reports.page.charts import columns_chart, decimals, ticks
from spnc.reports.page.html import brief, chance, data, el, exp, label, number, shortened
from spnc.reports.page.matrix import matrix
from tests.pages import read_page


@given(st.text(), st.text())
def test_text_and_attributes_come_back_as_they_went_in(text: str, other: str) -> None:
    page = read_page("<!DOCTYPE html>" + el("p", text, title=other))
    (p,) = page.all("p")
    assert p.words() == visible(text, keep="\n\t")
    assert p.attributes["title"] == visible(other, keep="\n\t")


def test_what_turns_the_direction_of_writing_is_seen_and_does_not_act() -> None:
    name = "weird\u202ename"
    assert el("p", name, title=name) == (
        '<p title="weird&lt;U+202E&gt;name">weird&lt;U+202E&gt;name</p>'
    )
    assert "weird\\u003cU+202E\\u003ename" in data("some", {"names": [name]})


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists, max_leaves=8))
def test_data_comes_back_as_it_went_in(content: object) -> None:
    (script,) = read_page("<!DOCTYPE html>" + data("some", content)).all("script")
    assert json.loads(script.text) == told(content)
    assert "<" not in script.text


def told(content: object) -> object:
    if isinstance(content, list):
        return [told(value) for value in content]
    return visible(content) if isinstance(content, str) else content


@pytest.mark.parametrize("text", ["</script>", "<!-- <script>", "<", "&lt;"])
def test_data_has_no_sign_that_html_knows(text: str) -> None:
    assert not set("<>&") & set(data("some", [text]).split(">", 1)[1].rsplit("<", 1)[0])


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_round_numbers_inside(low: float, span: float) -> None:
    found = ticks(low, low + span)
    assert 1 <= len(found) <= 12
    slack = 1e-6 * span + 1e-9 * abs(low)
    assert all(low - slack <= tick <= low + span + slack for tick in found)
    assert 0 <= decimals(found) <= 12


def test_numbers_read_as_people_write_them() -> None:
    assert number(-1234.5) == "−1,234.50"
    assert number(-0.001) == "0.00"
    assert number(float("nan")) == "–"
    assert number(float("-inf")) == "−∞"
    assert brief(0.000012345) == "1.23e−05"
    assert brief(123456.0) == "123,456"
    assert chance(np.log(0.5)) == "50\u202f%"
    assert chance(np.log(0.001)) == "1 in 1,000"
    assert chance(float("-inf")) == "impossible"


def test_a_chance_that_is_very_small_is_told_as_a_power_of_ten() -> None:
    assert chance(-math.log(98_765_432_109_876)) == "1 in 98,765,432,109,876"
    assert chance(-40) == "less than 1 in 10¹⁷"
    assert chance(-100) == "less than 1 in 10⁴³"
    assert chance(-1e6) == "less than 1 in 10⁴³⁴²⁹⁴"


def test_a_power_that_is_too_large_is_infinity() -> None:
    assert exp(-1e9) == 0.0
    assert exp(1.0) == math.e
    assert brief(exp(1e7)) == "∞"


# ---- room for words ------------------------------------------------------------------------------

LETTER = 8.0  # units that a letter takes on a small screen


@pytest.mark.parametrize(
    "labels", [["1", "2", "3–4"], [f"{2**k + 1}–{2 ** (k + 1)}" for k in range(14)]]
)
def test_labels_of_bars_do_not_run_into_one_another(labels: list[str]) -> None:
    chart = read_page(
        "<!DOCTYPE html>"
        + columns_chart("some", labels, [("f1", "all", [1.0] * len(labels))], "below", "nodes")
    )
    texts = [t for t in chart.all("text") if t.words() in labels]
    assert len(texts) >= 2
    for left, right in pairwise(texts):
        apart = float(right.attributes["x"] or 0) - float(left.attributes["x"] or 0)
        assert apart > LETTER * (len(left.words()) + len(right.words())) / 2


def test_wide_letters_have_room_beside_a_matrix() -> None:
    def left(names: list[str]) -> float:
        made = matrix("some", np.eye(2), names, 1.0, sides=("a", "b"))
        (cells,) = [g for g in read_page("<!DOCTYPE html>" + made).all("g") if g.has("cells")]
        return float((cells.attributes["transform"] or "")[10:].split()[0])

    assert left(["漢字漢字", "b"]) == left(["abcdefgh", "b"]) > left(["abcd", "b"])
    assert left(["🦊" * 30, "b"]) <= left(["a" * 30, "b"])


def test_a_label_may_wrap_after_punctuation_and_keeps_its_name() -> None:
    assert label("max_iterations of x/y") == (
        '<span class="name">max_<wbr>iterations of x/<wbr>y</span>'
    )
    assert label("") == '<span class="name"></span>'
    assert label("_") == '<span class="name">_</span>'
    joined = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}" * 3
    assert label(joined) == f'<span class="name">{joined}</span>'
    assert label("<b>", 2) == '<span class="name" title="&lt;b&gt;">…&gt;</span>'


def test_a_shortened_name_is_no_wider_than_there_is_room_for() -> None:
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghijk", 10) == "abcd…ghijk"
    assert shortened("雪" * 20, 10) == "雪雪…雪雪"
