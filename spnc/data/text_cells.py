"""The cells of a text table: how lines are split into cells, and what a cell means."""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterator
from io import StringIO

NUMBER = r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity)"
_NUMBER = re.compile(NUMBER, re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}[-/][0-9]{2}(?:[-/][0-9]{2}|$)")
_FORMATTED = re.compile(  # as people write numbers, dates and times; `text_formats` reads them
    r"[$€£¥]? ?[+-]?[0-9]+(?:,[0-9]+)*(?:\.[0-9]+)? ?[%€$£]?"
    r"|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}(?:[ T,].*)?"
    r"|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"
)
BAR = "|"
WHITESPACE = " "  # stands for any run of spaces and tabs
_CANDIDATES = (",", ";", "\t", WHITESPACE)
_SNIFFED_LINES = 20
_LIST_COMMA = re.compile(r",(?![0-9])|(?<![0-9]),")  # one that is not in a number


def is_number(cell: str) -> bool:
    """Whether the text is a decimal number or an infinity. `nan` and `1_000` are not numbers."""
    return _NUMBER.fullmatch(cell) is not None


def number_of(cell: str) -> float:
    """Return the number that a text is (see `is_number`); a whole number exactly, as an int."""
    try:
        return int(cell)
    except ValueError:
        return float(cell)


def is_typed(cell: str) -> bool:
    """Whether the text is a number, a date or a truth value rather than a word."""
    if is_number(cell) or _DATE.match(cell) is not None or cell.lower() in ("true", "false"):
        return True
    return _FORMATTED.fullmatch(cell) is not None


def records(text: str, delimiter: str) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Yield the rows of a text, each with its first line number; a malformed row as its error.

    Blank lines are skipped. A quoted cell may contain delimiters and line ends.
    """
    lines: Iterator[str] = StringIO(text, newline="\n")
    if delimiter == WHITESPACE:
        lines = (line.strip().replace("\t", " ") for line in lines)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    while True:
        begin = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield begin, error
            continue
        # A line with one quoted empty cell is a row with a missing value; a blank line is not.
        if cells and not (len(cells) == 1 and cells[0].isspace()):
            yield begin, cells


def ends_inside_a_cell(text: str, delimiter: str) -> bool:
    """Whether the text, which ends at a line end, ends inside a quoted cell."""
    last = deque(records(text, delimiter), maxlen=1)
    return any(isinstance(row, csv.Error) and is_unfinished(row) for _, row in last)


def is_unfinished(error: csv.Error) -> bool:
    """Whether a row is malformed because a quoted cell never ends."""
    return "end of data" in str(error)


def _has_bars(start: str) -> bool:
    """Whether bars split all lines into the same number of cells, two or more."""
    widths = {len(cells) if isinstance(cells, list) else 0 for _, cells in records(start, BAR)}
    return len(widths) == 1 and min(widths) > 1


def sniff_delimiter(text: str) -> str:
    """Return the delimiter that splits most of the first lines into the same number of cells.

    A vertical bar counts if it splits all lines alike, and no comma, semicolon or tab does. Ties
    go to the first of comma, semicolon, tab and whitespace, but not to commas that may all be
    decimal commas. Whitespace must split the first line, and more than half of the lines alike,
    since names and words may contain spaces. A text of one column counts as comma-separated.
    """
    start = "".join(list(StringIO(text, newline="\n"))[:_SNIFFED_LINES])
    best, best_share = ",", 0.0
    for delimiter in _CANDIDATES:
        if delimiter == WHITESPACE and best_share < 1.0 and _has_bars(start):
            return BAR
        rows = [cells for _, cells in records(start, delimiter)]
        widths = Counter(len(cells) for cells in rows if isinstance(cells, list))
        cut = {width: count for width, count in widths.items() if width > 1}
        share = max(cut.values(), default=0) / max(len(rows), 1)
        begins_alike = bool(rows) and isinstance(rows[0], list) and len(rows[0]) in cut
        if delimiter == WHITESPACE and (share <= 0.5 or not begins_alike):
            continue
        is_decimal = best == "," and delimiter in (";", "\t") and not _LIST_COMMA.search(start)
        if share > best_share or (share == best_share > 0 and is_decimal):
            best, best_share = delimiter, share
    return best
