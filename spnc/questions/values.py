"""Values in questions: from a comparison or a set of words to the values of a column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from spnc.data.cells import column_text, exact_text
from spnc.data.columns import Column
from spnc.diagnostics import Sink, Span, did_you_mean
from spnc.queries.value_sets import ValueSet
from spnc.questions.date_words import date_span, is_date
from spnc.questions.syntax import Range, Word
from spnc.questions.words import word_for

_GRID_TOLERANCE = 1e-9  # of the number of steps: rounding errors of doubles, generously
_TRUTHS = {"true": 1, "false": 0}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a number or a date means to each operator.

    `=` is the interval from `low` to `high`; `<` ends at `below`, `<=` at `up_to`, `>=` begins at
    `at_least` and `>` at `above`.
    """

    low: float
    high: float
    below: float
    up_to: float
    at_least: float
    above: float

    def span(self, operator: str) -> tuple[float, float]:
        """Return the interval of an operator other than `!=`."""
        return {
            "=": (self.low, self.high),
            "<": (-math.inf, self.below),
            "<=": (-math.inf, self.up_to),
            ">=": (self.at_least, math.inf),
            ">": (self.above, math.inf),
        }[operator]


class ValueReader:
    """Reads the values that a question names, and reports those that a column cannot have."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink

    def compared(self, column: Column, operator: str, word: Word, span: Span) -> ValueSet | None:
        """Return the values for which `column operator word` holds; None after reporting."""
        if operator in ("=", "!="):
            found = self._equal(column, word)
        else:
            found = self._ordered(column, word, operator, span)
        if found is None or operator != "!=":
            return found
        return ValueSet.everything(column).without(found)

    def any_of(
        self, column: Column, values: Iterable[Word | Range], negated: bool
    ) -> ValueSet | None:
        """Return the values in a set of words and ranges, or all others; None after reporting."""
        parts = [
            self._equal(column, v) if isinstance(v, Word) else self._within(column, v)
            for v in values
        ]
        if None in parts:
            return None
        found = ValueSet.of(column, (s for part in parts if part for s in part.spans))
        return ValueSet.everything(column).without(found) if negated else found

    def _within(self, column: Column, wanted: Range) -> ValueSet | None:
        """Return the values of a range, whose ends are included."""
        ends = [("<=" if word is wanted.high else ">=", word) for word in (wanted.low, wanted.high)]
        parts = [
            self._ordered(column, word, operator, wanted.span)
            for operator, word in ends
            if word is not None
        ]
        found = ValueSet.everything(column)
        for part in parts:
            if part is None:
                return None
            found &= part
        if found.is_empty and len(parts) == 2 and not any(p.is_empty for p in parts if p):
            low, high = wanted.low, wanted.high
            assert low is not None
            assert high is not None
            message = f"no value of `{column.name}` is in `{low.text}..{high.text}`"
            help = "write the smaller end first, or `=` for a single value"
            self.sink.error("E804", message, wanted.span, help=help)
            return None
        return found

    # ---- one value ---------------------------------------------------------------------------

    def _equal(self, column: Column, word: Word) -> ValueSet | None:
        if column.is_finite:
            code = code_of(column, word)
            if code is not None:
                return ValueSet.codes(column, [code])
            self._report_unknown(column, word)
            return None
        bounds = self._bounds(column, word)
        if bounds is None:
            return None
        if column.kind == "count" and not (bounds.low >= 0.0 and bounds.low.is_integer()):
            self._report_unknown(column, word)
            return None
        return ValueSet.of(column, [bounds.span("=")])

    def _ordered(self, column: Column, word: Word, operator: str, span: Span) -> ValueSet | None:
        if not column.is_finite:
            bounds = self._bounds(column, word)
            return None if bounds is None else ValueSet.of(column, [bounds.span(operator)])
        numbers = numbers_of(column)
        if numbers is None:
            named = ", ".join(word_for(exact_text(column, float(i))) for i in (0, 1))
            more = ", …" if column.states > 2 else ""
            message = f"the labels of `{column.name}` have no order"
            help = f"name the labels: `{word_for(column.name)} in {{{named}{more}}}`"
            self.sink.error("E806", message, span, help=help)
            return None
        bounds = self._bounds(column, word)
        if bounds is None:
            return None
        low, high = bounds.span(operator)
        return ValueSet.codes(column, (i for i, n in enumerate(numbers) if low <= n <= high))

    def _bounds(self, column: Column, word: Word) -> Bounds | None:
        if column.kind == "date":
            return self._date_bounds(column, word)
        try:
            value = float(word.text.replace("_", "?"))  # Python allows 1_000, tables do not
        except ValueError:
            value = math.nan
        if math.isnan(value):
            what = "a column of numbers" if column.is_finite else f"a {column.kind} column"
            message = f"`{word.text}` is not a number, but `{column.name}` is {what}"
            help = f"its values: {column_text(column)}"
            self.sink.error("E805", message, word.span, help=help)
            return None
        if column.kind == "real":
            return _recorded(column, value)
        if math.isinf(value):
            return Bounds(value, value, value, value, value, value)
        below = value - 1.0 if value.is_integer() else float(math.floor(value))
        above = value + 1.0 if value.is_integer() else float(math.ceil(value))
        if column.is_finite:  # labels need not be whole numbers
            below, above = math.nextafter(value, -math.inf), math.nextafter(value, math.inf)
        return Bounds(value, value, below, value, value, above)

    def _date_bounds(self, column: Column, word: Word) -> Bounds | None:
        found = date_span(column, word.text)
        if found is not None:
            low, high = found
            return Bounds(low, high, low, high, low, high)
        if is_date(word.text):
            message, help = f"there is no date `{word.text}`", None
        else:
            message = f"`{word.text}` is not a date, but `{column.name}` is a column of dates"
            help = "write a year, month, day or time: 2024, 2024-01, 2024-01-31, 2024-01-31 12:00"
        self.sink.error("E805", message, word.span, help=help)
        return None

    def _report_unknown(self, column: Column, word: Word) -> None:
        message = f"`{word.text}` is not a value of `{column.name}`"
        if column.labels is None or numbers_of(column) is not None:
            whole = "whole numbers from 0"
            help = f"its values: {whole if column.kind == 'count' else column_text(column)}"
        else:
            help = did_you_mean(word.text, labels_of(column))
        self.sink.error("E804", message, word.span, help=help)


def _recorded(column: Column, value: float) -> Bounds:
    """Return the bounds of a number of a real column.

    Where the values of a column are recorded as multiples of its resolution, each stands for all
    numbers that are nearer to it than half of that, so that `<`, `=` and `>` together are certain.
    """
    scale = column.scale
    step = 1.0 if scale is None else scale.resolution
    low, high = value - 0.5 * step, value + 0.5 * step
    ends = () if scale is None else (scale.low, scale.high)
    if not (ends and all(_is_multiple(end, step) for end in ends)) or math.isinf(value):
        return Bounds(low, high, value, value, value, value)
    if _is_multiple(value, step):
        return Bounds(low, high, low, high, low, high)
    between = (math.floor(value / step) + 0.5) * step  # no recorded value lies between these two
    return Bounds(low, high, between, between, between, between)


def _is_multiple(value: float, step: float) -> bool:
    return abs(value / step - round(value / step)) <= _GRID_TOLERANCE * max(1.0, abs(value / step))


def labels_of(column: Column) -> list[str]:
    """Return the values of a column with finitely many states, as questions write them."""
    return [exact_text(column, float(code)) for code in range(column.states)]


def numbers_of(column: Column) -> list[float] | None:
    """Return the number that each state of a finite column stands for; None for other labels."""
    if column.labels is None:
        return [float(code) for code in range(column.states)]
    if any(isinstance(label, str | bool) for label in column.labels):
        return None
    return [float(label) for label in column.labels]


def code_of(column: Column, word: Word) -> int | None:
    """Return the state that a word names; None if it names none."""
    texts = labels_of(column)
    if word.text in texts:
        return texts.index(word.text)
    truths = column.labels is None and column.states == 2
    if any(isinstance(label, bool) for label in column.labels or ()) or truths:
        truth = _TRUTHS.get(word.text.lower())
        if truth is not None:
            return truth if column.labels is None else column.labels.index(bool(truth))
    try:
        value = float(word.text)
    except ValueError:
        return None
    numbers = enumerate(range(column.states) if column.labels is None else column.labels)
    same = (i for i, n in numbers if not isinstance(n, str | bool) and n == value)
    return next(same, None)
