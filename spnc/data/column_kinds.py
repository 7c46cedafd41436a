"""Which kind a column is: one rule, in one place.

    booleans                                    binary
    at most two values, whatever they are       binary
    whole numbers with few values               categorical
    other whole numbers that begin near 0       count, up to 2⁵³
    other numbers                               real
    dates and times, also as ISO 8601 texts     date
    other texts                                 categorical

A source may state more: a column that it calls categorical is, and keeps the order of its labels if
it has one; texts of digits stay texts where a column is stated to hold texts and they are few
enough for labels; durations and times of day are real.

Other texts that are all numbers are numbers, unless one has a zero before other digits, as the code
00501 has: then all of them are texts. Numbers and dates may be written for people, as 12% and
31/01/2020 are: see `text_formats`. Whole numbers that doubles cannot tell apart are
labels. Whole numbers begin near 0 if none is negative and their
range is at least `NEAR_ZERO` times the smallest: counts scatter as much as they are large, years
and weights do not. Of whole numbers, few are `FEW`, or up to `MOST_CODES` with
`ROWS_PER_CODE` rows each on average. A column is left out, with a warning, if it has no values or
a single one (other than 0 or 1), if it identifies rows, or if it has more than `MOST_LABELS` texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from spnc.data.arrow_arrays import Mask, truth_array, truths
from spnc.data.column_values import (
    as_texts,
    at_most,
    distinct_of,
    kind_of,
    labels_of,
    range_of,
    values_of,
)
from spnc.data.columns import ColumnKind, Label
from spnc.data.raw_table import RawColumn, joined
from spnc.data.text_formats import DateFormat, TextFormat, doubt_about, found_format
from spnc.data.text_values import (
    BOOLEANS,
    DATES,
    LARGEST_EXACT,
    NUMBERS,
    Meaning,
    are_digits,
    converted,
    exceed_doubles,
    indistinct,
    is_canonical,
    is_padded,
    meant,
    whole_numbers,
)

FEW = 5  # values of whole numbers that are categories in a table of any size
MOST_CODES = 32  # values of whole numbers that can be categories in a large table
ROWS_PER_CODE = 10  # that make more than `FEW` values categories
MOST_LABELS = 256  # texts of a categorical column
NEARLY_ALL = 0.9  # of the texts, that must be numbers or dates for the column to be one of them
NEAR_ZERO = 2.0  # the range of counts, as a multiple of the smallest
ID_ROWS = 10  # from which a column can identify rows
ROWS_PER_LABEL = 2  # texts with fewer rows on average identify rows
_ID_NAMES = (
    "id",
    "identifier",
    "index",
    "key",
    "uuid",
    "guid",
    "rowid",
    "row",
    "rownames",
    "unnamed: 0",
)

Omission = Literal["empty", "constant", "id", "labels", "nested"]


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a column is: a kind, or why it is left out.

    `parts` are its cells by table, converted where texts stand for something else; `odd` marks
    cells, by table, that are not what nearly all others are, and are missing in `parts`. `labels`
    are the values of a binary or categorical column.
    """

    kind: ColumnKind | None
    parts: list[RawColumn]
    labels: tuple[Label, ...] = ()
    omission: Omission | None = None
    odd: list[Mask] | None = None
    distinct: int = 0  # texts of a column that is left out for having many
    format: TextFormat | None = None  # in which numbers or dates are written
    doubt: tuple[str, str] | None = None  # what the texts may be, and advice


