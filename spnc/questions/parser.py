"""From text to the syntax of questions; every question's first syntax error is reported."""

from __future__ import annotations

from typing import Any

import lark

from spnc.diagnostics import Sink, Source, Span
from spnc.language.brackets import DEEPEST, too_deep
from spnc.language.grammar import parser_of, unquoted
from spnc.questions.splitting import Piece, split
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
    WordKind,
)
from spnc.questions.syntax_errors import report, report_open_bracket

GRAMMAR = "questions.lark"
_KINDS: dict[str, WordKind] = {"WORD": "word", "NUMBER": "number", "DATE": "date"}
_OPERATORS = {"==": "=", "<>": "!=", "≤": "<=", "≥": ">=", "≠": "!="}  # other ways to write some


def parser(start: str = "start") -> lark.Lark:
    """Return the parser of one question, or that of an `event`."""
    return parser_of(GRAMMAR, (start,))


def parse(source: Source, sink: Sink) -> list[Phrase]:
    """Return the questions of a text that are well formed, after reporting the others (E801).

    A text without questions is reported too (E802).
    """
    pieces = split(source.text)
    if not pieces:
        help = "write a question, for example `most likely *`"
        sink.error("E802", "there is no question here", where=source.name, help=help)
    found = [_parse_one(source, piece, sink) for piece in pieces]
    return [phrase for phrase in found if phrase is not None]


def parse_event(source: Source, sink: Sink) -> Event | None:
    """Return the event that a text consists of; None after reporting what is wrong (E801)."""
    if not split(source.text):
        help = "write an event, for example `age > 40, sex = F`"
        sink.error("E802", "there is no event here", where=source.name, help=help)
        return None
    piece = Piece(0, len(source.text))
    tree = _tree(source, piece, "event", sink)
    return None if tree is None else _Reader(source, 0).event(tree)


def _parse_one(source: Source, piece: Piece, sink: Sink) -> Phrase | None:
    tree = _tree(source, piece, "start", sink)
    if tree is None:
        return None
    text = source.text[piece.start : piece.stop]
    reader = _Reader(source, piece.start)
    start, stop = len(text) - len(text.lstrip()), tree.meta.end_pos
    span = source.span_at(piece.start + start, piece.start + stop)
    phrase: Phrase = reader.phrase(tree, span)
    return phrase


def _tree(source: Source, piece: Piece, start: str, sink: Sink) -> lark.Tree[Any] | None:
    """Return the parse tree of a piece of text; None after reporting what is wrong."""
    if piece.open_bracket is not None:
        report_open_bracket(source, piece.open_bracket, sink)
        return None
    text = source.text[piece.start : piece.stop]
    if (deep := too_deep(text)) is not None:
        at = piece.start + deep
        message = f"brackets are nested more than {DEEPEST} deep"
        sink.error("E801", message, source.span_at(at, at + 1), help="ask in several questions")
        return None
    try:
        return parser(start).parse(text)
    except lark.exceptions.UnexpectedInput as error:
        report(source, piece, error, sink)
        return None


