"""Arrays of doubles as tables: the same tables as column by column, and the same errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.columns import Column
from spnc.data.dataset import UNSPLIT
from spnc.data.frames import raw_from_python
from spnc.data.load import load_table
from spnc.data.plain_arrays import PlainArrays
from spnc.data.table import RUN, Table
from spnc.data.table_rules import AS_MODELLED, TableRules
from spnc.diagnostics import Sink

COLUMNS = (
    Column("binary"),
    Column("codes", "categorical", 3),
    Column("texts", "categorical", 3, ("a", "b", "c")),
    Column("truth", "binary", 2, (False, True)),
    Column("whole", "categorical", 3, (5, 1, 3)),
    Column("halves", "categorical", 2, (0.5, 1.5)),
    Column("both", "categorical", 3, (7, "other", 2)),
    Column("many", "categorical", 300),
    Column("real", "real", 0),
    Column("count", "count", 0),
)
CELLS = st.one_of(
    st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 8.0, 0.5, 1.5, -0.0, 255.0, 299.0, np.nan]),
    st.sampled_from([-1.0, 256.0, 300.0, 1e16, 1e151, np.inf, -np.inf, 0.1]),
)


def column_by_column(values: Any, columns: tuple[Column, ...], rules: TableRules) -> Table | None:
    sink = Sink()
    raw = raw_from_python(values, sink)
    if raw is None:
        return None
    found = load_table(raw, sink, columns=columns, rules=rules)
    return None if found is None or sink.failed else found.splits[UNSPLIT]


@given(data=st.data(), chosen=st.lists(st.sampled_from(COLUMNS), min_size=1, unique=True))
def test_tables_are_those_that_are_read_column_by_column(
    data: st.DataObject, chosen: list[Column]
) -> None:
    columns = tuple(chosen)
    rows = data.draw(st.integers(1, 4))
    cells = data.draw(st.lists(CELLS, min_size=rows * len(columns), max_size=rows * len(columns)))
    values = np.array(cells).reshape(rows, len(columns))
    found = PlainArrays(columns, AS_MODELLED).table(values)
    slow = column_by_column(values, columns, AS_MODELLED)
    if slow is None:
        assert found is None
    elif found is not None:
        np.testing.assert_array_equal(found.values, slow.values)
    else:  # only what is unusual is left to the slow way
        assert not np.isin(values[~np.isnan(values)], [0.0, 1.0]).all()


@given(data=st.data())
def test_valid_arrays_are_not_left_to_the_slow_way(data: st.DataObject) -> None:
    allowed = [[*(c.array_labels or range(c.states or 9)), np.nan] for c in COLUMNS]
    values = np.array([[data.draw(st.sampled_from(own)) for own in allowed] for _ in range(3)])
    found = PlainArrays(COLUMNS, AS_MODELLED).table(values.astype(np.float64))
    assert found is not None
    slow = column_by_column(values.astype(np.float64), COLUMNS, AS_MODELLED)
    assert slow is not None
    np.testing.assert_array_equal(found.values, slow.values)


@pytest.mark.parametrize(
    "rules",
    [
        TableRules(missing=("", "1")),
        TableRules(weight="w"),
        TableRules(names=("b", "a")),
        TableRules(names=("a", "unused", "b")),
    ],
)
def test_unusual_rules_are_left_to_the_slow_way(rules: TableRules) -> None:
    columns = (Column("a"), Column("b"))
    assert PlainArrays(columns, AS_MODELLED).table(np.ones((2, 2))) is not None
    assert PlainArrays(columns, rules).table(np.ones((2, 2))) is None


@pytest.mark.parametrize(
    "data",
    [
        np.ones((2, 3)),
        np.ones((0, 2)),
        np.ones((2, 2), dtype=np.float32),
        np.ones((1, 2, 2)),
        np.ma.masked_array(np.ones((2, 2)), mask=True),
        [[1.0, 1.0]],
        {"a": [1.0], "b": [1.0]},
    ],
    ids=["too wide", "empty", "single precision", "a cube", "masked", "lists", "columns"],
)
def test_other_data_is_left_to_the_slow_way(data: Any) -> None:
    assert PlainArrays((Column("a"), Column("b")), AS_MODELLED).table(data) is None


def test_one_dimension_is_one_row() -> None:
    found = PlainArrays((Column("a"), Column("b")), AS_MODELLED).table(np.array([1.0, np.nan]))
    assert found is not None
    np.testing.assert_array_equal(found.values, [[1.0, np.nan]])


@given(seed=st.integers(0, 10_000), rows=st.integers(1, RUN))
def test_a_few_rows_seem_distinct_if_they_are(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (rows, 6)).astype(np.float64)
    values[rng.random(values.shape) < 0.1] = np.nan
    packed = PlainArrays(tuple(Column(f"x{i}") for i in range(6)), AS_MODELLED).table(values)
    assert packed is not None
    equal = packed.distinct().rows < rows
    assert packed.seems_distinct() == (not equal)


_THOUSAND = np.arange(1_000)


@pytest.mark.parametrize(
    "order",
    [
        np.repeat(_THOUSAND, 2),
        np.random.default_rng(0).permutation(np.tile(_THOUSAND, 2)),
        np.concatenate([_THOUSAND, np.zeros(1_000, dtype=np.int64)]),
    ],
    ids=["beside one another", "anywhere", "at the end"],
)
def test_many_equal_rows_are_noticed(order: Any) -> None:
    bits = ((order[:, None] >> np.arange(10)) & 1).astype(np.float64)
    packed = PlainArrays(tuple(Column(f"x{i}") for i in range(10)), AS_MODELLED).table(bits)
    assert packed is not None
    assert not packed.seems_distinct()
