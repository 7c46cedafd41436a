"""HTML for notebooks: escaped, well-formed and short."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from spnc.common.notebook import ROW_LIMIT, TEXT_LIMIT, escaped, facts_table, line


def words(html: str) -> list[str]:
    """The texts in a well-formed piece of HTML."""
    return [text.strip() for text in ET.fromstring(html).itertext() if text.strip()]


@given(st.text(), st.text(), st.text())
def test_any_text_gives_well_formed_html(a: str, b: str, c: str) -> None:
    ET.fromstring(line(a, b, c))
    ET.fromstring(facts_table(a, {b: c}))


def test_a_line_has_its_parts_in_order() -> None:
    assert words(line("head", "a < b & c", "place", "advice")) == [
        *("head", "a < b & c", "place", "advice")
    ]


def test_markup_and_hidden_characters_are_shown_and_do_nothing() -> None:
    assert escaped("<script>\u202e") == "&lt;script&gt;&lt;U+202E&gt;"
    assert escaped('"quoted"') == "&quot;quoted&quot;"


def test_a_table_has_a_caption_and_formats_its_values() -> None:
    facts = {"edges": 12345, "valid": None, "smooth": True, "name": "a<b"}
    assert words(facts_table("a model", facts)) == [
        *("a model", "edges", "12,345", "valid", "–", "smooth", "True", "name", "a<b")
    ]


def test_long_texts_and_long_tables_are_cut() -> None:
    [_, text] = words(line("head", "x" * 30_000))
    assert len(text) == TEXT_LIMIT
    assert text.endswith("…")
    html = facts_table("many", {f"fact {i}": "y" * 30_000 for i in range(3 * ROW_LIMIT)})
    assert len(html) < 12_000
    assert words(html)[-2:] == ["…", f"{2 * ROW_LIMIT} more"]