def few_values(rows: int) -> int:
    """Return up to how many different whole numbers are categories, given the table's rows."""
    return min(MOST_CODES, max(FEW, rows // ROWS_PER_CODE))


def judge(name: str, parts: Sequence[RawColumn], delimiter: str | None = None) -> Verdict:
    """Return what a column is, from its cleaned cells in all tables together.

    `delimiter` is that of a text file: see `found_format`.
    """
    parts = settled(parts)
    kind = kind_of(parts)
    if kind is None:
        return Verdict(None, parts, omission="empty")
    if kind == "other":
        return Verdict(None, parts, omission="nested")
    if kind == "texts":
        return _judge_texts(name, parts, delimiter)
    if kind == "booleans":
        return Verdict("binary", parts, (False, True))
    if kind == "dates":
        return _judge_dates(parts)
    if any(p.stated == "categories" for p in parts):
        return _judge_codes(parts)
    if any(p.unit for p in parts):
        values = at_most(parts, 2)
        return Verdict("real", parts) if values is None else _states(parts, labels_of(values))
    return _judge_numbers(name, parts)


def settled(parts: Sequence[RawColumn], *, exact: bool = False) -> list[RawColumn]:
    """Return the parts as one kind; texts that are all numbers, booleans or dates as these.

    Texts are no numbers if one of them is a code such as 00501. With `exact`, texts stay as they
    are written, unless they are truth values, or numbers that are all written as numbers are.
    """
    parts = list(parts)
    kinds = {p.kind for p in parts if not p.is_empty}
    if "texts" in kinds:
        texts = [p for p in parts if p.kind == "texts" and not p.is_empty]
        for meaning in _meanings(texts, BOOLEANS, NUMBERS, DATES, exact=exact):
            if not any(np.isnan(meant(p, meaning)).any() for p in texts):
                parts = [converted(p, meaning)[0] if p.kind == "texts" else p for p in parts]
                kinds = {p.kind for p in parts if not p.is_empty}
                break
    if kinds == {"numbers", "booleans"}:
        return [replace(p, kind="numbers") for p in parts]
    return [as_texts(p) for p in parts] if len(kinds - {"other"}) > 1 else parts


def _meanings(
    texts: Sequence[RawColumn], *all_meanings: Meaning, exact: bool = False
) -> tuple[Meaning, ...]:
    """Return what texts may stand for, other than themselves; see `settled` for `exact`."""
    if any(p.stated == "categories" for p in texts):
        return ()
    numbers = not any(exceed_doubles(p) or is_padded(p.texts) for p in texts)
    if exact:
        numbers = all(map(is_canonical, texts))
    if all(p.stated == "texts" and are_digits(p) for p in texts):
        whole = joined(texts)
        numbers = numbers and _too_many(len(whole.texts), whole.rows) is not None
    meanings = tuple(m for m in all_meanings if m is not NUMBERS or numbers)
    return tuple(m for m in meanings if not (exact and m is DATES))


# ---- texts -----------------------------------------------------------------------------------


def _judge_texts(name: str, parts: list[RawColumn], delimiter: str | None) -> Verdict:
    whole = joined([p for p in parts if not p.is_empty])
    present = whole.cells if whole.missing is None else whole.cells[~whole.missing]
    rows = len(present)
    filled = [p for p in parts if not p.is_empty]
    has_digit = truths(pc.match_substring_regex(whole.texts, "[0-9]"))
    typed: list[str] = []
    stated = any(p.stated == "categories" for p in filled)
    if not stated and has_digit[present].sum() >= NEARLY_ALL * rows:
        typed = whole.texts.filter(truth_array(has_digit)).to_pylist()
    verdict = _judge_formatted(name, parts, found_format(typed, delimiter))
    if verdict is not None:
        return verdict
    for meaning in _meanings(filled, NUMBERS, DATES):
        values = meant(whole, meaning)
        good = ~np.isnan(values)
        spread = len(np.unique(values[good])) > few_values(rows)
        if spread and good[present].sum() >= NEARLY_ALL * rows:
            pairs = [
                converted(p, meaning) if p.kind == "texts" else (p, p.absent & False) for p in parts
            ]
            verdict = judge(name, [column for column, _ in pairs])
            return replace(verdict, odd=[odd for _, odd in pairs])
    doubt = doubt_about(typed) if typed and len(typed) == len(whole.texts) else None
    return replace(_judge_labels(parts, rows), doubt=doubt)


def _judge_formatted(
    name: str, parts: list[RawColumn], format: TextFormat | None
) -> Verdict | None:
    """Return a column of numbers or dates in a format; None if they are few and thus categories."""
    if format is None:
        return None
    pairs = [converted(p, format.meaning) for p in parts if p.kind == "texts"]
    verdict = judge(name, [column for column, _ in pairs])
    if len(pairs) < len(parts) or verdict.kind not in ("count", "real", "date"):
        return None
    kind: ColumnKind = "real" if isinstance(format, DateFormat) and format.unit else verdict.kind
    odd = [odd for _, odd in pairs]
    return replace(
        verdict, kind=kind, format=format, odd=odd if any(o.any() for o in odd) else None
    )


def _judge_labels(parts: list[RawColumn], rows: int) -> Verdict:
    labels = values_of(parts)
    omission = _too_many(len(labels), rows)
    if omission is not None:
        return Verdict(None, parts, omission=omission, distinct=len(labels))
    return _states(parts, labels)


def _too_many(labels: int, rows: int) -> Omission | None:
    """Return why a column with this number of labels is left out; None to keep it."""
    if labels > MOST_LABELS:
        return "labels"
    return "id" if rows >= ID_ROWS and labels * ROWS_PER_LABEL > rows else None


def _states(parts: list[RawColumn], labels: tuple[Label, ...]) -> Verdict:
    if len(labels) == 1:
        return Verdict(None, parts, labels, omission="constant")
    return Verdict("binary" if len(labels) == 2 else "categorical", parts, labels)


# ---- numbers and dates -----------------------------------------------------------------------


def _judge_numbers(name: str, parts: list[RawColumn]) -> Verdict:
    rows = sum(p.rows for p in parts)  # missing cells do not make codes into counts
    if any(np.isinf(p.cells).any() for p in parts if p.cells.dtype.kind == "f"):
        return Verdict("real", parts)  # the infinite values are reported
    wholes = [whole_numbers(p) for p in parts]
    if any(whole is None for whole in wholes):
        two = at_most(parts, 2)
        return Verdict("real", parts) if two is None else _states(parts, labels_of(two))
    parts = [whole for whole in wholes if whole is not None]
    values = at_most(parts, few_values(rows))
    if values is not None:
        if set(values) <= {0, 1}:
            return Verdict("binary", parts, (0, 1))
        return _states(parts, labels_of(values))
    low, high = range_of(parts)
    if _identifies(name, parts, low, high):
        return Verdict(None, parts, omission="id")
    large = max(-low, high) > LARGEST_EXACT
    if large and indistinct([v for p in parts for v in distinct_of(p.present)]):
        found = _judge_labels(parts, sum(len(p.present) for p in parts))
        return found if found.omission is None else replace(found, omission="id")
    return Verdict("count" if not large and 0 <= NEAR_ZERO * low <= high - low else "real", parts)


def _judge_codes(parts: list[RawColumn]) -> Verdict:
    """Return what numbers are that the source calls categories."""
    wholes = [whole_numbers(p) for p in parts]
    if all(whole is not None for whole in wholes):
        parts = [whole for whole in wholes if whole is not None]
    if set(values_of(parts)) <= {0, 1}:
        return Verdict("binary", parts, (0, 1))
    return _judge_labels(parts, sum(len(p.present) for p in parts))


def _judge_dates(parts: list[RawColumn]) -> Verdict:
    values = at_most(parts, 1)
    if values is not None:
        return Verdict(None, parts, omission="constant")
    return Verdict("date", parts)


def _identifies(name: str, parts: Sequence[RawColumn], low: int, high: int) -> bool:
    """Whether distinct whole numbers number the rows: 0 or 1 on without gaps, or named an id."""
    rows = sum(len(p.present) for p in parts)
    plain = name.lower()
    named = plain in _ID_NAMES or plain.endswith(("_id", " id", ".id")) or name.endswith("Id")
    if rows < ID_ROWS or not (named or (low in (0, 1) and high - low + 1 == rows)):
        return False
    if low < 0 and high > np.iinfo(np.int64).max:  # no type of 64 bits holds all of them
        return len({v for p in parts for v in distinct_of(p.present)}) == rows
    cells = np.concatenate([p.present.astype(np.int64) for p in parts])
    return len(np.unique(cells)) == rows
