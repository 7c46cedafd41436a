"""Round dates on the axes of a report."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.reports.page.charts import ticks
from spnc.reports.page.date_ticks import date_ticks

EPOCH = datetime(1970, 1, 1)
SECONDS = {"days": 86_400.0, "seconds": 1.0}


def between(first: str, last: str, unit: str, count: int = 5) -> list[str]:
    low, high = (
        (datetime.fromisoformat(text) - EPOCH).total_seconds() / SECONDS[unit]
        for text in (first, last)
    )
    found = date_ticks(low, high, unit, count)
    return [str(EPOCH + timedelta(seconds=value * SECONDS[unit])) for value in found]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("2019-03-02", "2022-05-01", ["2020-01-01", "2021-01-01", "2022-01-01"]),
        ("2019-03-02", "2019-09-20", ["2019-05-01", "2019-07-01", "2019-09-01"]),
        ("2019-12-28", "2020-01-03", ["2019-12-29", "2020-01-01", "2020-01-03"]),
        ("1850-01-01", "2020-01-01", ["1850-01-01", "1900-01-01", "1950-01-01", "2000-01-01"]),
    ],
)
def test_ticks_of_days_are_round(first: str, last: str, expected: list[str]) -> None:
    assert between(first, last, "days") == [f"{day} 00:00:00" for day in expected]


def test_ticks_of_seconds_are_round() -> None:
    found = between("2020-09-13 06:10:00", "2020-09-13 17:55:00", "seconds")
    assert found == [f"2020-09-13 {hour:02}:00:00" for hour in (9, 12, 15)]


def test_ticks_of_every_unit_are_round() -> None:
    found = date_ticks(1.7e12, 1.7e12 + 3.6e6, "milliseconds", 3)
    assert found == [1_700_001_000_000.0, 1_700_002_800_000.0]  # 22:30 and 23:00
    assert date_ticks(1990.0, 2019.0, "years") == [1990.0, 2000.0, 2010.0]
    assert date_ticks(2003.5, 2005.2, "years") == [2004.0, 2005.0]


def test_dates_that_no_calendar_has_are_plain_numbers() -> None:
    assert date_ticks(0.0, 9e9, "days") == ticks(0.0, 9e9)


@given(
    low=st.floats(-5e4, 5e4),
    span=st.floats(1e-3, 1e5),
    count=st.integers(1, 6),
    unit=st.sampled_from(["days", "seconds"]),
)
def test_ticks_are_few_ascending_and_within(low: float, span: float, count: int, unit: str) -> None:
    found = date_ticks(low, low + span, unit, count)
    assert found == sorted(set(found))
    assert len(found) <= count + 2
    assert all(low - 1e-6 <= value <= low + span + 1e-6 for value in found)
