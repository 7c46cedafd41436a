"""Specs in YAML, read into a tree with spans; nothing is executed."""

from __future__ import annotations

import re

import yaml

from spnc.diagnostics import Sink, Source, Span
from spnc.spec.files import report_empty
from spnc.spec.numbers import is_of_other_base
from spnc.spec.tree import Entry, Mapping, Scalar, Sequence, Tree, describe

# YAML 1.1 takes `1e-7` for a text, since it has no dot; people mean the number.
_FLOAT = re.compile(r"^[+-]?(\d+(\.\d*)?|\.\d+)[eE][+-]?\d+$")
_YAML = "tag:yaml.org,2002:"
_PLAIN_TAGS = {"null", "bool", "int", "float", "str", "timestamp", "merge", "value", "map", "seq"}
_DEEPEST = 100  # levels of nesting; a spec has five or so
_LARGEST = 20_000  # values, with aliases expanded: a few lines can stand for billions
_HINTS = {  # messages of the parser, and what usually mends the cause
    "'\\t'": "indent with spaces; YAML does not allow tabs there",
    "mapping values are not allowed here": "check the indentation of this line and of the one "
    "above; a text that holds `: ` needs quotes",
    "could not find expected ':'": "write `key: value`, with a space after the colon",
    "expected ',' or ']'": "close the list with `]`, and separate its values by commas",
    "expected ',' or '}'": "close the mapping with `}`, and separate its entries by commas",
    "expected <block end>": "check the indentation: entries of one level begin in one column",
    "unexpected end of stream": "close the quote",
    "expected a single document": "keep one spec in the file, and no `---` after its first line",
    "undefined alias": "define it earlier with `&`, or put a text that begins with `*` in quotes",
}


def read_yaml(source: Source, sink: Sink) -> Tree | None:
    """The tree of a YAML text, or None after reporting what is wrong with it."""
    try:
        root = yaml.compose(source.text, Loader=yaml.SafeLoader)
        if root is not None:
            return _Reader(source, sink).tree(root)
    except yaml.MarkedYAMLError as error:
        _report(error, source, sink)
        return None
    except yaml.reader.ReaderError as error:
        span = source.span_at(error.position, error.position + 1)
        code = error.character if isinstance(error.character, int) else ord(error.character)
        sink.error("E101", f"this is not YAML: the character U+{code:04X} is not allowed", span)
        return None
    except _TooLargeError as error:
        sink.error("E101", f"this is not a spec: {error.reason}", error.span)
        return None
    except RecursionError:
        sink.error("E101", f"this is not a spec: {_TOO_DEEP}", source.span(1, 1, 1, 2))
        return None
    report_empty(source, sink)
    return None


class _TooLargeError(Exception):
    """The text is nested too deeply, or its aliases expand to too much."""

    def __init__(self, reason: str, span: Span) -> None:
        self.reason, self.span = reason, span
        super().__init__(reason)


_TOO_DEEP = f"it is nested more than {_DEEPEST} deep"


def _report(error: yaml.MarkedYAMLError, source: Source, sink: Sink) -> None:
    mark = error.problem_mark or error.context_mark
    span = None
    if mark is not None:
        at = min(mark.index, len(source.text.rstrip()))
        span = source.span_at(at, at + 1)
    problem = error.problem or error.context or "it cannot be understood"
    notes = []
    if error.context and problem.startswith("but "):
        problem = f"{error.context}, {problem}"
    elif error.context and error.problem:
        begun = error.context_mark
        line = f", begun in line {begun.line + 1}" if begun is not None else ""
        notes.append(f"{error.context}{line}")
    help = next((hint for text, hint in _HINTS.items() if text in problem), None)
    sink.error("E101", f"this is not YAML: {problem}", span, notes=notes, help=help)


class _Reader:
    def __init__(self, source: Source, sink: Sink) -> None:
        self.source, self.sink = source, sink
        self.seen = 0
        self.around: list[yaml.Node] = []  # the nodes that enclose the present one

    def span(self, node: yaml.Node) -> Span:
        start, end = node.start_mark.index, node.end_mark.index
        written = self.source.text[start:end].rstrip()  # a block ends where the next one begins
        return self.source.span_at(start, start + len(written))

    def tree(self, node: yaml.Node) -> Tree:
        span = self.span(node)
        self.seen += 1
        if any(node is outer for outer in self.around):
            raise _TooLargeError("an alias contains itself", span)
        if len(self.around) > _DEEPEST:
            raise _TooLargeError(_TOO_DEEP, span)
        if self.seen > _LARGEST:
            raise _TooLargeError(f"its aliases expand to more than {_LARGEST:,} values", span)
        known = self._check_tag(node, span)
        if isinstance(node, yaml.ScalarNode):
            quoted = node.style in ("'", '"')
            return Scalar(_value(node, known), node.value, span, quoted)
        self.around.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return Mapping(self._entries(node), span)
            return Sequence(tuple(self.tree(item) for item in node.value), span)
        finally:
            self.around.pop()

    def _entries(self, node: yaml.MappingNode) -> tuple[Entry, ...]:
        own: list[Entry] = []
        merged: list[Entry] = []
        for key, value in node.value:
            tree = self.tree(value)
            if key.tag == _YAML + "merge":
                merged += self._merged(tree)
            elif isinstance(key, yaml.ScalarNode):
                own.append(Entry(str(key.value), self.span(key), tree))
            else:
                found = describe(self.tree(key))
                self.sink.error("E106", f"expected a name as key, found {found}", self.span(key))
        # `<<: *defaults`: what is written here wins, then what is merged first.
        taken = {e.key for e in own}
        for entry in merged:
            if entry.key not in taken:
                taken.add(entry.key)
                own.append(entry)
        return tuple(own)

    def _merged(self, tree: Tree) -> list[Entry]:
        found: list[Entry] = []
        for item in tree.items if isinstance(tree, Sequence) else (tree,):
            if isinstance(item, Mapping):
                found += item.entries
            else:
                message = f"`<<` merges mappings, found {describe(item)}"
                self.sink.error("E106", message, item.span)
        return found

    def _check_tag(self, node: yaml.Node, span: Span) -> bool:
        name = node.tag.removeprefix(_YAML)
        if node.tag.startswith(_YAML) and name in _PLAIN_TAGS:
            return True
        shown = f"!!{name}" if node.tag.startswith(_YAML) else node.tag
        self.sink.error(
            "E115", f"the tag `{shown}` means nothing in a spec", span, help="write the plain value"
        )
        return False


def _value(node: yaml.ScalarNode, known_tag: bool) -> object:
    plain = node.style is None
    if plain and _FLOAT.match(node.value):
        return float(node.value)
    loader = yaml.SafeLoader("")
    if not known_tag:  # already reported: go on as if it had not been written
        node.tag = loader.resolve(  # type: ignore[no-untyped-call]
            yaml.ScalarNode, node.value, (plain, not plain)
        )
    if plain and is_of_other_base(node.value):  # a text; refused where a number is expected
        return node.value
    if node.tag.removeprefix(_YAML) in ("null", "bool", "int", "float"):
        try:
            return loader.construct_object(node)
        except (ValueError, LookupError, yaml.YAMLError):
            return node.value
    return node.value
