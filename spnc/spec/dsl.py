"""Specs in the small language, read into the same tree as YAML."""

from __future__ import annotations

import re
from typing import Any

import lark

from spnc.diagnostics import Sink, Source, Span
from spnc.language.grammar import span_of, unquoted
from spnc.language.parser import parse
from spnc.registry import LEARNERS, OBJECTIVES, OPTIMIZERS, RESIDUALS, STOPS, fields_of
from spnc.spec.files import report_empty
from spnc.spec.tree import Entry, Mapping, Scalar, Sequence, Tree

_NAMES = {  # statement to the key under which YAML has the plug-in's name
    "forest": LEARNERS.key,
    "residual": RESIDUALS.key,
    "optimize": OPTIMIZERS.key,
}
_KEYS = {"version": "spnc", "optimize": "optimizer"}  # statement to key, where they differ


def read_dsl(source: Source, sink: Sink) -> Tree | None:
    """The tree of a recipe text, or None after reporting what is wrong with it."""
    parsed = parse(source, "recipe", sink)
    if parsed is None:
        return None
    if not parsed.children:
        report_empty(source, sink)
        return None
    reader = _Reader(source)
    entries = [reader.statement(s) for s in parsed.children if isinstance(s, lark.Tree)]
    return Mapping(tuple(entries), span_of(source, parsed))


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source

    def span(self, item: lark.Token | lark.Tree[Any]) -> Span:
        return span_of(self.source, item)

    def statement(self, item: lark.Tree[Any]) -> Entry:
        kind = str(item.data)
        key = _KEYS.get(kind, kind)
        span = self.span(item)
        word = len(kind) if kind != "version" else len("spnc")
        key_span = self.source.span(span.line, span.column, span.line, span.column + word)
        value: Tree
        if kind == "data":
            value = self.data(item)
        elif kind == "forest":
            value = Sequence(tuple(self.entry(e) for e in item.children), span)
        elif isinstance(child := item.children[0], lark.Tree) and child.data == "arguments":
            value = Mapping(self.arguments(child), span)
        elif isinstance(child, lark.Tree) and child.data == "chosen":
            value = self.chosen(child, _NAMES[kind])
        else:
            value = self.value(child)
        return Entry(key, key_span, value)

    def data(self, item: lark.Tree[Any]) -> Mapping:
        source, split, arguments = item.children
        entries: list[Entry] = []
        if source is not None:
            entries.append(Entry("source", self.span(source), self.value(source)))
        if split is not None:
            numbers = Sequence(tuple(self.value(n) for n in split.children), self.span(split))
            entries.append(Entry("split", self.span(split), numbers))
        return Mapping((*entries, *self.arguments(arguments)), self.span(item))

    def entry(self, item: lark.Tree[Any]) -> Mapping:
        times, call = item.children
        if call.data == "chosen":
            values = [v for v in call.children[0].children[0].children if v is not None]
            only_names = all(
                isinstance(v, lark.Tree) and v.data == "call" and v.children[1] is None
                for v in values
            )
            # An entry of the forest is a mapping: a choice of bare names goes under its name's key.
            made = self.chosen(call, _NAMES["forest"], alone=times is None and not only_names)
        else:
            made = self.call(call)
        if times is None:
            return made
        digits = re.match(r"\d+", str(times))
        assert digits is not None
        count = Scalar(_number(digits[0]), digits[0], self.span(times))
        return Mapping(
            (Entry("count", count.span, count), *made.entries), self.span(item), made.head
        )

    def call(self, item: lark.Tree[Any]) -> Mapping:
        name, arguments = item.children
        head = Scalar(str(name), str(name), self.span(name))
        return Mapping(self.arguments(arguments), self.span(item), head)

    def chosen(self, item: lark.Tree[Any], key: str, *, alone: bool = True) -> Mapping:
        """A choice of plug-ins; if options follow it, a choice of names under `key`."""
        choice, arguments = item.children
        made = self.choice(choice)
        if alone and arguments is None:
            return _with_calls(made) if key == _NAMES["forest"] else made
        entries = self.arguments(arguments)
        return Mapping((Entry(key, made.entries[0].key_span, made), *entries), self.span(item))

    def choice(self, item: lark.Tree[Any]) -> Mapping:
        span = self.span(item)
        word = self.source.span(span.line, span.column, span.line, span.column + len("search"))
        return Mapping((Entry("search", word, self.value(item.children[0])),), span)

    def arguments(self, item: lark.Tree[Any] | None) -> tuple[Entry, ...]:
        if item is None:
            return ()
        given = [a for a in item.children if isinstance(a, lark.Tree)]
        return tuple(
            Entry(_key(name), self.span(name), self.argument(_key(name), value))
            for name, value in (a.children for a in given)
        )

    def argument(self, name: str, item: lark.Token | lark.Tree[Any]) -> Tree:
        if isinstance(item, lark.Tree) and item.data == "chosen" and item.children[1] is not None:
            return self.chosen(item, _name_keys().get(name, name))
        return self.value(item)

    def value(self, item: lark.Token | lark.Tree[Any]) -> Tree:
        if isinstance(item, lark.Tree):
            if item.data in ("choice", "chosen"):
                return self.choice(item if item.data == "choice" else item.children[0])
            if item.data == "arguments":
                return Mapping(self.arguments(item), self.span(item))
            if item.data == "list":
                values = (self.value(v) for v in item.children if v is not None)
                return Sequence(tuple(values), self.span(item))
            call = self.call(item)
            assert call.head is not None
            return call if item.children[1] is not None else _word(call.head)
        text = str(item)
        if item.type in ("STRING", "ESCAPED"):
            return Scalar(unquoted(text), unquoted(text), self.span(item), quoted=True)
        if item.type == "NUMBER":
            return Scalar(_number(text), text, self.span(item))
        return Scalar(text, text, self.span(item))


def _key(name: Any) -> str:
    return unquoted(str(name)) if name.type in ("STRING", "ESCAPED") else str(name)


def _name_keys() -> dict[str, str]:
    """Options of plug-ins that hold a plug-in, and the key under which YAML has its name."""
    return {
        field.name: field.rule.registry.key
        for registry in (LEARNERS, RESIDUALS, OPTIMIZERS, OBJECTIVES, STOPS)
        for plugin in registry.usable()[0].values()
        for field in fields_of(plugin).values()
        if field.rule.registry is not None
    }


def _with_calls(choice: Mapping) -> Mapping:
    """The choice with every bare name as a call, like entries of the forest."""
    (entry,) = choice.entries
    assert isinstance(entry.value, Sequence)
    items = (Mapping((), v.span, v) if isinstance(v, Scalar) else v for v in entry.value.items)
    listed = Sequence(tuple(items), entry.value.span)
    return Mapping((Entry(entry.key, entry.key_span, listed),), choice.span)


def _number(text: str) -> int | float:
    """The number in a text, whole if written so; more than 300 digits count as infinite."""
    whole = re.fullmatch(r"[+-]?\d{1,300}", text)
    return int(text) if whole else float(text)


def _word(name: Scalar) -> Scalar:
    """A bare word, which may be a truth value."""
    value = {"true": True, "yes": True, "false": False, "no": False}.get(name.text, name.value)
    return Scalar(value, name.text, name.span)
