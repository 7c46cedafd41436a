"""The end of a syntax error's message: what could stand in a place."""

from __future__ import annotations

from collections.abc import Iterable

_MOST_LISTED = 16  # as many as there are kinds of statement in a recipe


def expected_text(words: Iterable[str]) -> str | None:
    """Return `expected a, b or c`, plain words before those in backticks; None without words."""
    found = set(words)
    plain_first = sorted(found, key=lambda word: (word.startswith("`"), word))
    if len(found) > _MOST_LISTED:
        plain_first[_MOST_LISTED:] = [f"one of {len(found) - _MOST_LISTED} others"]
    *first, last = plain_first or [""]
    return f"expected {', '.join(first)}{' or ' if first else ''}{last}" if found else None
