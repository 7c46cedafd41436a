"""Specs in YAML: text to a tree with spans. `yaml.compose` keeps the marks; nothing is executed."""

from __future__ import annotations

import re

import yaml

from spnc.diagnostics import Sink, Source, Span
from spnc.spec.tree import Entry, Mapping, Scalar, Sequence, Tree

# YAML 1.1 wants a dot and a sign in `1.0e-7`; people write `1e-7` and mean the number.
_FLOAT = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+$")
_PLAIN_TAGS = {"null", "bool", "int", "float", "str", "timestamp", "merge", "value"}


def read_yaml(source: Source, sink: Sink) -> Tree | None:
    """The tree of a YAML text, or None after reporting what is wrong with it."""
    try:
        root = yaml.compose(source.text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        span = None
        if mark is not None:
            last = max(1, len(source.lines))
            line = min(mark.line + 1, last)
            column = mark.column + 1 if line == mark.line + 1 else len(source.lines[line - 1]) + 1
            span = source.span(line, column, line, column + 1)
        notes = [error.context] if error.context else []
        sink.error("E101", f"this is not YAML: {error.problem}", span, notes=notes)
        return None
    except yaml.YAMLError as error:
        first = str(error).splitlines()[0]
        sink.error("E101", f"this is not YAML: {first}", source.span(1, 1, 1, 2))
        return None
    if root is None:
        sink.error(
            "E101",
            "the file is empty",
            source.span(1, 1, 1, 2),
            help="a spec needs at least `model`, `data` and `forest`",
        )
        return None
    return _Reader(source, sink).tree(root)


class _Reader:
    def __init__(self, source: Source, sink: Sink) -> None:
        self.source, self.sink = source, sink

    def span(self, node: yaml.Node) -> Span:
        start, end = node.start_mark, node.end_mark
        return self.source.span(start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def tree(self, node: yaml.Node) -> Tree:
        span = self.span(node)
        if isinstance(node, yaml.SequenceNode):
            return Sequence(tuple(self.tree(item) for item in node.value), span)
        if isinstance(node, yaml.MappingNode):
            entries = []
            for key, value in node.value:
                text = key.value if isinstance(key, yaml.ScalarNode) else "?"
                entries.append(Entry(str(text), self.span(key), self.tree(value)))
            return Mapping(tuple(entries), span)
        assert isinstance(node, yaml.ScalarNode)
        return Scalar(self._value(node, span), node.value, span)

    def _value(self, node: yaml.ScalarNode, span: Span) -> object:
        tag = node.tag.rsplit(":", 1)[-1]
        if not node.tag.startswith("tag:yaml.org,2002:") or tag not in _PLAIN_TAGS:
            self.sink.error(
                "E115",
                f"the tag `{node.tag}` means nothing in a spec",
                span,
                help="write the plain value",
            )
            return node.value
        plain = node.style is None
        if plain and _FLOAT.match(node.value):
            return float(node.value)
        if tag in ("null", "bool", "int", "float"):
            try:
                return yaml.SafeLoader("").construct_object(node)
            except (ValueError, yaml.YAMLError):
                return node.value
        return node.value
