"""Dates: what numbers count that are declared to be dates, and what becomes of zones."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest

import spnc
from spnc.data.cells import cell_text
from spnc.data.declared import column_of, judge_declared
from spnc.data.frames import raw_from_python
from spnc.data.load import load, load_table
from spnc.data.options import ColumnRule, DataOptions
from spnc.diagnostics import Sink


@pytest.mark.parametrize(
    ("cells", "unit", "shown"),
    [
        ([1990, 2001, 2019], "years", "1990 2001 2019"),
        ([1990.5, 2001.0, 2019.0], "days", "1975-06-14 1975-06-25 1975-07-13"),
        ([900, 2001, 2019], "days", "1972-06-19 1975-06-25 1975-07-13"),
        ([-1, 19_000, 999_999], "days", "1969-12-31 2022-01-08 4707-11-28"),
        ([1_000_000, 1_700_000_000], "seconds", "1970-01-12 13:46:40 2023-11-14 22:13:20"),
        ([1_700_000_000_000], "milliseconds", "2023-11-14 22:13:20"),
        ([1.7e15], "microseconds", "2023-11-14 22:13:20"),
        ([1_700_000_000 * 10**9], "nanoseconds", "2023-11-14 22:13:20"),
    ],
)
def test_the_size_of_numbers_says_what_declared_dates_count(
    cells: list[float], unit: str, shown: str
) -> None:
    options = DataOptions(source="t", columns=(ColumnRule(name="t", kind="date"),))
    sink = Sink()
    dataset = load(replace(options, table=raw_from_python({"t": cells}, sink)), sink)
    assert dataset is not None
    (column,) = dataset.columns
    assert column.unit == unit
    np.testing.assert_array_equal(dataset.train.column(0), cells)
    assert " ".join(cell_text(column, value) for value in cells) == shown


def test_the_unit_of_declared_dates_is_that_of_all_splits_and_can_be_given() -> None:
    rule = ColumnRule(name="t", kind="date")
    parts = [raw_from_python({"t": cells}, Sink()) for cells in ([1990, 1991], [12])]
    columns = [part.columns[0] for part in parts if part is not None]
    assert column_of("t", judge_declared(columns, rule), rule).unit == "days"
    rule = ColumnRule(name="t", kind="date", unit="milliseconds")
    assert column_of("t", judge_declared(columns, rule), rule).unit == "milliseconds"
    wrong = ColumnRule(name="t", kind="date", unit="weeks")
    assert [conflict.field for conflict in wrong.conflicts()] == ["unit"]


def test_dates_of_later_data_are_counted_in_the_unit_of_the_column() -> None:
    spec = {
        "model": "years",
        "data": {"columns": {"t": "date"}},
        "forest": [{"learner": "hclt", "states": 2}],
    }
    rng = np.random.default_rng(16)
    years, b = rng.integers(1990, 2020, 200), rng.normal(size=200).round(2)
    model = spnc.train(spec, data={"t": years.tolist(), "b": b.tolist()}).model
    assert set(model.sample(50).to_dict()["t"]) <= set(range(1950, 2060))
    rows = {"t": [2004, 2005], "b": [0.0, 0.5]}
    wanted = model.log_likelihood(rows)
    for cells in (["2004-01-01", "2005-12-31"], [dt.date(2004, 7, 1), dt.date(2005, 1, 1)]):
        np.testing.assert_array_equal(model.log_likelihood({**rows, "t": cells}), wanted)


def test_a_zone_does_not_move_the_time_of_day(tmp_path: Path) -> None:
    """Midnights in Berlin are days, from frames, Parquet files and texts alike."""
    zone = pa.timestamp("ns", "Europe/Berlin")
    days = np.arange("2024-03-01", "2024-05-01", dtype="datetime64[D]")
    naive = pa.array(days.astype("datetime64[ns]"))
    local = pa.compute.assume_timezone(naive, "Europe/Berlin")
    assert local.type == zone
    path = tmp_path / "days.parquet"
    pa.parquet.write_table(pa.table({"t": local}), path)
    winter = [f"{day}T00:00:00+01:00" for day in days]
    mixed = [f"{day} 00:00:00{('Z', '+02:00', '-0530')[i % 3]}" for i, day in enumerate(days)]
    frame = pa.table({"t": local}).to_pandas()
    aware = [moment.to_pydatetime() for moment in frame["t"]]
    for data in (str(path), frame, {"t": aware}, {"t": winter}, {"t": mixed}):
        raw = data if isinstance(data, str) else raw_from_python(data, Sink())
        assert raw is not None
        dataset = load_table(raw, Sink())
        assert dataset is not None
        assert dataset.columns[0].unit == "days"
        np.testing.assert_array_equal(dataset.splits["all"].column(0), days.astype(np.int64))
