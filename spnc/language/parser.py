"""The small language: text to a parse tree, every syntax error reported with what would fit.

One grammar (`grammars/spnc.lark`) describes recipes and circuits. What the trees mean is said in
`spnc.spec.dsl` and `spnc.graph.text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import lark

from spnc.diagnostics import Sink, Source, Span, listed, nearest

_MOST_SYNTAX_ERRORS = 20
_DEEPEST = 100  # brackets within brackets
_STATEMENT = {  # how a line begins that begins a statement
    "recipe": re.compile(
        r"\s*(?:spnc|model|data|forest|residual|optimize|backend|smoothing|prune|seed|search|lock)"
        r"\b(?!\s*=)"
    ),
    "circuit": re.compile(r"\s*(?:(?:circuit|variables|root)\b|[A-Za-z_][\w.-]*\s*=)"),
}
_CIRCUIT = re.compile(r"^\s*(?:variables\s*\{|[\w.-]+\s*=\s*[\w.-]+\s*~)", re.MULTILINE)
_AFTER = {  # the kinds of word that may follow a keyword
    "spnc": ("NUMBER",),
    "seed": ("NUMBER", "SEARCH"),
    "smoothing": ("NUMBER", "LPAR", "SEARCH"),
    **dict.fromkeys(("residual", "optimize"), ("NAME", "SEARCH")),
    **dict.fromkeys(("backend", "circuit", "root"), ("NAME",)),
    **dict.fromkeys(("forest", "variables"), ("LBRACE",)),
    "model": ("NAME", "STRING"),
    "data": ("SOURCE", "STRING", "LPAR", "SPLIT"),
    "prune": ("LPAR", "SEARCH"),
    **dict.fromkeys(("search", "lock"), ("LPAR",)),
}
_BRACKETS = re.compile(r"""#[^\n]*|"[^"\n]*"|'[^'\n]*'|[()\[\]{}]""")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
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
    beside = Path(__file__).resolve().parents[2] / "grammars" / "spnc.lark"
    return beside.read_text(encoding="utf-8")


@cache
def _parser() -> lark.Lark:
    return lark.Lark(
        grammar_text(),
        parser="lalr",
        start=["recipe", "circuit"],
        propagate_positions=True,
        edit_terminals=_end_at_word,
    )


def _end_at_word(terminal: lark.lexer.TerminalDef) -> None:
    """A keyword is a whole word: without this, `modell x` would be read as `model l x`."""
    pattern = terminal.pattern
    if isinstance(pattern, lark.lexer.PatternStr) and pattern.value.isidentifier():
        terminal.pattern = lark.lexer.PatternRE(rf"{pattern.value}(?![\w.-])")
        terminal.priority = 1  # before names, which it also looks like


KEYWORDS = ("circuit", "variables", "root")  # in a circuit, a name that is one has to be quoted
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*([.-][A-Za-z0-9_]+)*")  # as in the grammar


def quoted(text: str) -> str:
    """A text in quotes; a quote inside is doubled."""
    return '"' + text.replace('"', '""') + '"'


def unquoted(text: str) -> str:
    """What a quoted text, or a bare name, stands for."""
    if text[:1] not in ('"', "'"):
        return text
    return text[1:-1].replace(text[0] * 2, text[0])


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
    if (deep := _too_deep(text)) is not None:
        message = f"brackets are nested more than {_DEEPEST} deep"
        sink.error("E102", message, source.span_at(deep, deep + 1), help="name the inner parts")
        return None
    for _ in range(_MOST_SYNTAX_ERRORS):
        try:
            tree = _parser().parse(text, start=start)
        except lark.exceptions.UnexpectedInput as error:
            mended = _report(source, text, start, error, sink)
            if mended is None or mended == text:
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


