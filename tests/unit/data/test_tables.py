"""Tables: parts of them have the same cells, and what has been copied is freed."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data import table as table_module
from spnc.data.table import Table, packed


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Columns of bytes, of longer codes and of doubles, with missing cells."""
    rows = draw(st.integers(1, 12))
    cells = []
    for states in draw(st.lists(st.sampled_from([2, 5, 300, 0]), min_size=1, max_size=6)):
        numbers = st.none() | st.integers(0, max(1, states - 1))
        values = draw(st.lists(numbers, min_size=rows, max_size=rows))
        column = np.array([np.nan if v is None else v for v in values])
        cells.append(packed(column, states) if states else column)
    return Table.of_columns(cells)


@given(tables(), st.data())
def test_a_cut_has_the_cells_at_its_rows_and_columns(table: Table, data: st.DataObject) -> None:
    rows = np.array(data.draw(st.lists(st.integers(0, table.rows - 1))), dtype=np.intp)
    order = data.draw(st.permutations(range(table.width)))
    columns = np.array(order[: data.draw(st.integers(1, table.width))], dtype=np.intp)
    found = table.cut(rows, columns)
    np.testing.assert_array_equal(found.values, table.values[np.ix_(rows, columns)])
    assert len(found.weights) == len(rows)


@given(tables(), st.data())
def test_rows_with_a_state_are_found(table: Table, data: st.DataObject) -> None:
    pairs = st.tuples(st.integers(0, table.width - 1), st.integers(0, 299))
    asked = data.draw(st.lists(pairs, min_size=1, max_size=8))
    columns, states = (np.array(part, dtype=np.intp) for part in zip(*asked, strict=True))
    found = table.has(columns, states)
    np.testing.assert_array_equal(found, (table.values[:, columns] == states).T)
    assert found.flags.c_contiguous


@given(tables(), st.integers(1, 40))
def test_pieces_of_columns_have_every_column_once(table: Table, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_module, "PIECE_CELLS", size)
        pieces = list(table.column_pieces())
    assert all(len(p.columns) == 1 or p.cells.size <= size for p in pieces)
    whole = Table.of_blocks(pieces, table.weights)
    np.testing.assert_array_equal(whole.values, table.values)


@pytest.mark.parametrize("limit", [1, 1 << 21])  # with threads, and without
def test_columns_are_freed_once_they_have_been_copied(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "PIECE_CELLS", limit)
    memory = [np.arange(20.0) + i for i in range(3)]
    known = [weakref.ref(array) for array in memory]
    columns = [array[:] for array in memory]  # views, as of the buffers that files are read into
    rows = [np.array([3, 1, 19]), np.array([0, 2])]
    expected = [np.stack([array[part] for array in memory], axis=1) for part in rows]
    del memory
    found = Table.of_parts(columns, None, rows)
    assert [reference() for reference in known] == [None] * 3
    for table, cells in zip(found, expected, strict=True):
        np.testing.assert_array_equal(table.values, cells)


def test_a_large_table_takes_columns_of_doubles_without_a_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table_module, "_LARGE", 4)
    columns = [np.arange(5.0), np.arange(5, dtype=np.uint8), np.arange(5.0, 10.0), np.ones(5, "u1")]
    given = list(columns)
    (table,) = Table.of_parts(columns, None, [slice(None)])
    assert np.shares_memory(table.stored(0), given[0])
    assert np.shares_memory(table.stored(2), given[2])
    np.testing.assert_array_equal(table.values, np.stack(given, axis=1))
    np.testing.assert_array_equal(table.take(slice(1, 3)).values, table.values[1:3])
