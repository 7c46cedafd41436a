"""What texts mean: numbers, truth values, dates, or themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from spnc.data.raw_table import Mask, RawColumn, smallest
from spnc.data.text_cells import NUMBER, is_number

_TRUTH = {"true": 1.0, "false": 0.0}
# ISO 8601, also with slashes: a day or a month, and perhaps a time of day and its zone.
_DATE = (
    r"^[0-9]{4}([-/])[0-9]{2}(([-/])[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?$"
)
_WHOLE = 2.0**53  # doubles count without gaps up to here


def cleaned(column: RawColumn, missing: Sequence[str]) -> RawColumn:
    """Return the column with the texts and numbers that mean a missing value taken out.

    A number among them stands for all equal numbers. Texts are stripped of white space, and only
    those that occur are kept.
    """
    marks = [float(m) for m in missing if is_number(m.strip())]
    if column.kind == "numbers":
        if marks:
            absent = column.absent | np.isin(column.cells, marks)
            return RawColumn("numbers", column.cells, absent if absent.any() else None)
        return column
    if column.kind != "texts" or column.texts is None or not len(column.texts):
        return column
    texts = pc.utf8_trim_whitespace(column.texts).dictionary_encode()
    position = texts.indices.to_numpy(zero_copy_only=False)
    words = texts.dictionary
    marked = pc.is_in(words, value_set=pa.array([m.strip() for m in missing], type=pa.string()))
    is_mark = np.asarray(marked.to_numpy(zero_copy_only=False), dtype=np.bool_)
    if marks:
        is_mark |= [is_number(w) and float(w) in marks for w in words.to_pylist()]
    cells = position[column.cells]
    absent = is_mark[cells]
    if column.missing is not None:
        absent |= column.missing
    seen = np.zeros(len(words), dtype=np.bool_)
    seen[cells if not absent.any() else cells[~absent]] = True
    if not seen.all():
        renumbered = np.cumsum(seen) - 1
        cells = np.where(seen[cells], renumbered[cells], 0)
        words = words.filter(pa.array(seen))
    return RawColumn("texts", smallest(cells), absent if absent.any() else None, words)


def as_numbers(column: RawColumn) -> tuple[RawColumn, Mask]:
    """Return a column of texts as numbers, and which cells are not numbers (they are missing)."""
    fits = pc.match_substring_regex(column.texts, f"^(?i:{NUMBER})$")
    return _converted(column, fits, lambda texts: [float(t) for t in texts], "numbers")


def as_booleans(column: RawColumn) -> tuple[RawColumn, Mask]:
    """Return a column of texts as booleans, and which cells are neither true nor false."""
    fits = pc.is_in(pc.utf8_lower(column.texts), value_set=pa.array(list(_TRUTH)))
    found, bad = _converted(column, fits, lambda texts: [_TRUTH[t.lower()] for t in texts], "dates")
    cells = np.nan_to_num(found.cells).astype(np.uint8)
    absent = np.isnan(found.cells)
    return RawColumn("booleans", cells, absent if absent.any() else None), bad


def as_dates(column: RawColumn) -> tuple[RawColumn, Mask]:
    """Return a column of texts as dates, and which cells are not dates (they are missing)."""
    fits = pc.match_substring_regex(column.texts, _DATE)
    return _converted(column, fits, _seconds, "dates")


def _converted(
    column: RawColumn, fits: Any, convert: Callable[[list[str]], Sequence[float]], kind: Any
) -> tuple[RawColumn, Mask]:
    """Convert the texts that fit, each once; the cells of the others are missing, and bad."""
    good = np.asarray(fits.to_numpy(zero_copy_only=False), dtype=np.bool_)
    values = np.full(len(good), np.nan)
    values[good] = convert(column.texts.filter(pa.array(good)).to_pylist())
    absent = column.absent
    if not len(values):
        return RawColumn(kind, np.full(column.rows, np.nan)), np.zeros(column.rows, np.bool_)
    cells = values[column.cells]
    cells[absent] = np.nan
    return RawColumn(kind, cells), np.isnan(cells) & ~absent


def _seconds(texts: list[str]) -> Sequence[float]:
    """Return seconds since 1970, NaN for a day or time that does not exist."""
    if not texts:
        return []
    try:
        whole = pa.array(texts).cast(pa.timestamp("us"))
        found: NDArray[np.float64] = whole.cast(pa.int64()).to_numpy() / 1e6
        return found.tolist()
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
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()


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
            if not ((np.floor(part) == part) & (np.abs(part) < _WHOLE) | np.isnan(part)).all():
                return None
    absent = column.absent
    holed = bool(absent.any())
    cells = np.where(absent, 0.0, column.cells) if holed else column.cells
    return RawColumn("numbers", smallest(cells.astype(np.int64)), absent if holed else None)
