"""What pages are put together from: text and data as HTML, ticks, numbers."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.report.page.charts import decimals, ticks
from spnc.report.page.html import brief, chance, data, el, number
from tests.pages import read_page


@given(st.text(), st.text())
def test_text_and_attributes_come_back_as_they_went_in(text: str, other: str) -> None:
    # The parser, as every HTML parser, takes a few control characters for others.
    text, other = (re.sub(r"[\x00\r]", "", t) for t in (text, other))
    page = read_page("<!DOCTYPE html>" + el("p", text, title=other))
    (p,) = page.all("p")
    assert p.words() == text
    assert p.attributes["title"] == other


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists, max_leaves=8))
def test_data_comes_back_as_it_went_in(content: object) -> None:
    (script,) = read_page("<!DOCTYPE html>" + data("some", content)).all("script")
    assert json.loads(script.text) == content
    assert "<" not in script.text


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
