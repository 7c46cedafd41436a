"""What texts mean: numbers, truth values, dates, or themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from spnc.common.arrays import Floats
from spnc.data.arrow_arrays import Mask, compute, stored_numbers, text_array, truth_array, truths
from spnc.data.raw_table import RawColumn, RawKind, smallest
from spnc.data.text_cells import NUMBER, is_number, number_of

_TRUTH = {"true": 1.0, "false": 0.0}
# ISO 8601, also with slashes: a day or a month, and perhaps a time of day and its zone.
_DATE = (
    r"^[0-9]{4}([-/])[0-9]{2}(([-/])[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?$"
)
LARGEST_EXACT = 2.0**53  # doubles count without gaps up to here
_PADDED = r"^\s*0[0-9]"
_DIGITS = r"^[+-]?[0-9]{1,300}$"  # whole numbers that are finite as doubles


def cleaned(column: RawColumn, missing: Sequence[str]) -> RawColumn:
    """Return the column with the texts and numbers that mean a missing value taken out.

    A number among them stands for all equal numbers. Texts are stripped of white space, and only
    those that occur are kept.
    """
    marks = [number_of(m.strip()) for m in missing if is_number(m.strip())]
    if column.kind == "numbers":
        if marks:
            marked = column.absent
            for mark in marks:
                marked = marked | (column.cells == mark)
            return replace(column, missing=marked if marked.any() else None)
        return column
    if column.kind != "texts" or column.texts is None or not len(column.texts):
        return column
    texts = compute.utf8_trim_whitespace(column.texts).dictionary_encode()
    words = texts.dictionary
    is_mark = truths(compute.is_in(words, value_set=text_array([m.strip() for m in missing])))
    if marks:
        is_mark |= [is_number(w) and number_of(w) in marks for w in words.to_pylist()]
    cells = column.cells
    if len(words) < len(column.texts):  # some are equal now; otherwise all stay where they are
        cells = stored_numbers(texts.indices)[cells]
    absent = column.missing
    if is_mark.any():
        absent = is_mark[cells] if absent is None else is_mark[cells] | absent
    if absent is not None and not absent.any():
        absent = None
    seen = np.zeros(len(words), dtype=np.bool_)
    seen[cells if absent is None else cells[~absent]] = True
    if not seen.all():
        renumbered = np.cumsum(seen) - 1
        cells = np.where(seen[cells], renumbered[cells], 0)
        words = words.filter(truth_array(seen))
    return replace(column, cells=smallest(cells), missing=absent, texts=words)


class Meaning(NamedTuple):
    """Something that texts can stand for: which texts do, and the numbers that they mean."""

    kind: RawKind
    fits: Callable[[Any], Any]
    values: Callable[[list[str]], Sequence[float]]


NUMBERS = Meaning(
    "numbers",
    lambda texts: compute.match_substring_regex(texts, f"^(?i:{NUMBER})$"),
    lambda texts: [float(text) for text in texts],
)
BOOLEANS = Meaning(
    "booleans",
    lambda texts: compute.is_in(compute.utf8_lower(texts), value_set=text_array(list(_TRUTH))),
    lambda texts: [_TRUTH[text.lower()] for text in texts],
)
DATES = Meaning(
    "dates",
    lambda texts: compute.match_substring_regex(texts, _DATE),
    lambda texts: _seconds(texts),
)


def meant(column: RawColumn, meaning: Meaning) -> Floats:
    """Return what each text of a column means, NaN for a text that means nothing of the kind."""
    good = truths(meaning.fits(column.texts))
    values = np.full(len(good), np.nan)
    if good.any():
        values[good] = meaning.values(column.texts.filter(truth_array(good)).to_pylist())
    return values


def converted(column: RawColumn, meaning: Meaning) -> tuple[RawColumn, Mask]:
    """Return a column of texts as what they mean, and which cells mean nothing of the kind.

    These cells are missing in the result. Whole numbers are exact if 64 bits hold them.
    """
    absent = column.absent
    if meaning is NUMBERS:
        whole = _large_whole_numbers(column)
        kind = None if whole is None else _integer_type(whole)
        if kind is not None:
            cells = np.array(whole, dtype=kind)[column.cells]
            return RawColumn("numbers", cells, column.missing), np.zeros(column.rows, np.bool_)
    values = meant(column, meaning)
    cells = values[column.cells] if len(values) else np.full(column.rows, np.nan)
    cells[absent] = np.nan
    if meaning is not BOOLEANS:
        return RawColumn(meaning.kind, cells), np.isnan(cells) & ~absent
    holes = np.isnan(cells)
    truths = np.where(holes, 0.0, cells).astype(np.uint8)
    return RawColumn("booleans", truths, holes if holes.any() else None), holes & ~absent


def are_digits(column: RawColumn) -> bool:
    """Whether all texts of a column are whole numbers."""
    return bool(compute.all(compute.match_substring_regex(column.texts, _DIGITS)).as_py())


def exceed_doubles(column: RawColumn) -> bool:
    """Whether texts are whole numbers that neither 64 bits hold nor doubles tell apart."""
    whole = _large_whole_numbers(column)
    return whole is not None and _integer_type(whole) is None and indistinct(whole)


def indistinct(whole: Sequence[int]) -> bool:
    """Whether whole numbers have at most half as many values if they become doubles."""
    distinct = set(whole)
    return len(distinct) > 1 and 2 * len({float(v) for v in distinct}) <= len(distinct)


def _large_whole_numbers(column: RawColumn) -> list[int] | None:
    """Return texts as whole numbers if they all are, and one of them is not exact as a double."""
    if not len(column.texts) or not are_digits(column):
        return None
    whole = [int(text) for text in column.text_list()]
    return whole if max(map(abs, whole)) > LARGEST_EXACT else None


def _integer_type(whole: Sequence[int]) -> Any:
    """Return the type of 64 bits that holds whole numbers; None if none does."""
    for kind in (np.int64, np.uint64):
        bounds = np.iinfo(kind)
        if bounds.min <= min(whole) and max(whole) <= bounds.max:
            return kind
    return None


def holds_words(column: RawColumn) -> bool:
    """Whether a column holds texts that are not all numbers, or are codes such as 00501."""
    if column.kind != "texts" or column.is_empty:
        return False
    return is_padded(column.texts) or bool(np.isnan(meant(column, NUMBERS)).any())


def is_padded(texts: Any) -> bool:
    """Whether a text has a zero before other digits, as codes have and numbers do not."""
    if isinstance(texts, pa.ChunkedArray):
        return any(is_padded(chunk) for chunk in texts.chunks)
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary
    return bool(truths(compute.match_substring_regex(texts, _PADDED)).any())


def is_canonical(column: RawColumn) -> bool:
    """Whether every text is written as its number is: 1 and 1.5, not 01, 1.50 or 1e3."""
    texts = column.text_list()
    whole = _large_whole_numbers(column)
    if whole is not None:
        return _integer_type(whole) is not None and texts == [str(number) for number in whole]
    values = meant(column, NUMBERS).tolist()
    return all(text == _written(value) for text, value in zip(texts, values, strict=True))


def _written(value: float) -> str:
    """Return a number as it is usually written; whole ones as such, if doubles count them."""
    is_whole = abs(value) < LARGEST_EXACT and value.is_integer()
    return str(int(value)) if is_whole else repr(value)


def date_meaning(column: RawColumn) -> Meaning:
    """Return what the texts of a date column are: dates, or numbers if all of them are."""
    return DATES if holds_words(column) else NUMBERS


def _seconds(texts: list[str]) -> Sequence[float]:
    """Return seconds since 1970, NaN for a day or time that does not exist."""
    if not texts:
        return []
    try:
        whole = text_array(texts).cast(pa.timestamp("us"))
        found: Floats = stored_numbers(whole.cast(pa.int64())) / 1e6
        return list(found)
    except pa.ArrowInvalid:
        return [_one_date(text) for text in texts]


def _one_date(text: str) -> float:
    text = re.sub(r"^(\d{4})/(\d{2})(?:/(\d{2}))?", _dashed, text)
    if re.fullmatch(r"\d{4}-\d{2}", text):
        text += "-01"
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return float("nan")
    return found.replace(tzinfo=UTC).timestamp()  # the time of day as it is written


def _dashed(match: re.Match[str]) -> str:
    return "-".join(part for part in match.groups() if part is not None)


def whole_numbers(column: RawColumn) -> RawColumn | None:
    """Return a column of numbers as integers if all of them are whole; None if one is not."""
    if column.cells.dtype.kind != "f":
        return column
    step = 1 << 16  # most columns with fractions show one at once
    for begin in range(0, column.rows, step):
        part = column.cells[begin : begin + step]
        with np.errstate(invalid="ignore"):
            fits = (np.floor(part) == part) & (np.abs(part) < LARGEST_EXACT)
            if not (fits | np.isnan(part)).all():
                return None
    absent = column.absent
    holed = bool(absent.any())
    cells = np.where(absent, 0.0, column.cells) if holed else column.cells
    whole = smallest(cells.astype(np.int64))
    return replace(column, cells=whole, missing=absent if holed else None)
