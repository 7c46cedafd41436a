"""Syntax errors of the language: what is wrong, and what could stand there instead.

After an error has been reported, the statement that it is in is replaced by blanks, so that the
rest of the text can be parsed and its errors reported too. Offsets stay the same.
"""

from __future__ import annotations

import re
from functools import cache

import lark

from spnc.diagnostics import Sink, Source, Span, nearest
from spnc.language.brackets import CLOSING, open_at
from spnc.language.expected import expected_text
from spnc.language.grammar import parser, span_of

_STATEMENT = {  # how the first line of a statement begins
    "recipe": re.compile(
        r"\s*(?:spnc|model|plugins|data|forest|shares|residual|optimize|objective|backend|smoothing|"
        r"prune|limits|cluster|seed|search|lock)\b(?!\s*=)"
    ),
    "circuit": re.compile(r"\s*(?:(?:circuit|variables|root)\b|[A-Za-z_][\w.-]*\s*=)"),
}
_AFTER = {  # the kinds of token that may follow a keyword
    "spnc": ("NUMBER",),
    "seed": ("NUMBER", "SEARCH"),
    "shares": ("NAME", "SEARCH"),
    "smoothing": ("NUMBER", "LPAR", "SEARCH"),
    **dict.fromkeys(("residual", "optimize"), ("NAME", "SEARCH")),
    **dict.fromkeys(("objective", "backend", "circuit", "root"), ("NAME",)),
    **dict.fromkeys(("forest", "variables"), ("LBRACE",)),
    "model": ("NAME", "STRING"),
    "plugins": ("LSQB",),
    "data": ("SOURCE", "FILE", "STRING", "LPAR", "SPLIT"),
    "prune": ("LPAR", "SEARCH"),
    **dict.fromkeys(("limits", "cluster", "search", "lock"), ("LPAR",)),
}
_TOKENS = {  # kinds of token in the words of a message
    "NAME": "a name",
    "NUMBER": "a number",
    "INFINITY": "a number",
    "AMOUNT": "a number",
    "STRING": "a quoted text",
    "ESCAPED": "a quoted text",
    "SOURCE": "a source such as builtin:digits",
    "FILE": "a file such as rows.csv",
    "PATH": "a path such as data/rows.csv",
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
_QUOTED_FILE = (
    "a file name needs quotes unless it is made of letters, digits and `/~_-.`, with a dot or a "
    "slash among them"
)


def report(
    source: Source, text: str, start: str, error: lark.exceptions.UnexpectedInput, sink: Sink
) -> str | None:
    """Report one syntax error; return the text without it, or None if nothing more can be found.

    `text` is the source's text without what was reported before; `start` is `recipe` or `circuit`.
    """
    if isinstance(error, lark.exceptions.UnexpectedToken):
        stray = _stray_name(error, text)
        if stray is not None:
            span = span_of(source, stray)
            sink.error("E102", f"`{stray}` does not fit here", span)
            return _without_statement(text, start, span.line)
        return _TokenError(source, text, start, error, sink).report()
    assert isinstance(error, lark.exceptions.UnexpectedCharacters)
    return _CharacterError(source, text, start, error, sink).report()


class _Error:
    """One syntax error, at an offset of the text."""

    def __init__(
        self, source: Source, text: str, start: str, offset: int, expected: set[str], sink: Sink
    ) -> None:
        self.source, self.text, self.start, self.sink = source, text, start, sink
        self.offset, self.expected = offset, expected
        here = source.span_at(offset, offset)
        self.line = here.line
        self.before = source.lines[here.line - 1][: here.column - 1].strip()
        self.begins = _STATEMENT[start].match(source.lines[self.line - 1]) is not None
        self.at_end = False
        self.next_entry = False  # whether a block's next entry, or its end, stands here

    @property
    def suggestion(self) -> str | None:
        """What could stand here."""
        return expected_text(
            _TOKENS.get(t, f"`{t.lower()}`") for t in self.expected if not t.startswith("__")
        )

    def report_open_bracket(self) -> tuple[bool, str | None]:
        """Report a bracket left open before this place: whether there is one, and the text left."""
        opened = open_at(self.text, self.offset)
        if opened is None:
            return False, None
        closes = self.text[opened] != "{" and self.text[self.offset : self.offset + 1] == "}"
        if not (self.at_end or self.begins or self.next_entry or closes):
            return False, None
        span = self.source.span_at(opened, opened + 1)
        if not self.at_end and span.line >= self.line:
            return False, None
        bracket = self.text[opened]
        place = "the end" if self.at_end else f"line {self.line}"
        help = f"close it with `{CLOSING[bracket]}` before {place}"
        self.sink.error("E102", f"`{bracket}` is not closed", span, help=help)
        left = None if self.at_end else _blanked(self.text, span.line - 1, self.line - 1)
        return True, left

    def end(self, message: str, span: Span, help: str | None) -> str:
        """Report the error itself; return the text without the statement that it is in."""
        self.sink.error("E102", message, span, help=help)
        return _without_statement(self.text, self.start, self.line)


class _TokenError(_Error):
    """A token that does not fit where it stands, or the end of the text."""

    def __init__(
        self,
        source: Source,
        text: str,
        start: str,
        error: lark.exceptions.UnexpectedToken,
        sink: Sink,
    ) -> None:
        at_end = error.token.type == "$END"
        offset = len(text.rstrip()) if at_end else error.token.start_pos or 0
        super().__init__(source, text, start, offset, error.accepts or error.expected, sink)
        self.token, self.at_end = error.token, at_end
        self.next_entry = error.token.type == "TIMES"

    def report(self) -> str | None:
        is_open, left = self.report_open_bracket()
        if is_open:
            return left
        if self.at_end:
            span = self.source.span_at(self.offset, self.offset + 1)
            return self.end("the text ends too early", span, self.suggestion)
        # `a =` where an operator should be: `a` was taken for the end of the line before it.
        defines = self.start == "circuit" and self.token == "="
        defines = defines and re.fullmatch(r"[\w.-]+", self.before) is not None
        if defines and self.before in _keywords():
            message = f"`{self.before}` is a word of the language, and cannot be the name of a node"
            word = self.text.rfind(self.before, 0, self.offset)
            span = self.source.span_at(word, word + len(self.before))
            return self.end(message, span, f"call it `{self.before}_node`, say")
        unfinished = self._unfinished(defines)
        if unfinished is not None:
            return unfinished
        near = nearest(self.token, [t.lower() for t in self.expected if t.lower() in _keywords()])
        help = _QUOTED_FILE if self.before == "data" else self.suggestion
        help = f"did you mean `{near}`?" if near is not None else help
        return self.end(f"`{self.token}` does not fit here", span_of(self.source, self.token), help)

    def _unfinished(self, defines: bool) -> str | None:
        """Report the statement before this line if its end is missing; return the text left."""
        # `root a` where something else should be: `root` was taken for that.
        misread = self.token.type in _AFTER.get(self.before, ())
        new = (not self.before and self.token in _keywords()) or defines or misread
        last = _line_before(self.text, self.line)
        if not (self.begins and new) or last is None:
            return None
        end = len(self.source.lines[last - 1].split("#")[0].rstrip()) + 1
        span = self.source.span(last, end, last, end + 1)
        help = self.suggestion if not self.before else None
        self.sink.error("E102", "this statement is not complete", span, help=help)
        return _blanked(self.text, _first_line(self.text, self.start, last), self.line - 1)


class _CharacterError(_Error):
    """A character that begins no token that fits."""

    def __init__(
        self,
        source: Source,
        text: str,
        start: str,
        error: lark.exceptions.UnexpectedCharacters,
        sink: Sink,
    ) -> None:
        expected = error.allowed or set()
        super().__init__(source, text, start, error.pos_in_stream or 0, expected, sink)

    def report(self) -> str | None:
        is_open, left = self.report_open_bracket()
        if is_open:
            return left
        char = self.text[self.offset]
        message, help = f"the character `{char}` does not fit here", self.suggestion
        if char in "\"'":
            message, help = "this quote is not closed on its line", f"end the text with {char}"
        elif not char.isprintable():
            message = f"the character U+{ord(char):04X} does not fit here"
        elif "STRING" in self.expected and (char in "./~\\" or self.before == "data"):
            help = _QUOTED_FILE
        elif not char.isascii():
            help = "names are made of a to z, A to Z, digits, `_`, and `-` or `.` between them"
        return self.end(message, self.source.span_at(self.offset, self.offset + 1), help)


def _stray_name(error: lark.exceptions.UnexpectedToken, text: str) -> lark.Token | None:
    """A superfluous word at the end of a line, taken for the beginning of a definition.

    In `a = 0.5 b c`, `c` is read as the next node's name, and the error shows a line later.
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
    return frozenset(t.name.lower() for t in parser().terminals if t.name.isalpha()) - {
        t.lower() for t in _TOKENS
    }


def _blanked(text: str, first: int, last: int) -> str:
    """The text with the lines first … last-1, counted from 0, made blank."""
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
    """The text with the statement around a line made blank."""
    lines = text.split("\n")
    begins = _STATEMENT[start].match
    first = _first_line(text, start, line)
    if lines[first].lstrip().startswith(("forest", "variables")) and line - 1 > first:
        return _blanked(text, line - 1, line)  # one entry of a block: its braces stay
    last = line
    while last < len(lines) and not begins(lines[last]):
        last += 1
    return _blanked(text, first, last)
