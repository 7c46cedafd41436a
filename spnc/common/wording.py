"""Text for people: making hidden characters visible, measuring widths, durations."""

from __future__ import annotations

import re
import unicodedata

# Characters that a terminal or a page obeys or hides instead of showing: control characters,
# changes of writing direction, unusual line ends, and characters without width. Joiners are not
# among them: emoji and some scripts need them.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)


_HALF = re.compile("[\ud800-\udfff]")


def half_character(text: str) -> str | None:
    """Return the first lone surrogate of a text as `U+D800`, which no file of text can hold."""
    found = _HALF.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def visible(text: str, keep: str = "") -> str:
    """Return the text with hidden characters written as `<U+202E>`, and tabs as spaces.

    All text from files passes through here on its way to a terminal or a page. Characters in
    `keep` stay.
    """

    def shown(found: re.Match[str]) -> str:
        character = found[0]
        if character in keep:
            return character
        return " " if character == "\t" else f"<U+{ord(character):04X}>"

    return _HIDDEN.sub(shown, text)


def width(text: str) -> int:
    """Return how many terminal columns a text takes: two for wide letters and emoji."""
    return sum(map(_width, text))


def clipped(text: str, limit: int) -> str:
    """Return the visible text, cut with `…` to at most `limit` terminal columns."""
    text = visible(text)
    if width(text) <= limit:
        return text
    room, end = limit - 1, 0
    while room >= _width(text[end]):
        room -= _width(text[end])
        end += 1
    return text[:end] + "…"


def _width(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def with_article(noun: str) -> str:
    """Return a noun or a plug-in's name with its indefinite article: "an indicator", "a sum"."""
    return f"an {noun}" if noun[:1].lower() in ("a", "e", "i", "o", "u") else f"a {noun}"


def duration(seconds: float) -> str:
    """Return a time span as people say it: `42 ms`, `1 min 02 s`."""
    if seconds < 59.95:
        short = 0.0 < seconds < 0.1
        return f"{1000 * seconds:.0f} ms" if short else f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60:,} h {minutes % 60} min"
