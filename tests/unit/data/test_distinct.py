"""Equal rows are found as before, only faster: the same rows, order, weights, bit by bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from spnc.common.arrays import Floats
from spnc.data import table as table_module
from spnc.data.table import Table


def by_numpy(table: Table) -> Table:
    """The distinct rows as numpy's own function finds them."""
    keys = np.where(np.isnan(table.values), -1.0, table.values)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    weights = np.bincount(inverse.reshape(-1), weights=table.weights, minlength=len(first))
    return Table(table.values[first], weights.astype(np.float64))


def check(table: Table) -> None:
    expected = by_numpy(table)
    distinct, inverse = table.distinct_with_inverse()
    assert distinct.values.shape == expected.values.shape
    assert distinct.values.tobytes() == expected.values.tobytes()
    assert distinct.weights.tobytes() == expected.weights.tobytes()
    np.testing.assert_array_equal(distinct.values[inverse], table.values)
    alone = table.distinct()
    assert alone.values.tobytes() == distinct.values.tobytes()
    assert alone.weights.tobytes() == distinct.weights.tobytes()


@st.composite
def tables(draw: st.DrawFn) -> Table:
    shape = (draw(st.integers(1, 8)), draw(st.integers(1, 40)))
    largest = draw(st.sampled_from([0, 1, 2, 255, 256, 1000, 65_533, 65_534, 65_535, 10**9]))
    codes = st.integers(0, largest).map(float) | st.sampled_from([0.0, -0.0, float(largest)])
    if draw(st.booleans()):
        codes |= st.just(math.nan)
    values = draw(arrays.arrays(np.float64, shape, elements=codes))
    if draw(st.booleans()):  # most columns of real data have other numbers of states
        values[:, :: draw(st.integers(1, 3))] %= 2
    again = draw(arrays.arrays(np.intp, st.integers(0, 60), elements=st.integers(0, shape[0] - 1)))
    values = np.concatenate([values, values[again]])
    if draw(st.booleans()):
        values = np.asfortranarray(values)
    weights = draw(arrays.arrays(np.float64, len(values), elements=st.floats(0, 10)))
    return Table(values, weights)


@given(tables())
def test_distinct_rows_are_those_of_numpy(table: Table) -> None:
    check(table)


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(1, 30), st.integers(1, 3)),
        elements=st.sampled_from([0.5, -1.0, -2.0, 1.0, 3e300, math.inf, -math.inf, math.nan]),
    )
)
def test_any_other_numbers_are_told_apart_too(values: Floats) -> None:
    def key(row: list[float]) -> list[tuple[bool, float]]:
        return [(not math.isnan(v), 0.0 if math.isnan(v) else v) for v in row]

    expected = sorted({tuple(key(row)) for row in values.tolist()})
    distinct, inverse = Table(values).distinct_with_inverse()
    assert [tuple(key(row)) for row in distinct.values.tolist()] == expected
    np.testing.assert_array_equal(distinct.values[inverse], values)


@pytest.mark.parametrize("missing", [0.0, 0.01])
@pytest.mark.parametrize("shape", [(9_000, 1), (9_000, 17), (300, 1_500)])
@pytest.mark.parametrize("states", [2, 9, 256])
def test_wide_and_long_tables(shape: tuple[int, int], states: int, missing: float) -> None:
    random = np.random.default_rng(3)
    values = random.integers(0, states, shape).astype(np.float64)
    values[random.random(shape) < missing] = np.nan
    check(Table(values[random.integers(0, len(values) // 2, len(values))]))


@pytest.mark.parametrize("shape", [(0, 3), (0, 0), (4, 0)])
def test_tables_without_rows_or_columns(shape: tuple[int, int]) -> None:
    distinct, inverse = Table(np.zeros(shape)).distinct_with_inverse()
    assert distinct.values.shape == (min(shape[0], 1), shape[1])
    assert distinct.weights.dtype == np.float64
    assert distinct.weights.sum() == shape[0]
    assert inverse.tolist() == [0] * shape[0]


def test_pieces_are_the_rows_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "PIECE_CELLS", 7)
    table = Table(np.arange(30.0).reshape(10, 3), np.arange(10.0))
    pieces = list(table.pieces())
    assert [p.rows for p in pieces] == [2, 2, 2, 2, 2]
    np.testing.assert_array_equal(np.concatenate([p.values for p in pieces]), table.values)
    np.testing.assert_array_equal(np.concatenate([p.weights for p in pieces]), table.weights)
    assert [p.rows for p in Table(np.zeros((2, 9))).pieces()] == [1, 1]
    assert list(Table(np.zeros((0, 9))).pieces()) == []
