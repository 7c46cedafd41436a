"""Brackets in a text of the language."""

from __future__ import annotations

import re
from collections.abc import Iterator

DEEPEST = 100  # brackets within brackets; specs nest two or three
CLOSING = {"(": ")", "[": "]", "{": "}"}
_BRACKETS = re.compile(r"""#[^\n]*|"[^"\n]*"|'[^'\n]*'|`[^`\n]*`|[()\[\]{}]""")


def open_at(text: str, stop: int) -> int | None:
    """The offset of the innermost bracket that is open at an offset."""
    opened: list[int] = []
    for i in _offsets(text[:stop]):
        if text[i] in CLOSING:
            opened.append(i)
        elif opened:
            opened.pop()
    return opened[-1] if opened else None


def too_deep(text: str) -> int | None:
    """The offset of the first bracket that is nested deeper than allowed."""
    depth = 0
    for i in _offsets(text):
        depth = depth + 1 if text[i] in CLOSING else max(0, depth - 1)
        if depth > DEEPEST:
            return i
    return None


def _offsets(text: str) -> Iterator[int]:
    """Where brackets stand, outside comments and quoted texts."""
    return (m.start() for m in _BRACKETS.finditer(text) if m[0] in "()[]{}")
