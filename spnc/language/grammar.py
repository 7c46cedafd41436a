"""Grammars, opened for parsing, and how names and quoted texts are written in it."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import lark

from spnc.diagnostics import Source, Span

KEYWORDS = ("circuit", "variables", "root")  # in a circuit, a name that is one has to be quoted
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*")  # as in the grammar
_NEEDS_ESCAPES = re.compile("[\n\r\ud800-\udfff]")  # line ends, and what is not valid UTF-8


def grammar_text(file: str) -> str:
    """A grammar, from the installed package or from the source tree."""
    packaged = resources.files("spnc") / "grammars" / file
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    beside = Path(__file__).resolve().parents[2] / "grammars" / file
    return beside.read_text(encoding="utf-8")


@cache
def parser() -> lark.Lark:
    """The parser of recipes and circuits; its start is `recipe` or `circuit`."""
    return parser_of("spnc.lark", ("recipe", "circuit"))


@cache
def parser_of(file: str, starts: tuple[str, ...]) -> lark.Lark:
    """The parser that a grammar file describes; keywords match whole words only."""
    return lark.Lark(
        grammar_text(file),
        parser="lalr",
        start=list(starts),
        propagate_positions=True,
        edit_terminals=_end_at_word,
    )


def _end_at_word(terminal: lark.lexer.TerminalDef) -> None:
    """Make a keyword match whole words only: `modell x` is not `model l x`."""
    pattern = terminal.pattern
    if isinstance(pattern, lark.lexer.PatternStr) and pattern.value.isidentifier():
        terminal.pattern = lark.lexer.PatternRE(rf"{pattern.value}(?![\w.-])")
        terminal.priority = 1  # before names, which keywords look like


def span_of(source: Source, item: lark.Token | lark.Tree[Any]) -> Span:
    """Where a token or a tree stands in the source."""
    place = item.meta if isinstance(item, lark.Tree) else item
    line, column = place.line or 1, place.column or 1
    return source.span(line, column, place.end_line or line, place.end_column or column + 1)


def quoted(text: str) -> str:
    """A text in quotes; a quote inside is doubled."""
    return '"' + text.replace('"', '""') + '"'


def quoted_on_one_line(text: str) -> str:
    """A text in quotes as circuits write it: with escapes if it cannot stand on one line."""
    if not _NEEDS_ESCAPES.search(text):
        return quoted(text)
    return "e" + '"' + json.dumps(text)[1:-1].replace('\\"', "\\u0022") + '"'


def unquoted(text: str) -> str:
    """The text that a quoted text, or a bare name, stands for."""
    if text.startswith('e"'):
        return str(json.loads(text[1:], strict=False))
    if text[:1] not in ('"', "'", "`"):
        return text
    return text[1:-1].replace(text[0] * 2, text[0])
