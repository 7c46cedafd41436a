"""`--set a.b=c`: values from the command line that override those in a spec's tree."""

from __future__ import annotations

import re
from collections.abc import Sequence as Many
from dataclasses import replace

from spnc.diagnostics import Sink, Source, Span
from spnc.spec.tree import Entry, Mapping, Scalar, Sequence, Tree
from spnc.spec.yaml_reader import read_yaml

COMMAND_LINE = "<command line>"
_Step = tuple[str, Span]


def override(tree: Tree, settings: Many[str], sink: Sink, flag: str = "--set ") -> Tree:
    """The tree with every `path=value` applied, in order. A path's parts are keys or numbers."""
    for setting in settings:
        source = Source(COMMAND_LINE, f"{flag}{setting}")
        path, equals, value = setting.partition("=")
        offset = len(flag)
        if not equals or not all(path.split(".")):
            sink.error(
                "E113",
                f"`{setting}` is not of the form path=value",
                source.span_at(offset, offset + max(1, len(setting))),
                help="for example: --set optimizer.max_iterations=50",
            )
            continue
        steps: list[_Step] = []
        for key in path.split("."):
            steps.append((key, source.span_at(offset, offset + len(key))))
            offset += len(key) + 1
        # Padding keeps the columns of the value those of the command line.
        padded = replace(source, text=" " * offset + value)
        problems = Sink()
        found = read_yaml(padded, problems) if value.strip() else _nothing(source, offset)
        for problem in problems.diagnostics:
            place = source.span_at(offset, offset + len(value))
            message = problem.message.replace("the file is", "the value is")
            sink.error("E113", message, place, help="quotes around the value make it a text")
        if found is not None:
            tree = _set(tree, steps, _moved(found, source), sink)
    return tree


def from_command_line(entry: Entry) -> bool:
    """Whether an entry comes from the command line."""
    return entry.key_span.source.name == COMMAND_LINE


def refuse(settings: Many[str], sink: Sink, flag: str = "--set ") -> None:
    """Report settings that were given for something else than a spec."""
    for setting in settings:
        source = Source(COMMAND_LINE, f"{flag}{setting}")
        sink.error(
            "E113",
            f"`{setting}` sets nothing: only a spec has options",
            source.span_at(len(flag), len(source.text)),
        )


def _nothing(source: Source, offset: int) -> Scalar:
    return Scalar(None, "", source.span_at(offset, offset + 1))


def _moved(tree: Tree, source: Source) -> Tree:
    """The same tree with its spans in the real text of the command line."""

    def move(span: Span) -> Span:
        return replace(span, source=source)

    if isinstance(tree, Scalar):
        return replace(tree, span=move(tree.span))
    if isinstance(tree, Sequence):
        items = tuple(_moved(item, source) for item in tree.items)
        return Sequence(items, move(tree.span))
    entries = tuple(Entry(e.key, move(e.key_span), _moved(e.value, source)) for e in tree.entries)
    return Mapping(entries, move(tree.span))


def _set(tree: Tree, steps: list[_Step], value: Tree, sink: Sink) -> Tree:
    if not steps:
        return value
    (key, span), rest = steps[0], steps[1:]
    if isinstance(tree, Sequence):
        number = int(key) if re.fullmatch("[0-9]{1,9}", key) else len(tree.items)
        if number >= len(tree.items):
            sink.error(
                "E113",
                f"`{key}` is not the number of an entry here",
                span,
                notes=[f"the entries are numbered from 0 to {len(tree.items) - 1}"],
            )
            return tree
        items = list(tree.items)
        items[number] = _set(items[number], rest, value, sink)
        return Sequence(tuple(items), tree.span)
    if isinstance(tree, Scalar):
        # `optimizer: em` becomes `em()`, so that it can take options.
        tree = Mapping((), tree.span, tree)
    entry = tree.get(key)
    inner = entry.value if entry is not None else Mapping((), span)
    return tree.with_entry(Entry(key, span, _set(inner, rest, value, sink)))
