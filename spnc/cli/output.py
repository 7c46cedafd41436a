"""Printing for people: aligned tables, lines, diagnostics."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

from spnc.common.wording import visible, width
from spnc.diagnostics import Diagnostic, render


def complain(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics to standard error, in colour if that is a terminal."""
    found = list(diagnostics)
    if found:
        colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        print(render(found, colour=colour), file=sys.stderr)


def say(text: str = "", *, aside: bool = False) -> None:
    """Print lines for people, to standard error with `aside`.

    All text for people is printed here: hidden characters are made visible, so that a name in a
    table cannot send commands to the terminal.
    """
    print(visible(text, keep="\n"), file=sys.stderr if aside else sys.stdout)


def table(
    head: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1, right: int = 0
) -> str:
    """Return rows as an aligned table; the first `left` and last `right` are left-aligned."""
    cells = [[cell(value) for value in row] for row in rows]
    head = [visible(name) for name in head]
    widths = [max(width(r[i]) for r in [head, *cells]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        parts = []
        for i, (text, wide) in enumerate(zip(row, widths, strict=True)):
            room = " " * (wide - width(text))
            leftwards = i < left or i >= len(head) - right
            parts.append(text + room if leftwards else room + text)
        return ("  " + "  ".join(parts)).rstrip()

    rule = "  " + "  ".join("─" * wide for wide in widths)
    return "\n".join([line(head), rule, *(line(row) for row in cells)])


def cell(value: object) -> str:
    """Return a value as tables show it."""
    if value is None:
        return "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4f}"
    return visible(str(value))
