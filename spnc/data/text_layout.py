"""How a text table is laid out: its delimiter, its header, and the first line of its rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from spnc.data.raw_table import default_name
from spnc.data.text_cells import is_number, is_typed, records, sniff_delimiter
from spnc.data.text_rules import TextRules
from spnc.diagnostics import listed

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SNIFFED_BYTES = 1 << 16  # from which the layout is found
_COMMENTS = re.compile(r"(?:#[^\n]*\n)+")
_SEQUENCE = 4  # numbers in a row, such as 0,1,2,3, that look like names rather than values
_COMPARED_ROWS = 5  # rows below a first line that it must differ from, to look like a header


class FirstLine(NamedTuple):
    """Whether the first line holds names; `doubt` says what else it may be, for a warning."""

    is_header: bool
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The delimiter of a text, whether its first line holds names, and a doubt about that.

    `comments` is the number of lines before the first line, which are not part of the table.
    """

    delimiter: str
    first_line: FirstLine
    comments: int = 0


def with_plain_line_ends(data: bytes) -> bytes:
    """Return the same lines, all ended by `\\n`."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def found_layout(start: bytes, delimiter: str | None, rules: TextRules) -> Layout:
    """Return the layout of a text from its beginning, whose line ends are `\\n`."""
    cut = start[:SNIFFED_BYTES]
    if len(start) > SNIFFED_BYTES:
        cut = cut[: cut.rfind(b"\n") + 1 or None]
    text = cut.decode(errors="replace")
    begin = re.match(_COMMENTS, text)
    delimiter = delimiter or sniff_delimiter(text[begin.end() :] if begin else text)
    comments = _comments(text, delimiter) if begin else 0
    text = text.split("\n", comments)[-1]
    rows = [cells for _, cells in records(text, delimiter) if not isinstance(cells, csv.Error)]
    return Layout(delimiter, judge_first_line(rows, rules), comments)


def _comments(text: str, delimiter: str) -> int:
    """Return how many lines at the beginning start with `#` and are not as wide as the rows.

    A line that is as wide may hold names, or be a row.
    """
    rows = text.split("\n")
    first = next((i for i, line in enumerate(rows) if not line.startswith("#")), len(rows))
    width = _width("\n".join(rows[first:]), delimiter)
    differ = [i for i in range(first) if width not in (0, _width(rows[i], delimiter))]
    if width == 1:  # as wide as any comment without a delimiter
        differ = [i for i in range(first) if rows[i].startswith(("# ", "##"))]
    return differ[-1] + 1 if differ else 0


def _width(text: str, delimiter: str) -> int:
    """Return the number of cells of the first row; 0 if there is none."""
    row = next((row for _, row in records(text, delimiter)), [])
    return 0 if isinstance(row, csv.Error) else len(row)


def judge_first_line(rows: Sequence[Sequence[str]], rules: TextRules) -> FirstLine:
    """Return whether the first of these rows holds names.

    `auto`: it does if it has a word above a column of numbers or dates. If all its words are above
    columns of words, it does unless one of them occurs again below, or a number among them lies
    in the range of the numbers below it. A line of words that are all known names holds names
    in any case. A line of empty cells never does.
    """
    header = rules.header
    if not rows:
        return FirstLine(header == "yes")
    marks = {m.strip() for m in rules.missing}
    first = [cell.strip() for cell in rows[0]]
    called = {cell or default_name(i) for i, cell in enumerate(first)}
    if any(first) and called <= rules.names and not all(map(is_typed, first)):
        return FirstLine(True)
    # R writes names of rows without a name above them: then names begin at the second column.
    widths = {len(row) for row in rows[1:]}
    begin = 1 if widths == {len(first) + 1} else 0
    places = range(begin, begin + len(first))
    below = [[row[i].strip() for row in rows[1:] if i < len(row)] for i in places]
    below = [[cell for cell in cells if cell not in marks] for cells in below]
    words = [bool(c) and c not in marks and not is_typed(c) for c in first]
    # Columns are known by position only if the line is as wide as the rows.
    texts = set(rules.text_places(None, len(first))) if len(first) in widths else set()
    typed = [
        i not in texts and 2 * sum(map(is_typed, cells)) > len(cells)
        for i, cells in enumerate(below)
    ]
    named = any(word and kind for word, kind in zip(words, typed, strict=True))
    if header == "yes":
        return FirstLine(True)
    if header == "no":
        return FirstLine(False, "words above columns of numbers" if named else None)
    if named or not any(words):
        return FirstLine(named, None if named else _number_header(first, below))
    contrary = any(_is_like(c, cells) for c, cells in zip(first, below, strict=True))
    again = [
        word and cell in set(cells) for word, cell, cells in zip(words, first, below, strict=True)
    ]
    new = [cell for cell, is_old in zip(first, again, strict=True) if not is_old]
    doubt = None
    if any(again) and all(words) and new and len(set(first)) == len(first):
        verb = "occurs" if len(new) == 1 else "occur"
        doubt = f"{listed([f'`{cell}`' for cell in new], 4)}, which {verb} in no row below"
    return FirstLine(not (contrary or any(again)), doubt)


def _is_like(cell: str, below: Sequence[str]) -> bool:
    """Whether a number lies in the range of the numbers below it."""
    values = [float(c) for c in below if is_number(c)]
    return is_number(cell) and bool(values) and min(values) <= float(cell) <= max(values)


def _number_header(first: Sequence[str], below: Sequence[Sequence[str]]) -> str | None:
    """Return why a first line of numbers looks like a header; None if it does not."""
    if not all(is_number(c) and float(c).is_integer() for c in first) or len(first) < 2:
        return None
    numbers = [int(float(c)) for c in first]
    if len(set(numbers)) < len(numbers):
        return None
    steps = {b - a for a, b in pairwise(numbers)}
    if steps == {1} and numbers[0] in (0, 1) and len(numbers) >= _SEQUENCE:
        return f"the numbers {numbers[0]}, {numbers[1]}, {numbers[2]}, …"
    for number, cells in zip(numbers, below, strict=True):
        values = [float(c) for c in cells if is_number(c)]
        if len(values) < _COMPARED_ROWS or min(values) <= number <= max(values):
            return None
    return "numbers unlike all that are below them"
