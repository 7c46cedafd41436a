"""Types of columns as plain values: they survive JSON, and wrong ones are refused in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spnc.data.column_types import column_of, plain_of_text, plain_type, short_type
from spnc.data.columns import Column, Scale


@pytest.mark.parametrize(
    "column",
    [
        Column("x"),
        Column("x", "categorical", 3),
        Column("x", "categorical", 3, ("a", 2, 2.5)),
        Column("x", "categorical", 2, ("few", "many"), None, "pieces"),
        Column("x", "binary", 2, (False, True)),
        Column("x", "count", 0),
        Column("x", "real", 0, None, Scale(0.1, -1.0, 2.0, 0.5, 0.7), "mm"),
        Column("x", "date", 0, None, Scale(), "days"),
    ],
    ids=str,
)
def test_a_column_survives_json(column: Column) -> None:
    again, problems = column_of("x", json.loads(json.dumps(plain_type(column))))
    assert problems == []
    assert again == column
    assert [type(v) for v in again.labels or ()] == [type(v) for v in column.labels or ()]
    short = short_type(column)
    plain = plain_of_text(short) if isinstance(short, str) else short
    assert column_of("x", plain) == (column, [])


@pytest.mark.parametrize(
    ("plain", "problem"),
    [
        ({}, "the kind is missing"),
        ({"kind": "colour"}, "not a kind of column"),
        ({"kind": ["real"]}, "not a kind of column"),
        ({"kind": "categorical"}, "the number of states or the labels are missing"),
        ({"kind": "categorical", "states": 1}, "1 is not a number of states"),
        ({"kind": "categorical", "states": True}, "true is not a number of states"),
        ({"kind": "categorical", "states": 10**12}, "states are more than 65,536"),
        ({"kind": "categorical", "labels": "ab"}, "the labels are not a list"),
        ({"kind": "binary", "states": 3}, "a binary column has 2 states, not 3"),
        ({"kind": "binary", "labels": ["a"]}, "1 label for 2 states"),
        ({"kind": "binary", "labels": ["a", "a"]}, 'the label "a" is given twice'),
        ({"kind": "binary", "labels": [1, True]}, "is given twice"),
        ({"kind": "binary", "labels": ["a", None]}, "null is not a label"),
        ({"kind": "binary", "labels": ["a", float("nan")]}, "NaN is not a label"),
        ({"kind": "binary", "scale": {}}, "`scale` does not belong to a binary column"),
        ({"kind": "real", "states": 3}, "`states` does not belong to a real column"),
        ({"kind": "real", "labels": ["a", "b"]}, "a real column has no labels"),
        ({"kind": "real", "scale": {"resolution": "fine"}}, "is not a finite number"),
        ({"kind": "real", "scale": {"resolution": 10**400}}, "is not a finite number"),
        ({"kind": "real", "scale": {"resolution": 0}}, "resolution = 0 is not above 0"),
        ({"kind": "real", "scale": {"low": 2, "high": 1}}, "low = 2 is above high = 1"),
        ({"kind": "real", "scale": {"width": 1.0}}, "`width` is not part of a scale"),
        ({"kind": "real", "unit": 3}, "the unit 3 is not a text"),
        ({"kind": "date", "unit": "weeks"}, "not counted in `weeks`, but in days, seconds"),
    ],
)
def test_a_type_that_is_wrong_is_refused_in_words(plain: dict[str, Any], problem: str) -> None:
    column, problems = column_of("x", plain)
    assert column is None
    assert problem in "; ".join(problems)


def test_all_problems_are_found_at_once() -> None:
    plain = {"kind": "real", "states": 3, "scale": {"sd": 0, "wide": 1}, "unit": 1}
    assert len(column_of("x", plain)[1]) == 4


def test_half_characters_are_refused_in_names_labels_and_units() -> None:
    labels = {"kind": "categorical", "labels": ["a", "b\udfff"]}
    assert column_of("x\ud800", labels) == (
        None,
        [
            "the name holds U+D800, which is half of a character",
            "a label holds U+DFFF, which is half of a character",
        ],
    )
    _, problems = column_of("x", {"kind": "real", "unit": "\ud83d"})
    assert problems == ["the unit holds U+D83D, which is half of a character"]
    assert column_of("\U0001f600", {"kind": "real"})[0] is not None
