"""Whatever a text of questions holds, it is bound or reported: never a traceback."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spnc
from spnc.data.columns import Column
from spnc.diagnostics import Sink, Source, render
from spnc.questions.binder import read_questions
from spnc.questions.completion import completions
from tests.places import ROOT

GOLDEN = ROOT / "tests/golden"
LINES = [
    line
    for folder in ("good/questions", "bad/questions")
    for file in sorted((GOLDEN / folder).glob("*.txt"))
    if "too-many" not in file.name  # each takes a second
    for line in file.read_text(encoding="utf-8").splitlines()
]
# What letters alone seldom hit upon: signs, quotes, absurd numbers, dates and words.
SCRAPS = [
    *"()[]{}|;,.=<>!*#\"'`e\\ \t\r\n\0é天\u2028\ufeff≤",
    *("..", "1e999", "-1e999", "9" * 400, "nan", "inf", "0000-00", "9999-12-31 23:59:59.999999"),
    *("0000", "2024-02-30", "* except", " by ", " not in ", " is missing", 'e"\\ud800"', "MI["),
    *("species", "seen_on", "two", "Adelie", "true", "not not not", "(" * 150, "))))"),
]


@pytest.fixture(scope="module")
def columns() -> tuple[Column, ...]:
    return spnc.compile(GOLDEN / "good/circuits/mixed.spn").columns


@st.composite
def mutations(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(LINES))
    for _ in range(draw(st.integers(1, 4))):
        at, stop = (draw(st.integers(0, len(text))) for _ in range(2))
        scrap = draw(st.sampled_from(SCRAPS))
        kind = draw(st.sampled_from(["insert", "replace", "delete", "join"]))
        if kind == "insert":
            text = text[:at] + scrap + text[at:]
        elif kind == "replace":
            text = text[:at] + scrap + text[at + 3 :]
        elif kind == "delete":
            text = text[: min(at, stop)] + text[max(at, stop) :]
        else:
            text = f"{text}\n{draw(st.sampled_from(LINES))}"
    return text


@settings(max_examples=300)
@given(text=mutations(), with_rows=st.booleans())
def test_a_mutated_text_is_bound_or_reported(columns, text: str, with_rows: bool) -> None:
    sink = Sink()
    found = read_questions(Source("question", text), columns, sink, with_rows=with_rows)
    assert found or sink.failed
    assert {d.code[:2] for d in sink.diagnostics} <= {"E8"}
    render(sink.diagnostics).encode("utf-8", errors="strict")


@given(text=mutations())
def test_a_mutated_text_has_completions_or_none(columns, text: str) -> None:
    start, words = completions(text, columns)
    assert 0 <= start <= len(text)
    assert all(words)