def _report(
    source: Source, text: str, start: str, error: lark.exceptions.UnexpectedInput, sink: Sink
) -> str | None:
    """Report one syntax error; answer the text without it, so that parsing can go on, or None."""
    if isinstance(error, lark.exceptions.UnexpectedToken):
        if (stray := _stray_name(error, text)) is not None:
            span = span_of(source, stray)
            sink.error("E102", f"`{stray}` does not fit here", span)
            return _without_statement(text, start, span.line)
        at_end = error.token.type == "$END"
        offset = len(text.rstrip()) if at_end else error.token.start_pos or 0
        expected = error.accepts or error.expected
    else:
        assert isinstance(error, lark.exceptions.UnexpectedCharacters)
        at_end, offset, expected = False, error.pos_in_stream, error.allowed or set()
    here = source.span_at(offset, offset)
    line, before = here.line, source.lines[here.line - 1][: here.column - 1].strip()
    begins = _STATEMENT[start].match(source.lines[line - 1]) is not None

    opened = _open_at(text, offset)
    entry = opened is not None and text[opened] != "{" and text[offset : offset + 1] == "}"
    if isinstance(error, lark.exceptions.UnexpectedToken):
        entry |= error.token.type == "TIMES"  # the next entry of a block, or its end
    if opened is not None and (at_end or begins or entry):
        span = source.span_at(opened, opened + 1)
        if at_end or span.line < line:
            bracket = text[opened]
            place = "the end" if at_end else f"line {line}"
            mend = f"close it with `{_CLOSING[bracket]}` before {place}"
            sink.error("E102", f"`{bracket}` is not closed", span, help=mend)
            return None if at_end else _blanked(text, span.line - 1, line - 1)

    keywords = [t.lower() for t in expected if t.lower() in _keywords()]
    words = {_WORDS.get(t, f"`{t.lower()}`") for t in expected if not t.startswith("__")}
    plain_first = sorted(words, key=lambda word: (word.startswith("`"), word))
    help = f"here could stand {listed(plain_first, 12)}" if words else None
    if at_end:
        span = source.span_at(offset, offset + 1)
        message = "the text ends too early"
    elif isinstance(error, lark.exceptions.UnexpectedToken):
        token = str(error.token)
        # `a =` where an operator should be: `a` was taken for the end of the line before it.
        defines = start == "circuit" and token == "=" and re.fullmatch(r"[\w.-]+", before)
        if defines and before in _keywords():
            message = f"`{before}` is a word of the language, and cannot be the name of a node"
            word = text.rfind(before, 0, offset)
            span = source.span_at(word, word + len(before))
            sink.error("E102", message, span, help=f"call it `{before}_node`, say")
            return _without_statement(text, start, line)
        # `root a` where something else should be: `root` was taken for that.
        misread = error.token.type in _AFTER.get(before, ())
        unfinished = (not before and token in _keywords()) or defines or misread
        if begins and unfinished and (last := _line_before(text, line)) is not None:
            end = len(source.lines[last - 1].split("#")[0].rstrip()) + 1
            span = source.span(last, end, last, end + 1)
            message = "this statement is not complete"
            sink.error("E102", message, span, help=help if not before else None)
            return _blanked(text, _first_line(text, start, last), line - 1)
        span = span_of(source, error.token)
        message = f"`{token}` does not fit here"
        near = nearest(token, keywords)
        help = f"did you mean `{near}`?" if near is not None else help
    else:
        span = source.span_at(offset, offset + 1)
        char = text[offset]
        message = f"the character `{char}` does not fit here"
        if char in "\"'":
            message, help = "this quote is not closed on its line", f"end the text with {char}"
        elif not char.isprintable():
            message = f"the character U+{ord(char):04X} does not fit here"
        elif char in "./~\\" and "STRING" in expected:
            help = "the name of a file stands in quotes"
        elif not char.isascii():
            help = "names are made of a to z, A to Z, digits, `_`, and `-` or `.` between them"
    sink.error("E102", message, span, help=help)
    return _without_statement(text, start, line)


def _stray_name(error: lark.exceptions.UnexpectedToken, text: str) -> lark.Token | None:
    """A word too many at the end of a line, which was taken for the beginning of a definition.

    In `a = 0.5 b c`, `c` is read as the next node's name, and the trouble shows a line later.
    """
    name = error.token_history[-1] if error.token_history else None
    if not isinstance(name, lark.Token) or error.accepts != {"EQUAL"}:
        return None
    start, next_start = name.start_pos or 0, error.token.start_pos
    begins_line = not text[text.rfind("\n", 0, start) + 1 : start].strip()
    same_line = next_start is not None and "\n" not in text[start:next_start]
    return None if begins_line or same_line else name


@cache
def _keywords() -> frozenset[str]:
    return frozenset(t.name.lower() for t in _parser().terminals if t.name.isalpha()) - {
        t.lower() for t in _WORDS
    }


def _bracket_offsets(text: str) -> Iterator[int]:
    """Where brackets stand, outside comments and quoted texts."""
    return (m.start() for m in _BRACKETS.finditer(text) if m[0] in "()[]{}")


def _open_at(text: str, stop: int) -> int | None:
    """The offset of the innermost bracket that is open at an offset."""
    opened: list[int] = []
    for i in _bracket_offsets(text[:stop]):
        if text[i] in _CLOSING:
            opened.append(i)
        elif opened:
            opened.pop()
    return opened[-1] if opened else None


def _too_deep(text: str) -> int | None:
    """The offset of the first bracket that lies too deep."""
    depth = 0
    for i in _bracket_offsets(text):
        depth = depth + 1 if text[i] in _CLOSING else max(0, depth - 1)
        if depth > _DEEPEST:
            return i
    return None


def _blanked(text: str, first: int, last: int) -> str:
    """The text with the lines first … last-1, counted from 0, made empty. Offsets stay."""
    lines = text.split("\n")
    for i in range(first, last):
        lines[i] = " " * len(lines[i])
    return "\n".join(lines)


def _first_line(text: str, start: str, line: int) -> int:
    """The first line, counted from 0, of the statement that a line, counted from 1, is in."""
    lines = text.split("\n")
    first = line - 1
    while first > 0 and not _STATEMENT[start].match(lines[first]):
        first -= 1
    return first


def _line_before(text: str, line: int) -> int | None:
    """The last line before another that holds more than a comment; both counted from 1."""
    lines = text.split("\n")[: line - 1]
    return next((i for i in range(len(lines), 0, -1) if lines[i - 1].split("#")[0].strip()), None)


def _without_statement(text: str, start: str, line: int) -> str:
    """The text with the statement around a line blanked."""
    lines = text.split("\n")
    begins = _STATEMENT[start].match
    first = _first_line(text, start, line)
    if lines[first].lstrip().startswith(("forest", "variables")) and line - 1 > first:
        return _blanked(text, line - 1, line)  # one entry of a block: its braces stay
    last = line
    while last < len(lines) and not begins(lines[last]):
        last += 1
    return _blanked(text, first, last)
