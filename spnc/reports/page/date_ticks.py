"""Round dates for an axis: years, months, days, hours, minutes or seconds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from spnc.data.dates import DAY, PER_SECOND, YEARS
from spnc.reports.page.charts import ticks

_EPOCH = datetime(1970, 1, 1)
_SECONDS = {"days": DAY, **{unit: 1.0 / each for unit, each in PER_SECOND.items()}}
_MONTH = 30.44 * DAY
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)
_SPANS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_DAYS = (1, 2, 5, 10)


def date_ticks(low: float, high: float, unit: str, count: int = 5) -> list[float]:
    """Return round dates between two others, in their unit; at most about `count`."""
    if unit == YEARS:
        return [value for value in ticks(low, high, count) if value.is_integer()]
    size = _SECONDS.get(unit)
    if size is None or not high > low:
        return ticks(low, high, count)
    try:
        first, last = (_EPOCH + timedelta(seconds=value * size) for value in (low, high))
        found = list(_round_dates(first, last, (high - low) * size / count))
    except OverflowError:  # years before 1 or after 9999
        return ticks(low, high, count)
    return [(date - _EPOCH).total_seconds() / size for date in found if first <= date <= last]


def _round_dates(first: datetime, last: datetime, apart: float) -> Iterator[datetime]:
    """Yield round dates at least `apart` seconds from one another, from before the first date on.

    Months and years have no fixed length, and days within a month start anew with every month.
    """
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    for span in _SPANS:
        if span >= apart:
            steps = int((last - midnight).total_seconds() // span)
            skipped = int((first - midnight).total_seconds() // span)
            yield from (midnight + timedelta(seconds=span * k) for k in range(skipped, steps + 1))
            return
    for days in _DAYS:
        if days * DAY >= apart:
            yield from _days(midnight, last, days)
            return
    months = next((m for m in _MONTHS if m * _MONTH >= apart), _MONTHS[-1])
    number = (first.year * 12 + first.month - 1) // months * months
    while number < 12 * 10_000:
        year, month = divmod(number, 12)
        if year >= 1:
            date = datetime(year, month + 1, 1)
            if date > last:
                return
            yield date
        number += months


def _days(first: datetime, last: datetime, step: int) -> Iterator[datetime]:
    """Yield every day, or the days 1, 1 + step, … of every month but those just before the next."""
    date = first
    while date <= last:
        if (date.day - 1) % step == 0 and (step == 1 or date.day <= 31 - step):
            yield date
        date += timedelta(days=1)
