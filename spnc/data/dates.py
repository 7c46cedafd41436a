"""Dates as numbers: the unit in which a column counts them, and how they are shown.

Dates that are read as such count in days since 1970 if all of them are midnights, else in
seconds. Numbers that a spec declares to be dates stay as they are; their size says what they
count: whole numbers from 1000 to 9999 are years, others are the time since 1970 in days,
seconds, milliseconds, microseconds or nanoseconds, the first of these in which all lie before
about the year 5000. A plain number in later data is in the column's unit.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np

from spnc.common.arrays import Floats
from spnc.data.raw_table import RawColumn
from spnc.data.text_values import whole_numbers

DAY = 86_400.0  # seconds
YEARS = "years"
PER_SECOND = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
DATE_UNITS = ("days", *PER_SECOND, YEARS)
_YEARS = (1000, 9999)  # whole numbers that are years where dates are declared
# Numbers below these count in these units. A million days end in 4707, 1e11 seconds in 5138.
_LIMITS = {"days": 1e6, "seconds": 1e11, "milliseconds": 1e14, "microseconds": 1e17}
_EPOCH = dt.datetime(1970, 1, 1)


def date_unit(parts: Sequence[RawColumn]) -> str:
    """Return the unit of a column from all its parts: that of its numbers, or else of its dates."""
    numbers = [p for p in parts if p.kind == "numbers" and not p.is_empty]
    if numbers:
        return _number_unit(numbers)
    for part in parts:
        if part.kind == "dates" and (part.present % DAY != 0).any():
            return "seconds"
    return "days"


def _number_unit(parts: Sequence[RawColumn]) -> str:
    low = min(float(p.present.min()) for p in parts)
    high = max(float(p.present.max()) for p in parts)
    if _YEARS[0] <= low and high <= _YEARS[1] and all(whole_numbers(p) is not None for p in parts):
        return YEARS
    largest = max(-low, high)
    return next((unit for unit, limit in _LIMITS.items() if largest < limit), "nanoseconds")


def in_unit(seconds: Floats, unit: str) -> Floats:
    """Return times in seconds since 1970, NaN where missing, in the unit of a column."""
    if unit == YEARS:
        found = np.full(len(seconds), np.nan)
        known = np.isfinite(seconds)
        moments = np.floor(seconds[known]).astype(np.int64).astype("datetime64[s]")
        found[known] = moments.astype("datetime64[Y]").astype(np.int64) + 1970.0
        return found
    return seconds * PER_SECOND[unit] if unit in PER_SECOND else seconds / DAY


def moment(value: float, unit: str) -> dt.date | dt.datetime | int | float:
    """Return a value of a date column as a day, a time or a year.

    Days and times outside the years 1 to 9999 stay numbers.
    """
    try:
        if unit == YEARS:
            return round(value)
        if unit in PER_SECOND:
            return _EPOCH + dt.timedelta(seconds=value / PER_SECOND[unit])
        return _EPOCH.date() + dt.timedelta(days=round(value))
    except (OverflowError, ValueError):
        return value


def iso_text(seconds: float) -> str:
    """Return a time since 1970 as ISO 8601 text, a midnight as a date alone."""
    try:
        found = _EPOCH + dt.timedelta(seconds=round(seconds, 6))
    except OverflowError:
        return f"{seconds:g} s"
    return found.date().isoformat() if seconds % DAY == 0 else found.isoformat(sep=" ")


def value_text(value: float, unit: str) -> str:
    """Return a value of a date column as ISO 8601 text, or as a year."""
    if unit == YEARS:
        return f"{value:.0f}"
    return iso_text(value / PER_SECOND[unit] if unit in PER_SECOND else value * DAY)
