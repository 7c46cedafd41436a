"""From the syntax of questions to bound questions; every mistake in all of them is reported."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spnc.common.wording import with_article
from spnc.data.columns import Column
from spnc.diagnostics import Sink, Source
from spnc.queries.events import (
    MOST_BOXES,
    All,
    Event,
    TooManyBoxesError,
    boxes_of,
    columns_of,
)
from spnc.questions import syntax
from spnc.questions.event_binder import EventBinder
from spnc.questions.parser import parse, parse_event
from spnc.questions.question import (
    Density,
    Entropy,
    Evidence,
    Information,
    MostLikely,
    Probability,
    Question,
    Sample,
    Statistic,
    StatisticName,
)
from spnc.questions.syntax import Phrase, Word
from spnc.questions.values import numbers_of
from spnc.questions.words import word_for
from spnc.questions.writing import written

MOST_GROUPS = 10_000  # rows of a table made by `by`; each takes a pass through the circuit
MOST_ROWS = 10_000_000  # of one sample; more do not fit into memory
_SHARES = {"median": 0.5}


def read_questions(
    source: Source, columns: Sequence[Column], sink: Sink, *, with_rows: bool = False
) -> list[Question]:
    """Return the questions of a text; mistakes are reported to the sink, all of them.

    `with_rows`: the questions are asked for rows of a table, so `*` may stand in the evidence.
    """
    binder = Binder(columns, sink, with_rows=with_rows)
    found = [binder.question(phrase) for phrase in parse(source, sink)]
    return [question for question in found if question is not None]


def read_event(source: Source, columns: Sequence[Column], sink: Sink) -> Event | None:
    """Return the event that a text consists of; None after reporting every mistake in it."""
    found = parse_event(source, sink)
    return None if found is None else EventBinder(columns, sink).event(found)


class Binder:
    """Binds questions over the columns of a model."""

    def __init__(self, columns: Sequence[Column], sink: Sink, *, with_rows: bool) -> None:
        self.columns, self.sink, self.with_rows = columns, sink, with_rows
        self.events = EventBinder(columns, sink)

    def question(self, phrase: Phrase) -> Question | None:
        """Return the bound question; None after reporting every mistake in it."""
        before = len(self.sink.diagnostics)
        found = self._question(phrase)
        if len(self.sink.diagnostics) > before:
            return None
        assert found is not None
        self._check_size(phrase, found)
        return None if len(self.sink.diagnostics) > before else found

    def _question(self, phrase: Phrase) -> Question | None:
        text = _text_of(phrase)
        asked = self._some(phrase.columns or ())
        event = None if phrase.event is None else self.events.event(phrase.event)
        second = self._some(phrase.second)
        by = self._groups(phrase.by)
        target = {*asked, *second, *(columns_of(event) if event is not None else ())}
        evidence, given = self._evidence(phrase, target | set(by))
        if phrase.columns is None:
            known = columns_of(evidence.event) | set(evidence.cells)
            everything = range(len(self.columns))
            asked = tuple(i for i in everything if phrase.function == "sample" or i not in known)
            if not asked:
                message, help = "all columns are given: none is left", "name the columns to find"
                self.sink.error("E811", message, phrase.span, help=help)
        match phrase.function:
            case "P":
                return None if event is None else Probability(text, event, by, evidence)
            case "E" | "SD" | "Var" | "median" | "quantile" as name:
                share = self._share(phrase, name)
                self._check_numbers(phrase, name, asked)
                return Statistic(text, name, asked[0], share, by, evidence) if asked else None
            case "density":
                return Density(text, asked[0], by, evidence) if asked else None
            case "most likely":
                return MostLikely(text, asked, evidence)
            case "sample":
                return Sample(text, self._rows(phrase), asked, evidence)
            case "H":
                return Entropy(text, asked, given, evidence)
            case "MI":
                self._check_apart(phrase, asked)
                return Information(text, asked, second, given, evidence)

    # ---- parts of a question -------------------------------------------------------------------

    def _some(self, words: Sequence[Word]) -> tuple[int, ...]:
        """Return the columns that words name, after reporting unknown and repeated ones."""
        found: list[int] = []
        for word in words:
            column = self.events.column(word)
            if column is None:
                continue
            if column in found:
                self.sink.error("E811", f"`{word.text}` is named twice", word.span)
            found.append(column)
        return tuple(found)

    def _groups(self, words: Sequence[Word]) -> tuple[int, ...]:
        found = self._some(words)
        for word in words:
            column = self.events.places.get(word.text)
            if column is not None and not self.columns[column].is_finite:
                name, kind = word_for(word.text), self.columns[column].kind
                message = f"`{word.text}` is {with_article(kind)} column: it has no list of values"
                help = f"ask for one range at a time, with evidence such as `{name} < …`"
                self.sink.error("E809", message, word.span, help=help)
        number = math.prod(self.columns[column].states for column in found)
        if number > MOST_GROUPS and all(self.columns[column].is_finite for column in found):
            message = f"`by` makes {number:,} groups; at most {MOST_GROUPS:,} are computed"
            self.sink.error("E809", message, words[0].span, help="ask by fewer columns")
        return found

    def _evidence(self, phrase: Phrase, target: set[int]) -> tuple[Evidence, tuple[int, ...]]:
        """Return what is known, and the columns that are given without a value (for H and MI)."""
        events: list[Event] = []
        alone: list[Word] = []
        cells: set[int] = set()
        for item in phrase.given:
            if isinstance(item, syntax.Everything):
                cells |= self._cells(item, target)
            elif isinstance(item, syntax.Alone) and phrase.function in ("H", "MI"):
                alone.append(item.word)
            else:
                event = self.events.event(item)
                events += [event] if event is not None else []
        given = self._some(alone)
        for word in alone:
            if self.events.places.get(word.text) in target:
                message = f"`{word.text}` is both asked about and given"
                self.sink.error("E811", message, word.span)
        event = events[0] if len(events) == 1 else All(tuple(events))
        return Evidence(event, tuple(sorted(cells - set(given)))), given

    def _cells(self, item: syntax.Everything, target: set[int]) -> set[int]:
        """Return the columns that `*` stands for: all that are not asked about or excepted."""
        excepted = self._some(item.excepted)
        if not self.with_rows:
            message = "`*` stands for the other cells of a row, but there is no table of rows"
            help = "give a table with --table, or name what is known: `| column = value`"
            self.sink.error("E810", message, item.span, help=help)
        return set(range(len(self.columns))) - target - set(excepted)

    def _share(self, phrase: Phrase, name: StatisticName) -> float:
        if phrase.number is None:
            return _SHARES.get(name, 0.0)
        share = float(phrase.number.text)
        if not 0.0 < share < 1.0:
            message = f"the share {phrase.number.text} is not between 0 and 1"
            help = "the 90th percentile is `quantile[column, 0.9]`"
            self.sink.error("E812", message, phrase.number.span, help=help)
        return share

    def _rows(self, phrase: Phrase) -> int:
        assert phrase.number is not None
        rows = float(phrase.number.text)
        if not (rows.is_integer() and 1 <= rows <= MOST_ROWS):
            message = f"`{phrase.number.text}` is not a number of rows"
            help = f"give a whole number from 1 to {MOST_ROWS:,}"
            self.sink.error("E812", message, phrase.number.span, help=help)
            return 0
        return int(rows)

    # ---- checks of a whole question ------------------------------------------------------------

    def _check_numbers(self, phrase: Phrase, name: str, asked: Sequence[int]) -> None:
        """Report a statistic of labels that are not numbers."""
        for number, word in zip(asked, phrase.columns or (), strict=False):
            column = self.columns[number]
            if column.is_finite and not _are_numeric(column):
                message = f"`{column.name}` has labels, not numbers: it has no {_NAMES[name]}"
                own = word_for(word.text)
                help = f"ask for `density of {own}` or `most likely {own}`"
                self.sink.error("E806", message, word.span, help=help)

    def _check_apart(self, phrase: Phrase, first: Sequence[int]) -> None:
        for word in phrase.second:
            if self.events.places.get(word.text) in first:
                message = f"`{word.text}` is on both sides of `;`"
                help = f"the information of a column about itself is `H[{word_for(word.text)}]`"
                self.sink.error("E811", message, word.span, help=help)

    def _check_size(self, phrase: Phrase, question: Question) -> None:
        """Report an event that is a union of too many boxes."""
        events = [question.evidence.event]
        if isinstance(question, Probability):
            events.append(All((question.event, question.evidence.event)))
        for one in events:
            try:
                boxes_of(one, self.columns)
            except TooManyBoxesError:
                message = f"this needs more than {MOST_BOXES:,} cases to be told apart"
                help = "ask in several questions, or with fewer `or` over different columns"
                self.sink.error("E813", message, phrase.span, help=help)
                return


_NAMES = {
    "E": "mean",
    "SD": "standard deviation",
    "Var": "variance",
    "median": "median",
    "quantile": "quantiles",
}


def _are_numeric(column: Column) -> bool:
    """Whether the states of a column stand for numbers; truth values count as 0 and 1."""
    labels = column.labels or ()
    return numbers_of(column) is not None or all(isinstance(label, bool) for label in labels)


def _text_of(phrase: Phrase) -> str:
    """Return a question as it was written, or as it can be written on one line."""
    span = phrase.span
    if span.line != span.end_line:
        return written(phrase)
    return span.source.lines[span.line - 1][span.column - 1 : span.end_column - 1]
