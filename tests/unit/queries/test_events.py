"""Events against enumeration: their boxes are disjoint, and together they are the event."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from spnc.data.columns import Column
from spnc.queries.events import All, Any, Event, Not, Within, boxes_of, columns_of
from spnc.queries.value_sets import ValueSet

COLUMNS = (
    Column("a", "categorical", 4),
    Column("b", "binary", 2),
    Column("n", "count", 0),
    Column("x", "real", 0),
)
# Numbers between the ends of all intervals, so that no end is one of them.
CASES = list(itertools.product(range(4), range(2), range(6), (-0.25, 0.75, 1.75, 2.75)))

ends = st.integers(-1, 5).map(float) | st.just(math.inf) | st.just(-math.inf)


@st.composite
def value_sets(draw: st.DrawFn, column: Column) -> ValueSet:
    spans = draw(st.lists(st.tuples(ends, ends).map(lambda ab: (min(ab), max(ab))), max_size=3))
    return ValueSet.of(column, spans)


def two_sets(column: int) -> st.SearchStrategy[tuple[int, ValueSet, ValueSet]]:
    sets = value_sets(COLUMNS[column])
    return st.tuples(st.just(column), sets, sets)


def within() -> st.SearchStrategy[Event]:
    return st.integers(0, 3).flatmap(lambda c: value_sets(COLUMNS[c]).map(lambda v: Within(c, v)))


def events() -> st.SearchStrategy[Event]:
    return st.recursive(
        within(),
        lambda inner: (
            inner.map(Not)
            | st.lists(inner, max_size=3).map(lambda parts: All(tuple(parts)))
            | st.lists(inner, max_size=3).map(lambda parts: Any(tuple(parts)))
        ),
        max_leaves=6,
    )


def holds(event: Event, row: tuple[float, ...]) -> bool:
    match event:
        case Within(column, values):
            return row[column] in values
        case Not(part):
            return not holds(part, row)
        case All(parts):
            return all(holds(part, row) for part in parts)
        case Any(parts):
            return any(holds(part, row) for part in parts)


@given(events())
def test_every_row_of_an_event_is_in_exactly_one_of_its_boxes(event: Event) -> None:
    boxes = boxes_of(event, COLUMNS)
    for row in CASES:
        count = sum(all(row[c] in values for c, values in box.items()) for box in boxes)
        assert count == holds(event, row)
    assert {c for box in boxes for c in box} <= columns_of(event)
    assert not any(values.is_empty for box in boxes for values in box.values())


@given(st.integers(0, 3).flatmap(two_sets))
def test_sets_of_values_are_an_algebra(drawn: tuple[int, ValueSet, ValueSet]) -> None:
    column, a, b = drawn
    every = ValueSet.everything(COLUMNS[column])
    assert a & b == b & a
    assert a | b == b | a
    assert a.without(b) == a & every.without(b)
    assert every.without(every.without(a)) == a
    assert (a & b) | a.without(b) == a


def test_statements_about_one_column_are_one_box() -> None:
    event = Any(tuple(Within(0, ValueSet.codes(COLUMNS[0], [code])) for code in (0, 2, 3)))
    assert boxes_of(event, COLUMNS) == [{0: ValueSet.codes(COLUMNS[0], [0, 2, 3])}]
    always = Any((event, Within(0, ValueSet.codes(COLUMNS[0], [1]))))
    assert boxes_of(always, COLUMNS) == [{}]
