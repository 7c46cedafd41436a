"""The syntax of a question: what was written, and where; names are not resolved yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from spnc.diagnostics import Source, Span

WordKind = Literal["word", "number", "date", "quoted"]
Function = Literal[
    "P", "E", "SD", "Var", "median", "quantile", "most likely", "sample", "density", "H", "MI"
]
_NOWHERE = Source("", "").span_at(0, 0)


@dataclass(frozen=True, slots=True)
class Word:
    """The name of a column, a label, a number or a date; `text` is without quotes."""

    text: str
    kind: WordKind
    span: Span = field(default=_NOWHERE, compare=False)

    @property
    def is_bare_number(self) -> bool:
        """Whether the word is a number or a date, not in quotes."""
        return self.kind in ("number", "date")


@dataclass(frozen=True, slots=True)
class Range:
    """`low..high`; an end is None where the range is open."""

    low: Word | None
    high: Word | None
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`a < b` or `a < b <= c`, with one operator fewer than words."""

    words: tuple[Word, ...]
    operators: tuple[str, ...]
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Membership:
    """`column in {…}`, `column in low..high`, or with `not in`."""

    column: Word
    values: tuple[Word | Range, ...]
    negated: bool
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Test:
    """`column is missing`, which no model can answer."""

    column: Word
    word: Word
    negated: bool
    span: Span = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Alone:
    """A name where an event could stand; after `H[… |` it is a column."""

    word: Word


@dataclass(frozen=True, slots=True)
class And:
    """Events joined by `,` or `and`."""

    parts: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Events joined by `or`."""

    parts: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """`not` before an event; two of them cancel out."""

    part: Event


@dataclass(frozen=True, slots=True)
class Everything:
    """`*`, the other cells of a table's row, or `* except` some columns."""

    excepted: tuple[Word, ...]
    span: Span = field(default=_NOWHERE, compare=False)


Event = Comparison | Membership | Test | Alone | And | Or | Negation


@dataclass(frozen=True, slots=True)
class Phrase:
    """A whole question.

    `columns` are those asked about, None for all of them; `event` is asked about by `P`, `second`
    are the columns after `;`, `number` is a share or a number of rows.
    """

    function: Function
    columns: tuple[Word, ...] | None = ()
    event: Event | None = None
    second: tuple[Word, ...] = ()
    number: Word | None = None
    by: tuple[Word, ...] = ()
    given: tuple[Event | Everything, ...] = ()
    span: Span = field(default=_NOWHERE, compare=False)
