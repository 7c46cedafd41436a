"""Values of columns in the words of the table they come from: labels, dates, rounded numbers.

Inside spnc a value is a double: a code, a number, or a date in its column's unit; NaN is a missing
value. Everything that a person sees passes through here.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnc.data.columns import Column, Label
from spnc.data.dates import DAY, MONTHS, PER_SECOND, YEARS, moment, month_text

Cell = Label | dt.date | dt.datetime | None

MISSING = "–"  # a missing value in a table for people
_MOST_DECIMALS = 12  # of a resolution; finer ones are not decimal
_DETAIL = 1000.0  # parts of a standard deviation that people are shown
_PLAIN = 1e12  # from here on, numbers are written with an exponent
_FAR = 9e18  # the largest number of days or microseconds that an array of dates can hold
_LABELS_SHOWN = 6


def heading(column: Column) -> str:
    """Return the column's name, and the unit of its numbers: `body_mass (g)`."""
    if column.unit and column.kind != "date":
        return f"{column.name} ({column.unit})"
    return column.name


def cell_value(column: Column, value: float) -> Cell:
    """Return a value as Python has it: a label, a number rounded to the resolution, a date, None.

    Dates outside the years 1 to 9999 stay numbers.
    """
    if math.isnan(value):
        return None
    if column.labels is not None:
        return column.labels[int(value)]
    if column.is_finite or column.kind == "count":
        return int(value)
    value = _rounded(column, value)
    return moment(value, column.unit) if column.kind == "date" else value


def cell_text(column: Column, value: float, missing: str = MISSING) -> str:
    """Return a value for people: numbers have no more digits than matter in this column."""
    if math.isnan(value):
        return missing
    if column.kind != "real":
        return exact_text(column, value)
    return number_text(column, _rounded(column, value))


def exact_text(column: Column, value: float) -> str:
    """Return a value for files: rounded to the resolution, otherwise exact; missing is empty."""
    found = cell_value(column, value)
    if isinstance(found, dt.date):
        return _date_text(column, found)
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, float) and column.labels is None and found.is_integer():
        return f"{found:.0f}" if abs(found) < _PLAIN else repr(found)
    return "" if found is None else str(found)


def number_text(column: Column, value: float) -> str:
    """Return a number of a numeric column, not necessarily one of its values, for people."""
    if column.kind == "date":
        found = moment(value, column.unit)
        if isinstance(found, int):
            return str(found)
        return _date_text(column, found) if isinstance(found, dt.date) else f"{value:.6g}"
    if not math.isfinite(value) or abs(value) >= _PLAIN:
        return f"{value:.6g}"
    if column.scale is None:
        return f"{value:.6g}"
    places = _decimals(column.scale.resolution)
    if column.scale.sd > _DETAIL * column.scale.resolution:
        places = min(places, max(0, math.ceil(-math.log10(column.scale.sd / _DETAIL))))
    return f"{value:.6g}" if places > 8 else f"{value + 0.0:.{places}f}"


def range_text(column: Column, low: float, high: float) -> str:
    """Return the values between two numbers of a numeric column, with the unit."""
    unit = f" {column.unit}" if column.unit and column.kind != "date" else ""
    if low == high:
        return f"{number_text(column, low)}{unit}"
    return f"{number_text(column, low)} to {number_text(column, high)}{unit}"


def column_text(column: Column) -> str:
    """Return the values that a column can have: its labels or codes, or where its numbers lie."""
    if column.is_finite:
        if column.labels is None:
            return f"0 to {column.states - 1}" if column.states > 2 else "0, 1"
        shown = [exact_text(column, float(code)) for code in range(column.states)]
        rest = len(shown) - _LABELS_SHOWN
        more = f" and {rest:,} more" if rest > 0 else ""
        return ", ".join(shown[:_LABELS_SHOWN]) + more
    if column.scale is None:
        unit = f" of {column.unit}" if column.unit and column.kind != "date" else ""
        return {"count": "whole numbers from 0", "real": "numbers", "date": "dates"}[
            column.kind
        ] + unit
    return range_text(column, column.scale.low, column.scale.high)


def cell_texts(columns: Iterable[Column], row: Iterable[float]) -> list[str]:
    """Return a row for people."""
    return [cell_text(c, float(v)) for c, v in zip(columns, row, strict=True)]


def rounded_values(column: Column, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values that the column can hold: whole numbers, or multiples of the resolution."""
    if column.is_finite:
        return values
    if column.kind == "count":
        return np.maximum(np.rint(values), 0.0)
    return np.array([_rounded(column, value) for value in values.tolist()], dtype=np.float64)


def _rounded(column: Column, value: float) -> float:
    """Return the multiple of the column's resolution that is nearest to a value."""
    if column.scale is None or not math.isfinite(value):
        return value
    step = column.scale.resolution
    places = _decimals(step)
    if places <= _MOST_DECIMALS and abs(value) < 1e15 * step:
        if abs(round(step * 10.0**places) - step * 10.0**places) < 1e-6:
            nearest = round(value / step) * step
            value = nearest if math.isfinite(nearest) else value
        return round(value, places) + 0.0  # no negative zero
    return value


def _decimals(step: float) -> int:
    """Return the decimals of the multiples of a resolution: 1 for 0.5, 2 for 0.25, 0 for 25."""
    least = max(0, -math.floor(math.log10(step) + 1e-9))
    for places in range(least, min(least + 3, _MOST_DECIMALS + 1)):
        scaled = step * 10.0**places
        if abs(scaled - round(scaled)) < 1e-6 * scaled:
            return places
    return least


def _date_text(column: Column, found: dt.date) -> str:
    if column.unit == MONTHS:
        return month_text(found)
    if not isinstance(found, dt.datetime):
        return found.isoformat()
    step = column.scale.resolution if column.scale is not None else 1.0
    step /= PER_SECOND.get(column.unit, 1.0)
    if step % DAY == 0.0:
        return found.date().isoformat()
    detail = "minutes" if step % 60.0 == 0.0 else "seconds" if step >= 1.0 else "milliseconds"
    return found.isoformat(" ", detail)


def as_column(column: Column, values: NDArray[np.float64]) -> NDArray[Any]:
    """Return decoded values as an array of a plain type: times, whole numbers, numbers, objects."""
    if column.kind == "date" and column.unit != YEARS:
        rounded = np.array([_rounded(column, float(v)) for v in values])
        per_second = PER_SECOND.get(column.unit)
        unit, parts = ("D", 1.0) if per_second is None else ("us", 1e6 / per_second)
        unit = "M" if column.unit == MONTHS else unit
        whole = np.round(np.where(np.isnan(rounded), 0.0, rounded) * parts)
        found = np.clip(whole, -_FAR, _FAR).astype(np.int64).astype(f"datetime64[{unit}]")
        found[np.isnan(rounded)] = np.datetime64("NaT")
        return found.astype("datetime64[D]") if unit == "M" else found
    cells = [cell_value(column, float(v)) for v in values]
    if column.labels is not None:
        made = np.empty(len(cells), dtype=object)
        made[:] = cells
        return made
    if column.kind == "real" or None in cells:
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    return np.array(cells, dtype=np.int64)
