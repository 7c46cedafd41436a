"""Floats of 16 and 32 bits are read as the decimals that they were rounded from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spnc
from spnc.data.dataset import Dataset
from spnc.data.frames import raw_from_python
from spnc.data.load import load_table
from spnc.data.narrow_floats import widened
from spnc.diagnostics import Sink


@given(st.integers(-999_999, 999_999), st.integers(-12, 12))
def test_a_decimal_of_six_digits_survives_32_bits(digits: int, power: int) -> None:
    decimal = float(f"{digits}e{power}")
    (found,) = widened(np.array([decimal], dtype=np.float32)).tolist()
    assert found == (float(np.float32(decimal)) if decimal.is_integer() else decimal)


@given(st.integers(-999, 999), st.integers(1, 4))
def test_a_decimal_of_three_digits_survives_16_bits(digits: int, power: int) -> None:
    decimal = float(f"{digits}e-{power}")
    assert widened(np.array([decimal], dtype=np.float16)).tolist() == [decimal]


@given(st.lists(st.floats(width=32, allow_subnormal=False), max_size=20))
def test_no_float_becomes_another(values: list[float]) -> None:
    """Fractions are what Python prints, and all others are unchanged."""
    narrow = np.array(values, dtype=np.float32)
    found = widened(narrow)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found.astype(np.float32), narrow)
    for value, one in zip(narrow, found.tolist(), strict=True):
        if np.isfinite(value) and not float(value).is_integer():
            assert one == pytest.approx(float(str(value)), rel=1e-15)
        else:
            assert one == float(value) or np.isnan(one)


def measured() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {
        "tenths": np.round(rng.normal(20.0, 3.0, 500), 1),
        "quarters": np.round(rng.normal(3.0, 1.0, 500) * 4.0) / 4.0,
        "thousandths": np.round(rng.gamma(2.0, 0.1, 500), 3),
        "two": np.where(rng.random(500) < 0.5, 0.1, 0.7),
        "holes": np.where(rng.random(500) < 0.1, np.nan, np.round(rng.normal(0.0, 9.0, 500), 2)),
    }


def loaded(data: object) -> Dataset:
    sink = Sink()
    raw = raw_from_python(data, sink)
    assert raw is not None
    found = load_table(raw, sink)
    assert found is not None
    return found


def narrowed(how: str, folder: Path) -> Dataset:
    cells = {name: values.astype(np.float32) for name, values in measured().items()}
    if how == "dict":
        return loaded(cells)
    if how == "pandas":
        return loaded(pd.DataFrame(cells))
    path = str(folder / f"a.{how}")
    if how == "npy":
        np.save(path, np.column_stack(list(cells.values())))
    else:
        pa.parquet.write_table(pa.table(cells), path)
    found = load_table(path, Sink())
    assert found is not None
    return found


@pytest.mark.parametrize("how", ["dict", "pandas", "npy", "parquet"])
def test_a_table_is_the_same_with_32_bits_as_with_64(how: str, tmp_path: Path) -> None:
    wide, narrow = loaded(measured()), narrowed(how, tmp_path)
    np.testing.assert_array_equal(narrow.splits["all"].values, wide.splits["all"].values)
    found = [(c.kind, c.labels, c.scale) for c in narrow.columns]
    assert found == [(c.kind, c.labels, c.scale) for c in wide.columns]
    steps = [c.scale.resolution for c in narrow.columns if c.scale is not None]
    assert steps == pytest.approx([0.1, 0.25, 0.001, 0.01])


def test_a_model_scores_32_bits_as_64(tmp_path: Path) -> None:
    spec = {"model": "m", "forest": [{"learner": "hclt", "states": 2}]}
    model = spnc.train(spec, ["optimizer.max_iterations=3"], data=measured()).model
    cells = {name: values.astype(np.float32) for name, values in measured().items()}
    found, expected = model.log_likelihood(cells), model.log_likelihood(measured())
    np.testing.assert_array_equal(found, expected)
    pa.parquet.write_table(pa.table(cells), tmp_path / "a.parquet")
    streamed = model.evaluate(str(tmp_path / "a.parquet"))["all"]
    assert streamed.average == pytest.approx(expected.mean())
