"""The small language: text to a parse tree, every syntax error reported with what would fit.

One grammar (`grammars/spnc.lark`) describes recipes and circuits. What the trees mean is said in
`spnc.spec.dsl` and `spnc.graph.text`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import lark

from spnc.diagnostics import Sink, Source, Span, listed

_MOST_SYNTAX_ERRORS = 20
_STATEMENT = re.compile(
    r"^(?:(?:spnc|model|data|forest|residual|optimize|backend|smoothing|seed|lock|circuit|variables|root)"
    r"\b|[A-Za-z_][\w.-]*\s*=(?!=))"
)
_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a quoted text",
    "SOURCE": "a source such as builtin:digits",
    "TIMES": "a count such as `10 x`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "EQUAL": "`=`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "STAR": "`*`",
    "PLUS": "`+`",
    "SLASH": "`/`",
    "TILDE": "`~`",
    "$END": "the end of the file",
}


def grammar_text() -> str:
    """The grammar, from the installed package or from the source tree."""
    packaged = resources.files("spnc") / "grammars" / "spnc.lark"
    if packaged.is_file():
        return packaged.read_text(encoding="utf-8")
    beside = Path(__file__).resolve().parent.parent / "grammars" / "spnc.lark"
    return beside.read_text(encoding="utf-8")


@cache
def _parser() -> lark.Lark:
    return lark.Lark(
        grammar_text(), parser="lalr", start=["recipe", "circuit"], propagate_positions=True
    )


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
    for _ in range(_MOST_SYNTAX_ERRORS):
        try:
            tree = _parser().parse(text, start=start)
        except lark.exceptions.UnexpectedInput as error:
            line = _report(source, error, sink)
            mended = _without_statement(text, line)
            if mended == text:
                return None
            text = mended
        else:
            return tree if text == source.text else None
    return None


def span_of(source: Source, item: lark.Token | lark.Tree[Any]) -> Span:
    """Where a token or a tree stands in the source."""
    place = item.meta if isinstance(item, lark.Tree) else item
    line, column = place.line or 1, place.column or 1
    return source.span(line, column, place.end_line or line, place.end_column or column + 1)


def _report(source: Source, error: lark.exceptions.UnexpectedInput, sink: Sink) -> int:
    """Report one syntax error; answer the line it is on."""
    if isinstance(error, lark.exceptions.UnexpectedToken) and error.token.type != "$END":
        span = span_of(source, error.token)
        message = f"`{error.token}` does not fit here"
        expected = error.accepts or error.expected
    elif isinstance(error, lark.exceptions.UnexpectedToken):
        lines = source.lines or [""]
        last = max((i for i, text in enumerate(lines) if text.strip()), default=0)
        width = len(lines[last]) + 1
        span = source.span(last + 1, width, last + 1, width + 1)
        message = "the text ends too early"
        expected = error.accepts or error.expected
    else:
        assert isinstance(error, lark.exceptions.UnexpectedCharacters)
        span = source.span(error.line, error.column, error.line, error.column + 1)
        message = f"the character `{error.char}` does not fit here"
        expected = error.allowed or set()
    wanted = sorted({_WORDS.get(t, f"`{t.lower()}`") for t in expected if not t.startswith("__")})
    help = f"here could stand {listed(wanted, 12)}" if wanted else None
    sink.error("E102", message, span, help=help)
    return span.line


def _without_statement(text: str, line: int) -> str:
    """The text with the statement around a line blanked, so that parsing can go on after it."""
    lines = text.split("\n")
    start = line - 1
    while start > 0 and not _STATEMENT.match(lines[start]):
        start -= 1
    end = line
    while end < len(lines) and not _STATEMENT.match(lines[end]):
        end += 1
    inside = range(start, end)
    if lines[start].startswith(("forest", "variables")) and line - 1 > start:
        inside = range(line - 1, line)  # one entry of a block: its braces stay
    return "\n".join("" if i in inside else each for i, each in enumerate(lines))
