"""Text for people: tables that line up, lines, diagnostics."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

from spnc.common.wording import visible, width
from spnc.diagnostics import Diagnostic, render
from spnc.diagnostics import writing as writing


def complain(diagnostics: Iterable[Diagnostic]) -> None:
    """Diagnostics on the error stream, in colour where that is a terminal."""
    found = list(diagnostics)
    if found:
        colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        print(render(found, colour=colour), file=sys.stderr)


def say(text: str = "", *, aside: bool = False) -> None:
    """Lines for people, `aside` on the error stream; what names hide in them is made visible.

    Nothing else prints what people read: a name in a table must not command a terminal.
    """
    print(visible(text, keep="\n"), file=sys.stderr if aside else sys.stdout)


def table(head: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> str:
    """Rows in columns: the first `left` to the left, the others to the right."""
    cells = [[cell(value) for value in row] for row in rows]
    head = [visible(name) for name in head]
    widths = [max(width(r[i]) for r in [head, *cells]) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        parts = []
        for i, (text, wide) in enumerate(zip(row, widths, strict=True)):
            room = " " * (wide - width(text))
            parts.append(text + room if i < left else room + text)
        return ("  " + "  ".join(parts)).rstrip()

    rule = "  " + "  ".join("─" * wide for wide in widths)
    return "\n".join([line(head), rule, *(line(row) for row in cells)])


def cell(value: object) -> str:
    """A value as a table shows it."""
    if value is None:
        return "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4f}"
    return visible(str(value))
