"""Writing the syntax of a question as text that parses to the same syntax."""

from __future__ import annotations

from collections.abc import Iterable

from spnc.language.grammar import quoted_on_one_line
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
    Test,
    Word,
)


def written(phrase: Phrase) -> str:
    """Return a question as text."""
    by = f" by {_listed(phrase.by)}" if phrase.by else ""
    given = f" | {', '.join(map(_item, phrase.given))}" if phrase.given else ""
    columns = None if phrase.columns is None else _listed(phrase.columns)
    tail = f"{by}{given}"
    match phrase.function:
        case "P":
            assert phrase.event is not None
            return f"P({event_text(phrase.event)}{tail})"
        case "quantile":
            assert phrase.number is not None
            return f"quantile[{columns}, {word_text(phrase.number)}{tail}]"
        case "most likely":
            return f"most likely {columns or '*'}{tail}"
        case "sample":
            assert phrase.number is not None
            return f"sample {word_text(phrase.number)} of {columns or '*'}{tail}"
        case "density":
            return f"density of {columns}{tail}"
        case "MI":
            return f"MI[{columns}; {_listed(phrase.second)}{tail}]"
    return f"{phrase.function}[{columns}{tail}]"


def word_text(word: Word) -> str:
    """Return a word as it is written, in quotes if it was."""
    return quoted_on_one_line(word.text) if word.kind == "quoted" else word.text


def event_text(event: Event) -> str:
    """Return an event as text; what binds less than its surroundings is in brackets."""
    match event:
        case Comparison(words, operators):
            pairs = zip(operators, words[1:], strict=True)
            rest = "".join(f" {o} {word_text(w)}" for o, w in pairs)
            return word_text(words[0]) + rest
        case Membership(column, values, negated):
            inside = ", ".join(map(_value, values))
            one_range = len(values) == 1 and isinstance(values[0], Range)
            what = inside if one_range else f"{{{inside}}}"
            return f"{word_text(column)} {'not in' if negated else 'in'} {what}"
        case Test(column, word, negated):
            return f"{word_text(column)} is {'not ' if negated else ''}{word_text(word)}"
        case Alone(word):
            return word_text(word)
        case Negation(part):
            return f"not {_bracketed(part)}"
        case And(parts):
            return " and ".join(map(_bracketed, parts))
        case Or(parts):
            return " or ".join(map(_bracketed, parts))


def _bracketed(event: Event) -> str:
    return f"({event_text(event)})" if isinstance(event, And | Or) else event_text(event)


def _item(item: Event | Everything) -> str:
    if not isinstance(item, Everything):
        return event_text(item)
    return f"* except {_listed(item.excepted)}" if item.excepted else "*"


def _value(value: Word | Range) -> str:
    if isinstance(value, Word):
        return word_text(value)
    low, high = ("" if word is None else word_text(word) for word in (value.low, value.high))
    return f"{low} ..{high}" if low.endswith(".") else f"{low}..{high}"


def _listed(words: Iterable[Word]) -> str:
    return ", ".join(map(word_text, words))