class _Reader:
    """Turns parse trees into syntax; `offset` is where the parsed text begins in the source."""

    def __init__(self, source: Source, offset: int) -> None:
        self.source, self.offset = source, offset

    def phrase(self, tree: lark.Tree[Any], span: Span) -> Phrase:
        rest = list(tree.children)
        given = self._given(rest.pop()) if _is_tree(rest, "given") else ()
        by = self._names(rest.pop().children[0]) if _is_tree(rest, "by") else ()
        match str(tree.data):
            case "probability":
                return Phrase("P", event=self.event(rest[0]), by=by, given=given, span=span)
            case "statistic":
                columns = (self._word(rest[1]),)
                return Phrase(str(rest[0]), columns, by=by, given=given, span=span)  # type: ignore[arg-type]
            case "quantile":
                columns, number = (self._word(rest[0]),), self._word(rest[1])
                return Phrase("quantile", columns, number=number, by=by, given=given, span=span)
            case "most_likely":
                return Phrase("most likely", self._some_or_all(rest), given=given, span=span)
            case "sample":
                columns_or_all, number = self._some_or_all(rest[1:]), self._word(rest[0])
                return Phrase("sample", columns_or_all, number=number, given=given, span=span)
            case "density":
                return Phrase("density", (self._word(rest[0]),), by=by, given=given, span=span)
            case "entropy":
                return Phrase("H", self._names(rest[0]), given=given, span=span)
            case "information":
                first, second = map(self._names, rest)
                return Phrase("MI", first, second=second, given=given, span=span)
        raise AssertionError(f"the grammar has an unknown rule {tree.data}")

    def _some_or_all(self, rest: list[Any]) -> tuple[Word, ...] | None:
        return self._names(rest[0]) if rest and isinstance(rest[0], lark.Tree) else None

    def _names(self, tree: Any) -> tuple[Word, ...]:
        return tuple(map(self._word, tree.children))

    def _given(self, tree: lark.Tree[Any]) -> tuple[Event | Everything, ...]:
        """Return the items; names alone that follow `* except a` are excepted as well."""
        items: list[Event | Everything] = []
        for child in tree.children:
            if _is_tree([child], "everything"):
                names = tuple(map(self._word, child.children[1:]))
                items.append(Everything(names, self._span(child)))
                continue
            event = self.event(child)
            last = items[-1] if items else None
            if isinstance(event, Alone) and isinstance(last, Everything) and last.excepted:
                items[-1] = Everything((*last.excepted, event.word), last.span)
            else:
                items.append(event)
        return tuple(items)

    def event(self, tree: lark.Tree[Any]) -> Event:
        """Return the event that a tree stands for."""
        inner: list[Any] = tree.children
        match str(tree.data):
            case "events" | "both":
                return And(tuple(map(self.event, inner)))
            case "either":
                return Or(tuple(map(self.event, inner)))
            case "negation":
                part = self.event(inner[-1])
                if len(inner) % 2 == 1:  # an even number of `not`
                    return part
                return part.part if isinstance(part, Negation) else Negation(part)
            case "comparison":
                words = tuple(map(self._word, inner[::2]))
                operators = tuple(_OPERATORS.get(o, str(o)) for o in inner[1::2])
                return Comparison(words, operators, self._span(tree))
            case "membership":
                values: Any = inner[-1]
                some = [values] if _is_tree([values], "range") else values.children
                return Membership(
                    self._word(inner[0]),
                    tuple(map(self._value, some)),
                    len(inner) == 3,
                    self._span(tree),
                )
            case "test":
                first, last = self._word(inner[0]), self._word(inner[-1])
                return Test(first, last, len(inner) == 3, self._span(tree))
            case "alone":
                return Alone(self._word(inner[0]))
        raise AssertionError(f"the grammar has an unknown rule {tree.data}")

    def _value(self, item: lark.Token | lark.Tree[Any]) -> Word | Range:
        if isinstance(item, lark.Token):
            return self._word(item)
        inner: list[Any] = item.children
        at = next(i for i, part in enumerate(inner) if part.type == "TO")
        low = self._word(inner[0]) if at == 1 else None
        high = self._word(inner[-1]) if at < len(inner) - 1 else None
        return Range(low, high, self._span(item))

    def _word(self, token: Any) -> Word:
        kind = _KINDS.get(token.type, "quoted")
        text = unquoted(str(token)) if kind == "quoted" else str(token)
        return Word(text, kind, self._span(token))

    def _span(self, item: Any) -> Span:
        place = item.meta if isinstance(item, lark.Tree) else item
        return self.source.span_at(self.offset + place.start_pos, self.offset + place.end_pos)


def _is_tree(items: list[Any], rule: str) -> bool:
    """Whether the last of some items is the tree of a rule."""
    return bool(items) and isinstance(items[-1], lark.Tree) and items[-1].data == rule
