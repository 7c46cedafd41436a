"""Binding events: names to columns, words to values. Every mistake is reported."""

from __future__ import annotations

from collections.abc import Sequence

from spnc.data.cells import column_text
from spnc.data.columns import Column
from spnc.diagnostics import Sink, did_you_mean
from spnc.queries.events import All, Any, Event, Not, Within
from spnc.queries.value_sets import ValueSet
from spnc.questions import syntax
from spnc.questions.syntax import Word
from spnc.questions.values import ValueReader, code_of, labels_of
from spnc.questions.words import word_for

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


class EventBinder:
    """Binds events over the columns of a model."""

    def __init__(self, columns: Sequence[Column], sink: Sink) -> None:
        self.columns, self.sink = columns, sink
        self.places = {column.name: i for i, column in enumerate(columns)}
        self.values = ValueReader(sink)

    def column(self, word: Word) -> int | None:
        """Return the number of the column that a word names; None after reporting (E803)."""
        found = self.places.get(word.text)
        if found is None:
            message = f"there is no column `{word.text}`"
            self.sink.error("E803", message, word.span, help=did_you_mean(word.text, self.places))
        return found

    def event(self, event: syntax.Event) -> Event | None:
        """Return the bound event; None after reporting every mistake in it."""
        match event:
            case syntax.And(parts) | syntax.Or(parts):
                bound = [self.event(part) for part in parts]
                known = tuple(part for part in bound if part is not None)
                if len(known) < len(bound):
                    return None
                return All(known) if isinstance(event, syntax.And) else Any(known)
            case syntax.Negation(part):
                inner = self.event(part)
                return None if inner is None else Not(inner)
            case syntax.Comparison():
                return self._comparison(event)
            case syntax.Membership(word, values, negated):
                column = self.column(word)
                if column is None:
                    return None
                return _within(column, self.values.any_of(self.columns[column], values, negated))
            case syntax.Test():
                self._refuse_test(event)
                return None
            case syntax.Alone(word):
                self._refuse_alone(word)
                return None

    def _comparison(self, event: syntax.Comparison) -> Event | None:
        """Bind `a < b`, where one of the two is a column, or `a < b < c`, where `b` is."""
        words, operators = event.words, event.operators
        if len(words) == 3:
            place = 1
        else:
            left, right = words
            names = left.text in self.places, right.text in self.places
            place = 1 if names == (False, True) else 0
            if names == (False, False) and left.is_bare_number:
                place = 1
        column = self.column(words[place])
        if column is None:
            return None
        parts = []
        for i, operator in enumerate(operators):
            value = words[i] if i < place else words[i + 1]
            if self._is_other_column(column, value):
                message = f"`{words[place].text}` and `{value.text}` are both columns"
                help = "an event compares a column with a value"
                self.sink.error("E808", message, event.span, help=help)
                return None
            operator = _FLIPPED[operator] if i < place else operator
            found = self.values.compared(self.columns[column], operator, value, event.span)
            parts.append(_within(column, found))
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return known[0] if len(known) == 1 else All(tuple(known))

    def _is_other_column(self, column: int, value: Word) -> bool:
        """Whether a value is not one of the column, but the name of a column."""
        if value.is_bare_number or value.text not in self.places:
            return False
        own = self.columns[column]
        return not (own.is_finite and code_of(own, value) is not None)

    def _refuse_test(self, event: syntax.Test) -> None:
        word = event.word.text.lower()
        if word in ("missing", "known", "null", "none", "na", "nan", "unknown"):
            message = "whether a cell is missing has no probability: models leave it open"
            help = f"leave `{event.column.text}` out of the question: that is what missing means"
            self.sink.error("E807", message, event.span, help=help)
            return
        operator = "!=" if event.negated else "="
        text = f"{word_for(event.column.text)} {operator} {word_for(event.word.text)}"
        message = f"`is` cannot compare with `{event.word.text}`"
        self.sink.error("E807", message, event.span, help=f"write `{text}`")

    def _refuse_alone(self, word: Word) -> None:
        if word.is_bare_number and word.text not in self.places:
            message = f"`{word.text}` is a number, not an event"
            help = "write numbers without `,` between their digits, and an event as `column > 1000`"
            self.sink.error("E808", message, word.span, help=help)
            return
        column = self.column(word)
        if column is None:
            return
        own, name = self.columns[column], word_for(word.text)
        value = word_for(labels_of(own)[-1]) if own.is_finite else "…"
        message = f"`{word.text}` is a column, not an event"
        help = f"compare it with a value: `{name} = {value}`, or ask for `density of {name}`"
        self.sink.error(
            "E808", message, word.span, help=help, notes=[f"its values: {column_text(own)}"]
        )


def _within(column: int, values: ValueSet | None) -> Within | None:
    return None if values is None else Within(column, values)
