"""What a typed source says of its columns is kept: categories, their order, texts, units."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import spnc
from spnc.data.columns import Column
from spnc.data.frames import raw_from_python
from spnc.data.load import load_table
from spnc.diagnostics import Sink

ROWS = 300
rng = np.random.default_rng(4)
BESIDE = rng.normal(size=ROWS)


def column(cells: Any, tmp_path: Path | None = None) -> Column | None:
    """The column of these cells in a frame or, with a folder, in a Parquet file of it."""
    frame = pd.DataFrame({"x": cells, "beside": BESIDE})
    sink = Sink()
    source: Any = raw_from_python(frame, sink)
    if tmp_path is not None:
        frame.to_parquet(tmp_path / "x.parquet")
        source = str(tmp_path / "x.parquet")
    dataset = load_table(source, sink)
    assert dataset is not None, sink.diagnostics
    return next((c for c in dataset.columns if c.name == "x"), None)


LEVELS = ["low", "mid", "high", "never"]


@pytest.mark.parametrize("parquet", [False, True])
@pytest.mark.parametrize(
    ("cells", "kind", "states", "labels"),
    [
        (pd.Categorical(np.arange(ROWS) % 60), "categorical", 60, None),
        (pd.Categorical(np.arange(ROWS) % 60 / 4), "categorical", 60, tuple(np.arange(60) / 4)),
        (pd.Categorical(np.arange(ROWS) % 2), "binary", 2, None),
        (
            pd.Categorical(rng.choice(LEVELS[:3], ROWS), LEVELS, ordered=True),
            "categorical",
            3,
            ("low", "mid", "high"),
        ),
        (pd.Categorical(rng.choice(LEVELS[:3], ROWS)), "categorical", 3, ("high", "low", "mid")),
        (pd.array([str(i % 3) for i in range(ROWS)], "string"), "categorical", 3, ("0", "1", "2")),
        (
            pd.array([f"0{i % 3}" for i in range(ROWS)], "string"),
            "categorical",
            3,
            ("00", "01", "02"),
        ),
        (pd.array([f"{v:.3f}" for v in BESIDE], "string"), "real", 0, None),
        (pd.Categorical(np.arange(ROWS) % 2 == 0), "binary", 2, (False, True)),
        (np.arange(ROWS) % 2 == 0, "binary", 2, (False, True)),
    ],
)
def test_a_frame_and_its_file_say_what_a_column_is(
    cells: Any,
    kind: str,
    states: int,
    labels: tuple[Any, ...] | None,
    parquet: bool,
    tmp_path: Path,
) -> None:
    found = column(cells, tmp_path if parquet else None)
    assert found is not None
    assert (found.kind, found.states) == (kind, states)
    if labels is not None:
        assert [float(v) if isinstance(v, float) else v for v in labels] == list(found.labels or ())


def test_categories_that_hardly_repeat_identify_rows() -> None:
    assert column(pd.Categorical(np.arange(ROWS))) is None
    assert column(pd.Categorical([str(i) for i in range(ROWS)])) is None


def test_numbers_in_order_keep_it() -> None:
    found = column(pd.Categorical(rng.choice([3, 1, 2], ROWS), [3, 1, 2], ordered=True))
    assert found is not None
    assert found.labels == (3, 1, 2)


def test_intervals_keep_their_order() -> None:
    found = column(pd.cut(BESIDE, [-9, -1, 1, 9]))
    assert found is not None
    assert found.labels == ("(-9, -1]", "(-1, 1]", "(1, 9]")


def test_an_enum_of_polars_keeps_its_order_and_drops_what_does_not_occur() -> None:
    cells = pl.Series(rng.choice(["mid", "low"], ROWS), dtype=pl.Enum(LEVELS))
    raw = raw_from_python(pl.DataFrame({"x": cells, "beside": BESIDE}), Sink())
    assert raw is not None
    dataset = load_table(raw, Sink())
    assert dataset is not None
    assert dataset.columns[0].labels == ("low", "mid")


def test_texts_of_digits_in_a_text_file_are_numbers(tmp_path: Path) -> None:
    pd.DataFrame({"x": np.arange(ROWS) % 3 + 5, "y": BESIDE}).to_csv(
        tmp_path / "x.csv", index=False
    )
    dataset = load_table(str(tmp_path / "x.csv"), Sink())
    assert dataset is not None
    assert dataset.columns[0].labels == (5, 6, 7)


MINUTES = rng.integers(1, 90, ROWS)
HOURS = [dt.time(int(hour), 30) for hour in rng.integers(0, 24, ROWS)]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"took": pd.to_timedelta(MINUTES, unit="min"), "at": HOURS}),
        pl.DataFrame({"took": [dt.timedelta(minutes=int(m)) for m in MINUTES], "at": HOURS}),
        pa.table({"took": [dt.timedelta(minutes=int(m)) for m in MINUTES], "at": HOURS}),
    ],
)
def test_durations_and_times_are_real_seconds(frame: Any) -> None:
    model = spnc.train({"model": "times", "forest": [{"learner": "extra-spn"}]}, data=frame).model
    took, at = model.columns
    assert (took.kind, took.unit) == ("real", "s")
    assert (at.kind, at.unit) == ("real", "s since midnight")
    assert took.scale is not None
    assert took.scale.high == MINUTES.max() * 60.0
    assert "took (s)" in str(model.sample(3))
    seconds = {
        "took": (MINUTES * 60).tolist(),
        "at": [time.hour * 3600 + time.minute * 60 for time in HOURS],
    }
    np.testing.assert_array_equal(model.log_likelihood(frame), model.log_likelihood(seconds))


def test_durations_of_two_lengths_are_two_states() -> None:
    found = column(pd.to_timedelta(np.arange(ROWS) % 2 * 30 + 30, unit="s"))
    assert found is not None
    assert (found.kind, found.labels, found.unit) == ("binary", (30, 60), "s")
