"""From a text in the language to a parse tree; every syntax error is reported."""

from __future__ import annotations

import re
from typing import Any

import lark

from spnc.diagnostics import Sink, Source
from spnc.language.brackets import DEEPEST, too_deep
from spnc.language.grammar import parser
from spnc.language.syntax_errors import report

_MOST_SYNTAX_ERRORS = 20  # reported of one text; those after them are mostly consequences
_CIRCUIT = re.compile(r"^\s*(?:variables\s*\{|[\w.-]+\s*=\s*[\w.-]+\s*~)", re.MULTILINE)


def opens_circuit(text: str) -> bool:
    """Whether a text of the language is a circuit; otherwise it is a recipe."""
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words:
            return words[0] == "circuit"
    return False


def parse(source: Source, start: str, sink: Sink) -> lark.Tree[Any] | None:
    """The parse tree of a recipe or a circuit, or None after reporting every syntax error."""
    text = source.text
    if start == "recipe" and (found := _CIRCUIT.search(text)):
        at = found.end() - len(found[0].lstrip())
        sink.error(
            "E102",
            "this is written like a circuit, but does not begin with `circuit`",
            source.span_at(at, found.end()),
            help="a circuit's first line is `circuit NAME`; anything else is a spec",
        )
        return None
    if (deep := too_deep(text)) is not None:
        message = f"brackets are nested more than {DEEPEST} deep"
        sink.error("E102", message, source.span_at(deep, deep + 1), help="name the inner parts")
        return None
    for _ in range(_MOST_SYNTAX_ERRORS):
        try:
            tree = parser().parse(text, start=start)
        except lark.exceptions.UnexpectedInput as error:
            without = report(source, text, start, error, sink)
            if without is None or without == text:
                return None
            text = without
        else:
            return tree if text == source.text else None
    return None
