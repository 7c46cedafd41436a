"""Dates in questions: a year, a month, a day or a time, as the stretch of time that it names."""

from __future__ import annotations

import math
import re

import numpy as np

from spnc.data.columns import Column
from spnc.data.dates import in_unit

_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?)?)?")
_MICROSECONDS = 1e6  # in a second


def is_date(text: str) -> bool:
    """Whether a text is written like a date, which need not exist."""
    return _DATE.fullmatch(text) is not None


def date_span(column: Column, text: str) -> tuple[float, float] | None:
    """Return where the values of a date column lie that are in a year, a month, a day or a time.

    Values are recorded as multiples of the column's resolution, and each stands for what is nearer
    to it than half of that: the stretch begins half a resolution before the first value and ends
    half a resolution after the last. A date that is finer than the resolution is the recorded value
    that it falls into. None if there is no such date.
    """
    moment = _moment(text)
    if moment is None:
        return None
    begins = _seconds(moment), _seconds(moment + 1)
    start, stop = in_unit(np.array(begins), column.unit).tolist()
    step = 1.0 if column.scale is None else column.scale.resolution
    if stop - start < step:
        start = math.floor(start / step + 1e-9) * step
        stop = start + step
    return start - step / 2, stop - step / 2


def _moment(text: str) -> np.datetime64 | None:
    """Return a date in the unit in which it is written; None if it does not exist."""
    if not is_date(text):
        return None
    day, _, time = text.replace("T", " ").partition(" ")
    hours, colon, rest = time.partition(":")
    try:
        return np.datetime64(f"{day}T{hours:0>2}{colon}{rest}" if time else day)
    except ValueError:
        return None


def _seconds(moment: np.datetime64) -> float:
    return float(moment.astype("datetime64[us]").astype(np.int64)) / _MICROSECONDS
