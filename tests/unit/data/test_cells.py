"""Values in the words of their table: labels, dates, and numbers rounded as the table's are."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.cells import (
    as_column,
    cell_text,
    cell_value,
    column_text,
    exact_text,
    heading,
    number_text,
    range_text,
)
from spnc.data.columns import Column, Scale
from spnc.data.load import load_table
from spnc.data.summary import content_text, summarise
from spnc.diagnostics import Sink


def real(resolution: float, sd: float = 1.0, unit: str = "") -> Column:
    return Column("x", "real", 0, None, Scale(resolution=resolution, sd=sd), unit)


SPECIES = Column("species", "categorical", 3, ("Adelie", "Chinstrap", "Gentoo"))
DAY = Column("day", "date", 0, None, Scale(low=0, high=20_000), "days")
TIME = Column("time", "date", 0, None, Scale(resolution=60.0), "seconds")


def test_codes_are_shown_by_their_labels() -> None:
    assert cell_value(SPECIES, 2.0) == "Gentoo"
    assert cell_text(SPECIES, 1.0) == "Chinstrap"
    assert cell_value(Column("n", "binary", 2, (123, 124)), 1.0) == 124
    assert cell_value(Column("b", "binary", 2, (False, True)), 1.0) is True
    assert cell_text(Column("b", "binary", 2, (False, True)), 1.0) == "true"
    assert cell_text(Column("f", "binary", 2, (0.5, 1.0)), 1.0) == "1.0"


def test_codes_without_labels_and_counts_are_whole_numbers() -> None:
    assert cell_value(Column("a"), 1.0) == 1
    assert cell_text(Column("c", "categorical", 12), 11.0) == "11"
    assert cell_text(Column("k", "count", 0), 1234567.0) == "1234567"


@pytest.mark.parametrize(
    ("resolution", "value", "rounded", "text"),
    [
        (0.1, 43.7123, 43.7, "43.7"),
        (0.1, 0.3000001, 0.3, "0.3"),
        (25.0, 4137.6, 4150.0, "4150"),
        (25.0, 4137.4, 4125.0, "4125"),
        (0.25, -1.1, -1.0, "-1.00"),
        (2.5, 6.1, 5.0, "5.0"),
        (0.5, -0.1, 0.0, "0.0"),
        (1.0, 1e9 + 0.4, 1e9, "1000000000"),
        (1000.0, 123_456.0, 123_000.0, "123000"),
        (0.001, 2.0, 2.0, "2.000"),
    ],
)
def test_numbers_are_rounded_to_the_resolution(
    resolution: float, value: float, rounded: float, text: str
) -> None:
    column = real(resolution)
    assert cell_value(column, value) == rounded
    assert math.copysign(1.0, float(str(cell_value(column, value)))) == math.copysign(1.0, rounded)
    assert cell_text(column, value) == text


@given(
    st.sampled_from([1e-6, 0.01, 0.025, 0.1, 0.5, 1.0, 2.0, 25.0, 1e4]), st.integers(-9999, 9999)
)
def test_a_value_of_the_table_stays_the_same(resolution: float, steps: int) -> None:
    value = float(f"{steps * resolution:.12g}")
    column = real(resolution)
    assert cell_value(column, value) == value
    assert float(exact_text(column, value)) == value


@given(st.floats(1e-300, 1e300), st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_is_shown_near_its_value(resolution: float, value: float) -> None:
    column = real(resolution)
    shown = float(exact_text(column, value))
    assert abs(shown - value) <= 0.5001 * resolution + 1e-9 * abs(value)
    assert cell_text(column, value)


def test_people_see_only_digits_that_matter() -> None:
    fine = real(1e-12, sd=100.0)
    assert cell_text(fine, 3.14159265) == "3.1"
    assert exact_text(fine, 3.14159265) == "3.14159265"
    assert number_text(Column("x", "real", 0), 1 / 3) == "0.333333"


def test_dates_and_times_are_shown_as_such() -> None:
    assert cell_value(DAY, 0.4) == dt.date(1970, 1, 1)
    assert cell_text(DAY, 14_200.0) == "2008-11-17"
    assert cell_value(TIME, 3_631.0) == dt.datetime(1970, 1, 1, 1, 1)
    assert cell_text(TIME, 3_631.0) == "1970-01-01 01:01"
    seconds = Column("t", "date", 0, None, Scale(resolution=1.0), "seconds")
    assert cell_text(seconds, -1.0) == "1969-12-31 23:59:59"
    midnight = Column("t", "date", 0, None, Scale(resolution=86_400.0), "seconds")
    assert cell_text(midnight, 86_400.0 * 31) == "1970-02-01"


def test_a_date_that_no_calendar_has_stays_a_number() -> None:
    assert cell_value(DAY, 1e9) == 1e9
    assert cell_text(DAY, 1e9) == "1000000000"
    assert as_column(DAY, np.array([1e300])).dtype.kind == "M"


def test_missing_values_are_empty_in_files_and_dashes_for_people() -> None:
    for column in (SPECIES, DAY, TIME, real(0.1), Column("k", "count", 0)):
        assert cell_value(column, math.nan) is None
        assert exact_text(column, math.nan) == ""
        assert cell_text(column, math.nan) == "–"
        assert cell_text(column, math.nan, "") == ""


def test_units_stand_in_heads_and_ranges() -> None:
    mass = Column("mass", "real", 0, None, Scale(25.0, 2700, 6300, 4200, 800), "g")
    assert heading(mass) == "mass (g)"
    assert heading(DAY) == "day"
    assert column_text(mass) == "2700 to 6300 g"
    assert range_text(mass, 3000.0, 3000.0) == "3000 g"
    assert column_text(DAY) == "1970-01-01 to 2024-10-04"
    assert column_text(Column("x", "real", 0, unit="mm")) == "numbers of mm"


def test_many_labels_are_counted() -> None:
    column = Column("x", "categorical", 9, tuple("abcdefghi"))
    assert column_text(column) == "a, b, c, d, e, f and 3 more"


def test_arrays_have_plain_types() -> None:
    values = np.array([0.0, 1.0, math.nan])
    assert as_column(SPECIES, values).tolist() == ["Adelie", "Chinstrap", None]
    assert as_column(Column("a"), values[:2]).dtype == np.int64
    assert as_column(Column("a"), values).dtype == np.float64
    assert as_column(DAY, values).tolist() == [dt.date(1970, 1, 1), dt.date(1970, 1, 2), None]
    assert as_column(TIME, values).dtype == np.dtype("datetime64[us]")


def test_truth_values_have_one_form_everywhere(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n" + "TRUE,1.5\nFALSE,2.5\nFALSE,0.5\nTRUE,7.5\n" * 3)
    dataset = load_table(str(tmp_path / "a.csv"), Sink())
    assert dataset is not None
    column = dataset.columns[0]
    shown = [cell_text(column, 0.0), cell_text(column, 1.0)]
    assert shown == ["false", "true"]
    assert content_text(summarise(dataset)["columns"][0]) == ", ".join(shown)
    assert column_text(column) == ", ".join(shown)
