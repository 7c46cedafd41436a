"""Splitting a text into questions: at line ends and `;` outside brackets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spnc.language.brackets import CLOSING

# Comments, quoted texts, and what separates questions or makes a bracket.
_MARKS = re.compile(r"""#[^\n]*|"[^"\n]*"|'[^'\n]*'|`[^`\n]*`|[()\[\]{}\n;]""")
# How a question begins; nothing inside brackets looks like this.
_BEGINS = re.compile(
    r"\s*(?:P\s*\(|(?:E|SD|Var|median|quantile|H|MI)\s*\[|most\s+likely\b|sample\s+\d|density\s+of\b)"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A question's place in a text; `open_bracket` is the offset of a bracket left open in it."""

    start: int
    stop: int
    open_bracket: int | None = None


def split(text: str) -> list[Piece]:
    """Return the questions of a text, without blank lines and comments of their own.

    A bracket that is not closed before the next question, or never, ends with its line, so that
    what follows is read as well.
    """
    found: list[Piece] = []
    start = 0
    while start < len(text):
        piece = _first(text, start)
        if _content(text, piece):
            found.append(piece)
        start = piece.stop + 1
    return found


def _first(text: str, start: int) -> Piece:
    """Return the question that begins at an offset."""
    opened: list[int] = []
    for mark in _MARKS.finditer(text, start):
        if mark[0] in CLOSING:
            opened.append(mark.start())
        elif opened and mark[0] == CLOSING[text[opened[-1]]]:
            opened.pop()
        elif mark[0] in ("\n", ";") and not opened:
            return Piece(start, mark.start())
        elif mark[0] == "\n" and _BEGINS.match(text, mark.end()):
            break
    if not opened:
        return Piece(start, len(text))
    end = text.find("\n", opened[-1])
    return Piece(start, end if end >= 0 else len(text), opened[-1])


def _content(text: str, piece: Piece) -> str:
    """Return a question without comments and white space."""
    part = text[piece.start : piece.stop]
    return _MARKS.sub(lambda m: "" if m[0].startswith("#") else m[0], part).strip()
