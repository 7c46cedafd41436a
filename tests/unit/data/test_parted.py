"""Partitions: their rows are those of the table, however these came."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.parted import (
    PartedTable,
    PartInMemory,
    Partitioning,
    Sizes,
    in_memory,
    partitioned,
    stacked,
    tables_of,
)
from spnc.data.table import Table


def _rows(table: Table) -> list[tuple[float, ...]]:
    return [tuple(row) for row in np.nan_to_num(table.values, nan=-1.0)]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows, columns = draw(st.integers(2, 60)), draw(st.integers(1, 4))
    seed, states = draw(st.integers(0, 99)), draw(st.integers(2, 9))
    rng = np.random.default_rng(seed)
    cells = [rng.integers(0, states, rows).astype(np.uint8) for _ in range(columns)]
    cells[0] = np.where(rng.random(rows) < 0.2, np.nan, rng.integers(0, 3, rows))  # numbers
    weights = rng.integers(1, 4, rows).astype(float) if draw(st.booleans()) else None
    return Table.of_columns(cells, weights)


@given(tables(), st.integers(1, 20), st.lists(st.integers(0, 59), max_size=5))
def test_partitions_hold_the_rows_however_they_come(
    table: Table, size: int, cuts: list[int]
) -> None:
    def cut(bounds: list[int]) -> PartedTable:
        made = Partitioning(Sizes(size, size, 0.5), np.random.default_rng(0), PartInMemory)
        for a, b in zip([0, *bounds], [*bounds, table.rows], strict=True):
            made.add(table.take(slice(a, b)))
        found = made.finished()
        assert isinstance(found, PartedTable)
        return found

    whole, pieces = cut([]), cut(sorted(c % table.rows for c in cuts))
    assert whole.rows == table.rows
    assert whole.total == table.total
    assert [p.digest for p in whole.parts] == [p.digest for p in pieces.parts]
    assert _rows(whole.sample) == _rows(pieces.sample)
    together = stacked(list(tables_of(whole))).distinct()
    expected = table.distinct()
    assert _rows(together) == _rows(expected)
    np.testing.assert_array_equal(together.weights, expected.weights)
    if expected.rows <= size:
        assert len(whole.parts) == 1
        assert isinstance(whole.distinct(), Table)
    assert all(part.rows <= size for part in whole.parts)


def test_a_table_that_fits_into_a_partition_stays_as_it_is() -> None:
    table = Table(np.arange(12.0).reshape(4, 3))
    assert partitioned(table, 4, 0, "train") is table
    cut = partitioned(table, 3, 0, "train")
    assert isinstance(cut, PartedTable)
    assert [part.rows for part in cut.parts] == [2, 2]
    assert in_memory(cut) is cut.sample


@given(st.integers(1, 50), st.integers(1, 10**6), st.sampled_from([1.0, 0.98, 0.5, 0.01]))
def test_partitions_are_about_equal(most: int, rows: int, fraction: float) -> None:
    sizes = Sizes.of(most, rows, fraction)
    assert 1 <= sizes.each <= sizes.most == most
    if rows * fraction <= most:
        assert sizes.each == most
        assert sizes.share >= 1.0
    elif fraction == 1.0:
        parts = -(-rows // sizes.each)
        assert parts <= -(-rows // most)
        assert rows - (parts - 1) * sizes.each > 0
        assert sizes.each - rows / parts < 1.0


@pytest.mark.parametrize("seed", range(5))
def test_a_random_split_leaves_no_small_partition(seed: int) -> None:
    rows = np.random.default_rng(seed).binomial(100_000, 0.8)
    sizes = Sizes.of(1000, 100_000, 0.8)
    count = -(-rows // sizes.each)
    assert count == 81
    assert rows - (count - 1) * sizes.each > 0.3 * sizes.each


@pytest.mark.parametrize("seed", [0, 1])
def test_a_sample_has_about_as_many_rows_as_a_partition(seed: int) -> None:
    table = Table(np.arange(10_000.0)[:, None])
    cut = partitioned(table, 1000, seed, "train")
    assert isinstance(cut, PartedTable)
    assert 880 < cut.sample.rows < 1120  # four standard deviations
    again = partitioned(table, 1000, seed, "train")
    assert isinstance(again, PartedTable)
    assert _rows(again.sample) == _rows(cut.sample)
    other = partitioned(table, 1000, seed + 1, "train")
    assert isinstance(other, PartedTable)
    assert _rows(other.sample) != _rows(cut.sample)
