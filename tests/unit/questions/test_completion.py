"""Completion: keywords, columns and labels where they can stand, in quotes if they have to be."""

from __future__ import annotations

import pytest

from spnc.data.columns import Column
from spnc.diagnostics import Sink, Source
from spnc.questions.completion import completions
from spnc.questions.parser import parse

COLUMNS = (
    Column("sex", "binary", 2, ("female", "male")),
    Column("body mass", "real", 0),
    Column("region", "categorical", 3, ("north", "north west", "it's")),
    Column("ringed", "binary", 2, (False, True)),
)
NAMES = ["sex", '"body mass"', "region", "ringed"]


@pytest.mark.parametrize(
    ("text", "start", "words"),
    [
        ("P", 0, ["P("]),
        ("mo", 0, ["most likely "]),
        ("de", 0, ["density of "]),
        ("E[", 2, NAMES),
        ("E[re", 2, ["region"]),
        ("E[bo", 2, ['"body mass"']),
        ('E["bo', 2, ['"body mass"']),
        ("E[`bo", 2, ["`body mass`"]),
        ("E[sex b", 6, ["by"]),
        ("E[sex by re", 9, ["region"]),
        ("P(", 2, ["not", *NAMES]),
        ("P(sex = ", 8, ["female", "male"]),
        ("P(sex = f", 8, ["female"]),
        ("P(sex != 'f", 9, ["'female'"]),
        ("P(sex = male a", 13, ["and"]),
        ("P(region in {n", 13, ["north", '"north west"']),
        ("P(region not in {north, ", 24, ["north", '"north west"', '"it\'s"']),
        ("P(region = 'it", 11, ["'it''s'"]),
        ("P('region' = no", 13, ["north", '"north west"']),
        ("P(ringed = t", 11, ["true"]),
        ('P("body mass" > ', 16, []),
        ("P(unknown = ", 12, []),
        ("most l", 5, ["likely"]),
        ("sample 3 o", 9, ["of"]),
        ("MI[sex; re", 8, ["region"]),
        ("H[sex]; H[re", 10, ["region"]),
        ("P(sex = male | re", 15, ["region"]),
        ("P)) s", 4, []),
    ],
)
def test_what_may_come_next(text: str, start: int, words: list[str]) -> None:
    assert completions(text, COLUMNS) == (start, words)


def test_every_question_begins_with_what_is_offered_at_the_start() -> None:
    _, words = completions("", COLUMNS)
    assert len(words) == 11
    rests = {"P(": "a = 1)", "MI[": "a; b]", "quantile[": "a, 0.5]", "sample ": "3"}
    texts = [word + rests.get(word, "a]" if word.endswith("[") else "a") for word in words]
    sink = Sink()
    found = parse(Source("question", "\n".join(texts)), sink)
    assert not sink.diagnostics
    assert len({phrase.function for phrase in found}) == 11
