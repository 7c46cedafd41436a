"""Syntax errors of questions: what is wrong, and what could stand there instead."""

from __future__ import annotations

import re
from collections.abc import Iterable

import lark

from spnc.diagnostics import Sink, Source, nearest
from spnc.language.brackets import CLOSING
from spnc.language.expected import expected_text
from spnc.questions.splitting import Piece

_NAME = "a name or a value"
_TOKENS = {  # kinds of token in the words of a message
    "WORD": _NAME,
    "STRING": _NAME,
    "BACKTICKED": _NAME,
    "ESCAPED": _NAME,
    "NUMBER": "a number",
    "DATE": "a date",
    "COMPARE": "a comparison such as `=`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "COMMA": "`,`",
    "SEMICOLON": "`;`",
    "VBAR": "`|`",
    "STAR": "`*`",
    "TO": "`..`",
    "$END": "the end of the question",
}
_WRITTEN = {"VAR": "Var", **{word: word for word in ("P", "E", "SD", "H", "MI")}}
_OTHER_WORDS = {  # how a question may begin elsewhere, and how it does here
    "pr": "P(…)",
    "prob": "P(…)",
    "probability": "P(…)",
    "mean": "E[…]",
    "average": "E[…]",
    "expectation": "E[…]",
    "std": "SD[…]",
    "stddev": "SD[…]",
    "variance": "Var[…]",
    "percentile": "quantile[column, 0.9]",
    "entropy": "H[…]",
    "mutual": "MI[a; b]",
    "map": "most likely …",
    "mpe": "most likely …",
    "mode": "most likely …",
    "draw": "sample 5 of …",
    "pdf": "density of …",
    "distribution": "density of …",
}
_BAD_QUOTES = "“”„‘’«»"


def report_open_bracket(source: Source, offset: int, sink: Sink) -> None:
    """Report a bracket that is never closed."""
    bracket = source.text[offset]
    message, help = f"`{bracket}` is not closed", f"close it with `{CLOSING[bracket]}`"
    sink.error("E801", message, source.span_at(offset, offset + 1), help=help)


def report(
    source: Source, piece: Piece, error: lark.exceptions.UnexpectedInput, sink: Sink
) -> None:
    """Report the syntax error at which the parser stopped."""
    text = source.text[piece.start : piece.stop]
    if isinstance(error, lark.exceptions.UnexpectedToken):
        at_end = error.token.type == "$END"
        found = "" if at_end else str(error.token)
        start = _end_of(text) if at_end else error.token.start_pos or 0
        expected = error.accepts or error.expected
    else:
        assert isinstance(error, lark.exceptions.UnexpectedCharacters)
        start, at_end = error.pos_in_stream or 0, False
        found = _unknown(text, start)
        expected = error.allowed or set()
    at = piece.start + start
    span = source.span_at(at, at + max(1, len(found)))
    message, help = _explained(found, text[:start], text[start + len(found) :], expected)
    sink.error("E801", message, span, help=help)


def _explained(found: str, before: str, after: str, expected: set[str]) -> tuple[str, str | None]:
    """Return the message about a part of a question, and what to do."""
    keywords = keywords_of(expected)
    signs = {_TOKENS[t] for t in expected if t in _TOKENS}
    if _NAME in signs:
        signs -= {"a number", "a date"}
    suggestion = expected_text([*signs, *(f"`{word}`" for word in keywords)])
    if not found:
        return "the text ends too early", suggestion
    if found in "\"'`":
        return "this quote is not closed on its line", f"end the text with {found}"
    if found in _BAD_QUOTES:
        return f"`{found}` does not begin a text", "use the quotes \" or ' or `"
    message = f"`{found}` does not fit here"
    if not found.isprintable():
        return f"the character U+{ord(found[0]):04X} does not fit here", suggestion
    if expected == {"TO"}:
        return message, "`in` takes a range `a..b` or a set `{a, b}`; for one value write `=`"
    if not before.strip():
        if found.lower() in _OTHER_WORDS:
            return message, f"write `{_OTHER_WORDS[found.lower()]}`"
        if re.match(r"\s*(=|!=|<|>|≤|≥|in\b|not\b)", after):
            return message, "to ask for the probability of an event, write `P(…)` around it"
    if found in "&∧" or found in "∨":
        return message, f"write `{'or' if found == '∨' else 'and'}`"
    if found == "|" and before.rstrip().endswith("|"):
        return message, "write `or`"
    if found == "|" and "VBAR" not in expected and "|" in before:
        return message, "a question has one `|`; put all evidence after it, separated by `,`"
    near = nearest(found, keywords)
    if near is not None:
        return message, f"did you mean `{near}`?"
    if {"COMPARE"} & expected and re.match(r"[^\W\d]", found):
        quoted = "a name or label of several words needs quotes"
        return message, f"{quoted}; otherwise {suggestion}"
    return message, suggestion


def keywords_of(tokens: Iterable[str]) -> list[str]:
    """Return the keywords among kinds of token, as they are written."""
    own = sorted(t for t in tokens if not t.startswith("__") and t not in _TOKENS)
    return [_WRITTEN.get(t, t.lower()) for t in own]


def _unknown(text: str, start: int) -> str:
    """Return the word that begins at an offset, or one character."""
    word = re.match(r"[\w.-]+", text[start:])
    return word[0] if word else text[start]


def _end_of(text: str) -> int:
    """Return the offset after the last character that is not in a comment."""
    return len(re.sub(r"#[^\n\"'`]*\Z", "", text).rstrip())
