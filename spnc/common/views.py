"""Short texts and HTML views for the prompt and for notebooks.

The functions take plain values, so that any class can call them from `__repr__` and
`_repr_html_`. Names are escaped, and no view is longer than about 2,000 characters, apart from
rows of a table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from spnc.common.wording import clipped, duration, visible

TEXT_LIMIT = 60  # terminal columns of a name in a text
NAME_LIMIT = 80  # characters of HTML; longer names end in `…`
CELL_LIMIT = 48
FACTS_LIMIT = 300
COLUMNS_SHOWN = 8
SPLITS_SHOWN = 6
LINE_LIMIT = 300  # characters of HTML of a text in `line`


def line(head: str, text: str, *asides: str) -> str:
    """Return one line of HTML: a head in bold, a text, then asides in grey."""
    grey = "".join(
        f' <span style="opacity: 0.6">{_escaped(aside, LINE_LIMIT)}</span>' for aside in asides
    )
    return f"<div><b>{_escaped(head, NAME_LIMIT)}</b> {_escaped(text, LINE_LIMIT)}{grey}</div>"


def model_text(name: str, counts: Mapping[str, int]) -> str:
    """Return a model in one line: its name, and counts such as `{"columns": 8, "edges": 144}`."""
    return f"Model({_quoted(name)}, {_counts(counts)})"


def model_html(
    name: str,
    counts: Mapping[str, int],
    columns: Sequence[tuple[str, str]],
    provenance: Mapping[str, object],
) -> str:
    """Return a model as HTML: a line of counts, and a table of its first columns.

    `columns` are (name, type). Of `provenance`, texts of one line are shown, such as versions.
    """
    rows = [(column, kind) for column, kind in columns[:COLUMNS_SHOWN]]
    if len(columns) > COLUMNS_SHOWN:
        rows.append((f"… {len(columns) - COLUMNS_SHOWN:,} more", ""))
    known = "; ".join(
        f"{key}: {shortened_digest(value)}"
        for key, value in provenance.items()
        if isinstance(value, str) and "\n" not in value
    )
    return _view("Model", name, [_counts(counts), known], ("column", "type"), rows)


def shortened_digest(value: str) -> str:
    """Return the first digits of a SHA-256; any other text as it is."""
    return f"{value[:12]}…" if re.fullmatch("[0-9a-f]{64}", value) else value


def trained_text(
    name: str, averages: Mapping[str, float | None], seconds: float, tries: int = 0
) -> str:
    """Return a training in one line: average log-likelihoods by split, tries, and its time."""
    scores = ", ".join(f"{split} {_number(value)}" for split, value in averages.items())
    facts = [scores, _tries(tries), duration(seconds)]
    return f"Trained({', '.join([_quoted(name), *filter(None, facts)])})"


def trained_html(
    name: str,
    counts: Mapping[str, int],
    splits: Mapping[str, tuple[int, float | None, int]],
    seconds: float,
    tries: int = 0,
    *,
    ended: str = "",
) -> str:
    """Return a training as HTML: a line of facts, and a table of scores.

    `splits` are (rows, average log-likelihood, impossible rows) by name; an average is None where
    every row is impossible. `ended` says how training ended, in a few words.
    """
    rows = [
        (split, f"{number:,}", _number(average), f"{impossible:,}")
        for split, (number, average, impossible) in list(splits.items())[:SPLITS_SHOWN]
    ]
    head = ("split", "rows", "average log-likelihood", "impossible rows")
    facts = [_counts(counts), _tries(tries), duration(seconds), ended]
    return _view("Trained", name, facts, head, rows)


def rows_html(head: Sequence[str], rows: Iterable[Sequence[str]], rest: str) -> str:
    """Return rows of a table as HTML, and a line about all of them below it."""
    body = "".join(_row("td", row) for row in rows)
    return (
        f"<div><table><thead>{_row('th', head)}</thead><tbody>{body}</tbody></table>"
        f'<span style="opacity: 0.6">{_escaped(rest, LINE_LIMIT)}</span></div>'
    )


def _view(
    kind: str,
    name: str,
    facts: Iterable[str],
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
) -> str:
    line = _escaped("; ".join(filter(None, facts)), FACTS_LIMIT)
    body = "".join(_row("td", row) for row in rows)
    return (
        f"<div><b>{kind} {_escaped(name, NAME_LIMIT)}</b>: {line}"
        f"<table><thead>{_row('th', head)}</thead><tbody>{body}</tbody></table></div>"
    )


def _row(tag: str, cells: Iterable[str]) -> str:
    inside = "".join(f"<{tag}>{_escaped(cell, CELL_LIMIT)}</{tag}>" for cell in cells)
    return f"<tr>{inside}</tr>"


def _escaped(text: str, limit: int) -> str:
    """Return HTML that shows the text, in at most `limit` characters; `…` marks a cut."""
    pieces = [escape(character) for character in visible(text[: limit + 1])]
    if sum(map(len, pieces)) <= limit:
        return "".join(pieces)
    length = 1  # of the `…`
    for end, piece in enumerate(pieces):
        length += len(piece)
        if length > limit:
            return "".join(pieces[:end]) + "…"
    raise AssertionError("a text that is too long is cut before its end")


def _quoted(name: str) -> str:
    return f"'{clipped(name[: TEXT_LIMIT + 1], TEXT_LIMIT)}'"


def _counts(counts: Mapping[str, int]) -> str:
    """Return `8 columns, 1 layer`; the names of the counts are plurals that end in `s`."""
    return ", ".join(
        f"{number:,} {noun.removesuffix('s') if number == 1 else noun}"
        for noun, number in counts.items()
    )


def _tries(tries: int) -> str:
    return "" if not tries else f"best of {tries:,} tries" if tries > 1 else "1 try"


def _number(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.4f}"
