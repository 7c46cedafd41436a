"""Small pieces of HTML for Jupyter: escaped, self-contained, and never long.

A class that wants a view in a notebook returns `line` or `facts_table` from `_repr_html_`.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from spnc.common.wording import clipped

TEXT_LIMIT = 200  # terminal columns; a longer text ends in `…`
ROW_LIMIT = 30  # facts in a table; a last row counts those left out


def escaped(text: object, limit: int = TEXT_LIMIT) -> str:
    """Return a text that is safe inside HTML, hidden characters made visible, cut to `limit`."""
    return escape(clipped(str(text), limit))


def line(head: object, text: object, *asides: object) -> str:
    """Return one line of HTML: a head in bold, a text, then asides in grey."""
    grey = "".join(f' <span style="opacity: 0.6">{escaped(aside)}</span>' for aside in asides)
    return f"<div><b>{escaped(head)}</b> {escaped(text)}{grey}</div>"


def facts_table(caption: object, facts: Mapping[str, object]) -> str:
    """Return a table with a caption and one row per fact: its name on the left, its value beside.

    Whole numbers get thousands separators. At most `ROW_LIMIT` facts are shown.
    """
    rows = [_row(name, _shown(value)) for name, value in list(facts.items())[:ROW_LIMIT]]
    if len(facts) > ROW_LIMIT:
        rows.append(_row("…", f"{len(facts) - ROW_LIMIT:,} more"))
    style = "caption-side: top; text-align: left; font-weight: bold"
    return (
        f'<table><caption style="{style}">{escaped(caption)}</caption>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _row(name: object, value: str) -> str:
    left = 'style="text-align: left"'
    return f"<tr><th {left}>{escaped(name)}</th><td {left}>{escaped(value)}</td></tr>"


def _shown(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "–" if value is None else str(value)
