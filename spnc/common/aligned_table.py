"""Tables of text whose columns line up in a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from spnc.common.wording import visible, width


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    left: int | Collection[int] = 1,
    right: int = 0,
) -> str:
    """Return rows as an aligned table.

    `left` says which columns are left-aligned: the first ones, or those with these numbers. The
    last `right` columns are left-aligned too.
    """
    cells = [[cell(value) for value in row] for row in rows]
    head = [visible(name) for name in head]
    widths = [max(width(r[i]) for r in [head, *cells]) for i in range(len(head))]
    flush = range(left) if isinstance(left, int) else left

    def line(row: Sequence[str]) -> str:
        parts = []
        for i, (text, wide) in enumerate(zip(row, widths, strict=True)):
            room = " " * (wide - width(text))
            is_left = i in flush or i >= len(head) - right
            parts.append(text + room if is_left else room + text)
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
