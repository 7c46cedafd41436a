"""From the raw cells of a column to codes or numbers, given what the column is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spnc.common.arrays import Floats
from spnc.data.columns import Column, Label
from spnc.data.dates import in_unit, iso_text
from spnc.data.raw_table import RawColumn
from spnc.data.table import Cells, code_type
from spnc.data.table_rules import OTHER, Unseen
from spnc.data.text_cells import is_number, number_of
from spnc.data.text_values import LARGEST_EXACT, NUMBERS, Meaning, converted, date_meaning

LARGEST = 1e150  # its square is still a double
TABLE_RANGE = 1 << 16  # whole numbers within such a range are looked up in a table
_SHORT_RANGE = 1 << 8  # also those of a few rows


class Misfit(NamedTuple):
    """Cells that a column cannot have: the code of the problem, their rows, and why."""

    code: str
    rows: NDArray[np.intp]
    value: str  # the first of them
    reason: str
    help: str


def encoded(
    raw: RawColumn, column: Column, unseen: Unseen = "error", meaning: Meaning | None = None
) -> tuple[Cells, list[Misfit]]:
    """Return the cells of a column as tables store them, and those that do not fit the column.

    `meaning` is that of the texts of a column whose numbers or dates have a format of their own.
    """
    if raw.kind == "other":
        rows = np.flatnonzero(~raw.absent)
        help = "give it as numbers, texts, booleans or dates"
        misfit = Misfit("E304", rows, "a nested value", "which cannot be modelled", help)
        return _none(raw.rows, column), [misfit] if len(rows) else []
    if raw.is_empty:
        return _none(raw.rows, column), []
    return _codes(raw, column, unseen) if column.is_finite else _numbers(raw, column, meaning)


def _none(rows: int, column: Column) -> Cells:
    """Return a column of missing cells."""
    if not column.is_finite:
        return np.full(rows, np.nan)
    kind = code_type(column.states)
    return np.full(rows, np.iinfo(kind).max, dtype=kind)


# ---- states ----------------------------------------------------------------------------------


def _codes(raw: RawColumn, column: Column, unseen: Unseen) -> tuple[Cells, list[Misfit]]:
    kind = code_type(column.states)
    hole = np.iinfo(kind).max
    labels: Sequence[Label] = column.labels if column.labels is not None else range(column.states)
    # Codes that stand for themselves, as most tables of codes have them, need no translation.
    plain = column.labels is None and raw.kind != "texts" and raw.cells.dtype == kind
    if plain and raw.missing is None and int(raw.cells.max(initial=0)) < column.states:
        return raw.cells, []
    distinct, position = _distinct(raw)
    known = {label: code for code, label in enumerate(labels)}
    found = np.array([_code_of(value, known) for value in distinct], dtype=np.int64)
    new = found < 0
    if unseen == "other" and OTHER in known:
        found[new] = known[OTHER]
    elif unseen == "missing":
        found[new] = hole
    misfits = []
    if new.any() and (unseen == "error" or (unseen == "other" and OTHER not in known)):
        bad = new[position] & ~raw.absent
        if bad.any():
            misfits = [_unknown(raw, column, np.flatnonzero(bad), labels)]
    found[found < 0] = hole
    codes = found.astype(kind)[position]
    if raw.missing is not None or raw.cells.dtype.kind == "f":
        codes[raw.absent] = hole
    return codes, misfits


def _distinct(raw: RawColumn) -> tuple[list[Any], NDArray[Any]]:
    """Return values that include all of the column, and for each cell the position of its own."""
    if raw.kind == "texts":
        return raw.text_list(), raw.cells
    cells = raw.cells
    if cells.dtype.kind == "f":
        cells = _whole(np.where(raw.absent, 0.0, cells))
    elif raw.missing is not None:
        cells = np.where(raw.missing, cells[np.argmin(raw.missing)], cells)
    if cells.dtype.kind != "f":
        low, high = int(cells.min()), int(cells.max())
        if high - low < min(TABLE_RANGE, max(_SHORT_RANGE, 4 * len(cells))):
            offset = cells if low == 0 else offsets(cells, low)
            values: list[Any] = list(range(low, high + 1))
            return ([bool(v) for v in values] if raw.kind == "booleans" else values), offset
    distinct, position = np.unique(cells, return_inverse=True)
    if raw.kind == "dates":
        return [iso_text(v) for v in distinct.tolist()], position
    return distinct.tolist(), position


def offsets(cells: NDArray[Any], low: int) -> NDArray[np.int64]:
    """Return how far whole numbers of any type are above the smallest of them."""
    if cells.dtype == np.uint64:
        found: NDArray[np.int64] = (cells - np.uint64(low)).astype(np.int64)
        return found
    return cells.astype(np.int64) - low


def _whole(cells: Floats) -> NDArray[Any]:
    """Return cells as small integers if that is what they all are."""
    if float(np.abs(cells).max(initial=0.0)) < TABLE_RANGE:
        integers = cells.astype(np.int32)
        if (integers == cells).all():
            return integers
    return cells


def _code_of(value: Any, known: dict[Label, int]) -> int:
    """Return the code of a value, read as a text or as a number if that is what labels are."""
    if value in known:
        return known[value]
    if isinstance(value, str):
        if is_number(value):
            return _code_of_number(number_of(value), known)
        if value.lower() in ("true", "false"):
            return known.get(value.lower() == "true", -1)
        return -1
    for written in (plain_text(value), str(value)):  # a label may be written as 1.0
        if written in known:
            return known[written]
    return _code_of_number(value, known) if isinstance(value, int) else -1


def _code_of_number(number: float, known: dict[Label, int]) -> int:
    """Return the code of a number, as itself or as the double that a label was made of.

    All labels are made of doubles if one of them is no whole number of 64 bits.
    """
    if number in known:
        return known[number]
    doubles = any(_needs_a_double(one) for one in (number, *known) if not isinstance(one, str))
    return known.get(float(number), -1) if doubles else -1


def _needs_a_double(number: float) -> bool:
    return isinstance(number, float) or not -(2**63) <= number < 2**64


def _unknown(
    raw: RawColumn, column: Column, rows: NDArray[np.intp], labels: Sequence[Label]
) -> Misfit:
    reason = f"which is not one of its {column.states} values"
    if column.labels is None:
        reason = f"outside the states 0 to {column.states - 1}"
    shown = ", ".join(label_text(label) for label in labels[:8])
    more = f" and {len(labels) - 8:,} more" if len(labels) > 8 else ""
    help = f"known: {shown}{more}; leave the cell empty if the value is unknown"
    return Misfit("E308", rows, cell_text(raw, int(rows[0])), reason, help)


# ---- numbers ---------------------------------------------------------------------------------


def _numbers(raw: RawColumn, column: Column, meaning: Meaning | None) -> tuple[Cells, list[Misfit]]:
    misfits = []
    is_date = column.kind == "date"
    wanted = "a date" if is_date else "a number"
    if raw.kind == "texts":
        meaning = meaning or (date_meaning(raw) if is_date else NUMBERS)
        given, (raw, bad) = raw, converted(raw, meaning)
        if bad.any():
            misfits.append(_not_a_number(given, np.flatnonzero(bad), wanted))
    values: Floats = raw.doubles()
    if is_date and raw.kind == "dates":  # numbers are in the column's unit already
        values = in_unit(values, column.unit)
    if raw.cells.dtype.kind in "iu" and (column.kind != "count" or _countable(raw.cells)):
        return values, misfits  # whole numbers have no other problems
    with np.errstate(invalid="ignore"):
        infinite = np.isinf(values)
        wrong = np.zeros(len(values), dtype=np.bool_)
        if column.kind == "count":
            wrong = (values < 0) | (values != np.floor(values)) | (values > LARGEST_EXACT)
            wrong &= ~np.isnan(values) & ~infinite
        huge = ~infinite & (np.abs(values) > LARGEST)
        wrong &= ~huge
    if huge.any():
        rows = np.flatnonzero(huge)
        reason = f"beyond {LARGEST:g}, the largest number that can be modelled"
        help = "give the column in a larger unit"
        misfits.append(Misfit("E316", rows, f"{values[rows[0]]:.12g}", reason, help))
    if infinite.any():
        help = "leave the cell empty if the value is unknown"
        rows = np.flatnonzero(infinite)
        misfits.append(Misfit("E316", rows, "an infinite value", "", help))
    if wrong.any():
        rows = np.flatnonzero(wrong)
        value = f"{values[rows[0]]:.12g}"
        help = "declare the column as `real`"
        reason = "which is not a whole number from 0 on"
        if values[rows[0]] > LARGEST_EXACT:
            reason = "which is too large for a count"
        misfits.append(Misfit("E308", rows, value, reason, help))
    return values, misfits


def _countable(cells: NDArray[Any]) -> bool:
    return int(cells.min()) >= 0 and int(cells.max()) <= LARGEST_EXACT


def _not_a_number(raw: RawColumn, rows: NDArray[np.intp], wanted: str) -> Misfit:
    value = cell_text(raw, int(rows[0]))
    help = f"write {wanted}, or list the text under `missing`"
    if wanted == "a date":
        help = "write dates as 2024-01-31 and times as 2024-01-31 12:00:00"
    elif "," in value and value.strip("`").replace(",", ".", 1).replace(".", "").isdigit():
        help = "write decimals with a point"
    return Misfit("E304", rows, value, f"which is not {wanted}", help)


# ---- words -----------------------------------------------------------------------------------


def label_text(label: Label) -> str:
    """Return a label as people read it."""
    if isinstance(label, bool):
        return "true" if label else "false"
    return f"{label:g}" if isinstance(label, float) else str(label)


def plain_text(value: float) -> str:
    """Return a number or truth value as a text that no other has; whole numbers as such."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def cell_text(raw: RawColumn, row: int) -> str:
    """Return a cell as messages show it."""
    cell = raw.cells[row]
    if raw.kind == "texts":
        return f"`{raw.texts[int(cell)].as_py()}`"
    if raw.kind == "dates":
        return f"`{iso_text(float(cell))}`"
    if raw.kind == "booleans":
        return label_text(bool(cell))
    return str(int(cell)) if raw.cells.dtype.kind in "iu" else f"{float(cell):.12g}"
