"""Tables in Markdown, and pages with generated parts."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

_WIDTH = 100  # characters per line of generated prose


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int | None = None) -> str:
    """Return a table with one line per row; columns after the first `left` are right-aligned."""
    right = 0 if left is None else len(head) - left
    rule = "|---" * (len(head) - right) + "|---:" * right + "|"
    lines = ["| " + " | ".join(head) + " |", rule]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def marks(name: str) -> tuple[str, str]:
    """Return the lines before and after the generated part `name` of a page."""
    return f"<!-- {name} -->\n\n", f"\n<!-- end of {name} -->"


def with_part(page: str, name: str, text: str) -> str:
    """Return the page with `text` between the marks of `name`; raise ValueError without them."""
    begin, end = marks(name)
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found and found_end):
        raise ValueError(f"the page has no {begin.strip()} … {end.strip()}")
    return f"{before}{begin}{text}{end}{after}"


def filled(text: str) -> str:
    """Return the text with its paragraphs of plain prose wrapped anew."""
    blocks = text.split("\n\n")
    wrap = textwrap.TextWrapper(_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(
        block if block.lstrip().startswith(("#", "|", "-", "!", "<")) else _filled(block, wrap)
        for block in blocks
    )


def _filled(block: str, wrap: textwrap.TextWrapper) -> str:
    end = "\n" if block.endswith("\n") else ""
    return wrap.fill(block) + end
