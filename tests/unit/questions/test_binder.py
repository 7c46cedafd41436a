"""Names, labels, numbers and dates of questions, bound to columns and sets of values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.columns import Column, Scale
from spnc.diagnostics import InputError, Sink, Source
from spnc.queries.events import All, Within
from spnc.queries.value_sets import ValueSet
from spnc.questions.binder import read_questions
from spnc.questions.question import (
    Entropy,
    Evidence,
    Information,
    MostLikely,
    Probability,
    Question,
    Sample,
    Statistic,
)
from spnc.questions.words import word_for

COLUMNS = (
    Column("region", "categorical", 3, ("north", "south", "west")),
    Column("grade", "categorical", 4, (1, 2.5, 4, 10)),
    Column("smoker", "binary", 2, (False, True)),
    Column("flag", "binary", 2),
    Column("children", "count", 0),
    Column("income", "real", 0, scale=Scale(resolution=100.0)),
    Column("born", "date", 0, scale=Scale(resolution=1.0), unit="days"),
    Column("zip", "categorical", 3, ("00501", "5", "E5")),
)
INF = math.inf


def bound(text: str, columns: tuple[Column, ...] = COLUMNS, *, with_rows: bool = False) -> Question:
    sink = Sink()
    found = read_questions(Source("question", text), columns, sink, with_rows=with_rows)
    sink.stop()
    [question] = found
    return question


def values(event: str) -> tuple[tuple[float, float], ...]:
    """The intervals of the values that an event about one column allows."""
    question = bound(f"P({event})")
    assert isinstance(question, Probability)
    parts = question.event.parts if isinstance(question.event, All) else (question.event,)
    found = None
    for part in parts:
        assert isinstance(part, Within)
        found = part.values if found is None else found & part.values
    assert found is not None
    return found.spans


def codes_of_problems(text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        bound(text)
    return [d.code for d in error.value.diagnostics]


@pytest.mark.parametrize(
    ("event", "spans"),
    [
        ("region = south", ((1, 1),)),
        ("region != south", ((0, 0), (2, 2))),
        ("region in {north, south}", ((0, 1),)),
        ("region not in {north, south}", ((2, 2),)),
        ("south = region", ((1, 1),)),
        ("region in {}", ()),
        ("grade = 2.5", ((1, 1),)),
        ("grade = 4.0", ((2, 2),)),
        ("grade > 2.5", ((2, 3),)),
        ("grade >= 2", ((1, 3),)),
        ("grade in 2..4", ((1, 2),)),
        ("grade in {1, 3..}", ((0, 0), (2, 3))),
        ("smoker = true", ((1, 1),)),
        ("smoker = False", ((0, 0),)),
        ("flag = 1", ((1, 1),)),
        ("flag = true", ((1, 1),)),
        ("flag < 1", ((0, 0),)),
        ("children = 2", ((2, 2),)),
        ("children > 2", ((3, INF),)),
        ("children < 2", ((0, 1),)),
        ("children > 2.5", ((3, INF),)),
        ("children < 2.5", ((0, 2),)),
        ("children > -5", ((0, INF),)),
        ("2 <= children < 5", ((2, 4),)),
        ("children in 2..4", ((2, 4),)),
        ("income = 5000", ((4950, 5050),)),
        ("income != 5000", ((-INF, 4950), (5050, INF))),
        ("income > 5e3", ((5000, INF),)),
        ("income >= 5e3", ((5000, INF),)),
        ("5e3 > income", ((-INF, 5000),)),
        ("income in 1000..2000", ((1000, 2000),)),
        ("income in {1000, 3000..}", ((950, 1050), (3000, INF))),
        ("born = 1970-01-01", ((-0.5, 0.5),)),
        ("born = 1970-02", ((30.5, 58.5),)),
        ("born = 1970", ((-0.5, 364.5),)),
        ("born > 1970-01-31", ((30.5, INF),)),
        ("born >= 1970-01-31", ((29.5, INF),)),
        ("born < 1970-01-31", ((-INF, 29.5),)),
        ("born <= 1970-01", ((-INF, 30.5),)),
        ("born in 1970-01-02..1970-01", ((0.5, 30.5),)),
        ("born = 1970-01-02 18:30", ((0.5, 1.5),)),
        ("born = 1970-01-02T08:30:15", ((0.5, 1.5),)),
        ("zip = 00501", ((0, 0),)),
        ("zip = 5", ((1, 1),)),
        ("zip = E5", ((2, 2),)),
    ],
)
def test_an_event_allows_these_values(event: str, spans: tuple[tuple[float, float], ...]) -> None:
    assert values(event) == spans


@pytest.mark.parametrize(
    ("unit", "resolution", "text", "span"),
    [
        ("years", 1.0, "2024", (2023.5, 2024.5)),
        ("years", 1.0, "2024-05", (2023.5, 2024.5)),
        ("months", 1.0, "1970-03", (1.5, 2.5)),
        ("months", 1.0, "1970", (-0.5, 11.5)),
        ("months", 3.0, "1970-02", (-1.5, 1.5)),
        ("seconds", 60.0, "1970-01-01 00:10", (570.0, 630.0)),
        ("seconds", 1.0, "1970-01-01", (-0.5, 86399.5)),
        ("milliseconds", 1.0, "1970-01-01 00:00:01", (999.5, 1999.5)),
    ],
)
def test_a_date_is_the_stretch_that_is_recorded_as_it(unit, resolution, text, span) -> None:
    column = Column("d", "date", 0, scale=Scale(resolution=resolution), unit=unit)
    question = bound(f"P(d = {text})", (column,))
    assert isinstance(question, Probability)
    assert question.event == Within(0, ValueSet((span,), False))


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_equal_and_unequal_numbers_are_complements(value: float, other: float) -> None:
    inside = ValueSet(values(f"income = {value!r}"), False)
    outside = ValueSet(values(f"income != {value!r}"), False)
    assert (inside | outside).spans == ((-INF, INF),)
    if abs(abs(other - value) - 50.0) > 1e-6:  # not at an end, which is in both
        assert (other in inside) != (other in outside)


texts = st.text(st.characters(codec="utf-8"), min_size=1)


@given(st.lists(texts, min_size=3, max_size=5, unique=True))
def test_columns_and_labels_may_have_any_name(names: list[str]) -> None:
    labels = tuple(names)
    columns = tuple(Column(name, "categorical", len(names), labels) for name in names)
    for i, name in enumerate(names):
        for j, label in enumerate(labels):
            question = bound(f"P({word_for(name)} = {word_for(label)})", columns)
            assert isinstance(question, Probability)
            assert question.event == Within(i, ValueSet.codes(columns[i], [j]))


def test_a_word_that_is_column_and_label_is_what_its_side_says() -> None:
    columns = (Column("a", "categorical", 2, ("a", "b")), Column("b", "categorical", 2, ("a", "b")))
    for text in ("P(a = b)", "P(b = a)"):
        question = bound(text, columns)
        assert isinstance(question, Probability)
        assert question.event == Within(
            "ab".index(text[2]), ValueSet.codes(columns[0], ["ba".index(text[2])])
        )


def test_questions_hold_column_numbers() -> None:
    assert bound("E[income by region, smoker]") == Statistic(
        "E[income by region, smoker]", "E", 5, 0.0, (0, 2), Evidence(All(()))
    )
    found = bound("quantile[income, 0.9]")
    assert isinstance(found, Statistic)
    assert found.share == 0.9
    median = bound("median[income]")
    assert isinstance(median, Statistic)
    assert median.share == 0.5


def test_facts_and_columns_after_the_bar_of_an_entropy() -> None:
    found = bound("H[region, grade | smoker, flag = 1]")
    assert isinstance(found, Entropy)
    assert (found.columns, found.given) == ((0, 1), (2,))
    assert found.evidence.event == Within(3, ValueSet.codes(COLUMNS[3], [1]))
    shared = bound("MI[region; grade, income | smoker]")
    assert isinstance(shared, Information)
    assert (shared.first, shared.second, shared.given) == ((0,), (1, 5), (2,))


def test_all_columns_are_those_that_are_not_given() -> None:
    found = bound("most likely | region = north, income > 5")
    assert isinstance(found, MostLikely)
    assert found.columns == (1, 2, 3, 4, 6, 7)
    drawn = bound("sample 5 | region = north")
    assert isinstance(drawn, Sample)
    assert drawn.columns == tuple(range(8))


def test_the_cells_of_a_row_are_those_not_asked_about() -> None:
    def cells(text: str) -> tuple[int, ...]:
        return bound(text, with_rows=True).evidence.cells

    assert cells("P(region = north | *)") == (1, 2, 3, 4, 5, 6, 7)
    assert cells("E[income | * except income, born]") == (0, 1, 2, 3, 4, 7)
    assert cells("P(region = north | * except zip, flag > 0)") == (1, 2, 3, 4, 5, 6)
    assert cells("most likely | * except zip") == (0, 1, 2, 3, 4, 5, 6)
    assert codes_of_problems("P(region = north | *)") == ["E810"]


def test_every_mistake_of_all_questions_is_reported_at_once() -> None:
    text = "P(regoin = north, grade = x | born = 1970-02-30)\nE[zip by income]; quantile[income, 7]"
    assert codes_of_problems(text) == ["E803", "E804", "E805", "E806", "E809", "E812"]


def test_too_many_groups_are_refused() -> None:
    columns = tuple(Column(name, "categorical", 200) for name in "abc")
    sink = Sink()
    assert read_questions(Source("question", "P(a = 1 by b, c)"), columns, sink) == []
    assert [d.message for d in sink.diagnostics] == [
        "`by` makes 40,000 groups; at most 10,000 are computed"
    ]


def test_a_question_of_several_lines_has_a_text_of_one_line() -> None:
    found = bound("P(region = north,  # where\n  smoker = true)")
    assert found.text == "P(region = north and smoker = true)"
