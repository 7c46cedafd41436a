"""Questions as text and as syntax: what is written can be read, and what is read can be written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.diagnostics import Sink, Source
from spnc.questions.parser import parse
from spnc.questions.syntax import (
    Alone,
    And,
    Comparison,
    Event,
    Everything,
    Membership,
    Negation,
    Or,
    Phrase,
    Range,
    Word,
)
from spnc.questions.writing import written

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")


def read(text: str) -> list[Phrase]:
    sink = Sink()
    found = parse(Source("question", text), sink)
    sink.stop()
    return found


def one(text: str) -> Phrase:
    [found] = read(text)
    return found


# ---- round trips ---------------------------------------------------------------------------

bare = st.sampled_from(["age", "body_mass", "P", "E", "sample", "5th", "0-5", "é", "天", "x.y"])
words = st.one_of(
    bare.map(lambda text: Word(text, "word")),
    st.text(st.characters(codec="utf-8")).map(lambda text: Word(text, "quoted")),
    st.sampled_from(["0", "-1.5", "+2e-3", "5.", ".5"]).map(lambda text: Word(text, "number")),
    st.sampled_from(["2024-01", "2024-01-31", "2024-01-31 12:00"]).map(lambda t: Word(t, "date")),
)
ends = st.tuples(words | st.none(), words | st.none())
ranges = ends.map(lambda ends: Range(*ends))
comparisons = st.integers(1, 2).flatmap(
    lambda n: st.builds(
        Comparison,
        st.tuples(*[words] * (n + 1)),
        st.tuples(*[st.sampled_from(OPERATORS)] * n),
    )
)
memberships = st.builds(
    Membership, words, st.lists(words | ranges, max_size=3).map(tuple), st.booleans()
)


def negated(event: Event) -> Event:
    return event.part if isinstance(event, Negation) else Negation(event)


def joined(kind: type[And] | type[Or]) -> st.SearchStrategy[Event]:
    return st.lists(events, min_size=2, max_size=3).map(lambda parts: kind(tuple(parts)))


events: st.SearchStrategy[Event] = st.deferred(
    lambda: comparisons | memberships | events.map(negated) | joined(And) | joined(Or)
)
names = st.lists(words, min_size=1, max_size=3).map(tuple)
everything = st.lists(words, max_size=2).map(lambda some: Everything(tuple(some)))
given_items = st.lists(events | everything, max_size=3).map(tuple)
by = st.lists(words, max_size=2).map(tuple)
number = st.just(Word("0.25", "number"))
phrases = st.one_of(
    st.builds(Phrase, st.just("P"), event=events, by=by, given=given_items),
    st.builds(
        Phrase,
        st.sampled_from(["E", "SD", "Var", "median", "density"]),
        st.tuples(words),
        by=by,
        given=given_items,
    ),
    st.builds(
        Phrase, st.just("quantile"), st.tuples(words), number=number, by=by, given=given_items
    ),
    st.builds(Phrase, st.just("most likely"), names | st.none(), given=given_items),
    st.builds(Phrase, st.just("sample"), names | st.none(), number=number, given=given_items),
    st.builds(Phrase, st.just("H"), names, given=given_items),
    st.builds(Phrase, st.just("MI"), names, second=names, given=given_items),
)


@given(phrases)
def test_what_is_written_is_read_back(phrase: Phrase) -> None:
    assert one(written(phrase)) == phrase


SEPARATORS = ("\n", ";", "\n# a; b)\n\n", " ;\n")


@given(st.lists(phrases, min_size=1, max_size=4), st.sampled_from(SEPARATORS))
def test_questions_are_separated_by_lines_and_semicolons(several, separator) -> None:
    assert read(separator.join(map(written, several))) == several


@given(st.text(st.characters(codec="utf-8")), st.sampled_from("\"'`"))
def test_any_text_of_one_line_can_stand_in_any_quotes(text: str, quote: str) -> None:
    text = text.replace("\n", " ")
    found = one(f"E[{quote}{text.replace(quote, 2 * quote)}{quote}]").columns
    assert found == (Word(text, "quoted"),)


@given(st.text(st.sampled_from("P(E[H|])};{\"'`#,=<>.*\n 1ax-"), max_size=40))
def test_any_text_is_read_or_reported(text: str) -> None:
    sink = Sink()
    found = parse(Source("question", text), sink)
    assert found or sink.failed
    assert {d.code for d in sink.diagnostics} <= {"E801", "E802"}


# ---- what the forms mean -------------------------------------------------------------------


def word(text: str) -> Word:
    return Word(text, "word")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("P(a = 1, b = 2)", "P(a = 1 and b = 2)"),
        ("P(a = 1, b = 2 or c = 3)", "P(a = 1 and (b = 2 or c = 3))"),
        ("P(a = 1 and b = 2 or c = 3)", "P((a = 1 and b = 2) or c = 3)"),
        ("P(not a = 1 or b = 2)", "P((not a = 1) or b = 2)"),
        ("P(not not a = 1)", "P(a = 1)"),
        ("P(a ≤ 1 or a ≥ 3 or a <> 2)", "P(a <= 1 or a >= 3 or a != 2)"),
        ("P(a == 1)", "P(a = 1)"),
        ("most likely | a = 1", "most likely * | a = 1"),
        ("sample 3", "sample 3 of *"),
        ("P(a in {1..2})", "P(a in 1..2)"),
    ],
)
def test_two_ways_to_write_the_same(text: str, same: str) -> None:
    assert one(text) == one(same)


def test_the_ends_of_a_range_may_be_open() -> None:
    [low, high, both] = [one(f"P(a in {text})").event for text in ("30..", "..40", "30..40")]
    thirty, forty = Word("30", "number"), Word("40", "number")
    assert isinstance(low, Membership)
    assert low.values == (Range(thirty, None),)
    assert isinstance(high, Membership)
    assert high.values == (Range(None, forty),)
    assert isinstance(both, Membership)
    assert both.values == (Range(thirty, forty),)


def test_names_after_except_are_excepted_until_an_event_comes() -> None:
    found = one("P(a = 1 | * except b, c, d > 2, e = 3)").given
    assert found[0] == Everything((word("b"), word("c")))
    assert len(found) == 3


def test_columns_alone_are_kept_for_entropies() -> None:
    assert one("H[a | b, c = 1]").given[0] == Alone(word("b"))


def test_keywords_can_be_names_where_nothing_else_fits() -> None:
    found = one("P(in = by, or = E by P | H in {most, likely})")
    assert found.by == (word("P"),)


def test_words_that_begin_like_keywords_are_names() -> None:
    assert one("P(note = 1, order = 2, inn = 3)") == one("P(note = 1 and order = 2 and inn = 3)")


def test_places_are_those_of_the_whole_text() -> None:
    second = read("H[a]; # comment\n  P(b = 1,\n    c = 2)")[1]
    assert isinstance(second.event, And)
    last = second.event.parts[1]
    assert isinstance(last, Comparison)
    assert str(last.words[0].span) == "question:3:5"
    assert str(second.span) == "question:2:3"


def test_a_bracket_left_open_does_not_hide_the_next_questions() -> None:
    sink = Sink()
    found = parse(Source("question", "P(a = 1\nE[b\nH[c]\nP(d = 1 |\n  e = 2)"), sink)
    assert [phrase.function for phrase in found] == ["H", "P"]
    assert [d.message for d in sink.diagnostics] == ["`(` is not closed", "`[` is not closed"]
