"""Sums over partitions are those of the whole table."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.binning import Binning, binned
from spnc.data.columns import Column
from spnc.data.dataset import Dataset
from spnc.data.pairs import pair_counts
from spnc.data.parted import PartedTable, partitioned
from spnc.data.row_sums import CountPairs, RowSums, Sums
from spnc.data.table import Table, packed

STATES = (2, 3, 2, 5)
COLUMNS = tuple(
    Column(f"c{i}", "binary" if states == 2 else "categorical", states)
    for i, states in enumerate(STATES)
)
SEEDS = st.integers(0, 10_000)


def _table(seed: int, weighing: str, rows: int = 50) -> Table:
    rng = np.random.default_rng(seed)
    cells = []
    for states in STATES:
        values = rng.integers(states, size=rows).astype(float)
        values[rng.random(rows) < rng.choice([0.0, 0.3])] = np.nan
        cells.append(packed(values, states) if rng.random() < 0.7 else values)
    weights = {
        "ones": None,
        "whole": rng.integers(0, 5, rows).astype(float),
        "parts": rng.random(rows),
    }[weighing]
    return Table.of_columns(cells, weights)


def _parted(table: Table, size: int) -> PartedTable:
    found = partitioned(table, size, 0, "train")
    assert isinstance(found, PartedTable)
    return found


def _sums(columns: tuple[Column, ...], rows: PartedTable, reads: str) -> Sums:
    found = RowSums(columns, rows).of({reads})
    assert found is not None
    return found


@given(SEEDS, st.sampled_from(["ones", "whole", "parts"]), st.integers(1, 40))
def test_counts_are_those_of_the_whole_table(seed: int, weighing: str, size: int) -> None:
    table = _table(seed, weighing)
    rows, expected = _parted(table, size), pair_counts(COLUMNS, table)
    found = _sums(COLUMNS, rows, "pairs")
    assert found.pairs is not None
    rounding = 1e-12 if weighing == "parts" else 0.0
    np.testing.assert_allclose(found.pairs.counts, expected.counts, rtol=rounding, atol=rounding)
    assert found.total == pytest.approx(table.total, rel=rounding)
    for sums in (found, _sums(COLUMNS, rows, "columns")):
        for i, counts in enumerate(sums.states):
            assert counts is not None
            own = expected.between(i, i).diagonal()
            np.testing.assert_allclose(counts, own, rtol=rounding, atol=rounding)


@given(SEEDS)
def test_numbers_are_counted_by_the_ranges_of_the_sample(seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = np.round(rng.normal(size=300), 2 if seed % 2 else 0)
    numbers[rng.random(300) < 0.1] = np.nan
    table = Table.of_columns([numbers, rng.integers(0, 3, 300).astype(np.uint8)])
    columns = (Column("x", "real"), Column("y", "categorical", 3))
    binning, (expected, cells) = Binning.of(columns, table), binned(columns, table)
    assert binning.columns == expected
    np.testing.assert_array_equal(binning.apply(table).values, cells.values)
    rows = _parted(table, 100)
    found = _sums(columns, rows, "pairs")
    assert found.pairs is not None
    assert found.states[0] is None
    by_sample = Binning.of(columns, rows.sample)
    every = pair_counts(by_sample.columns, by_sample.apply(table))
    np.testing.assert_array_equal(found.pairs.counts, every.counts)
    assert every.between(0, 0).sum() == np.count_nonzero(~np.isnan(numbers))


def test_sums_are_computed_once_and_are_all_that_others_get(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = []
    inner = CountPairs.__call__
    monkeypatch.setattr(
        CountPairs, "__call__", lambda self, table: counted.append(1) or inner(self, table)
    )
    rows = _parted(_table(1, "ones"), 10)
    sums = Dataset("parts", COLUMNS, {"train": rows}).sums
    assert sums is not None
    assert sums.of({"sample"}) is sums.of(()) is None
    assert sums.of({"pairs", "sample"}) is sums.of({"pairs"})
    sent = pickle.loads(pickle.dumps(sums.known_for([{"pairs"}, {"columns"}, {"sample"}])))
    assert len(counted) == len(rows.parts)
    assert sent.rows is None
    for name in ("pairs", "columns"):
        own, other = sums.of({name}), sent.of({name})
        assert own is not None
        for one, two in zip(own.states, other.states, strict=True):
            np.testing.assert_array_equal(one, two)


def test_a_table_in_memory_has_no_sums() -> None:
    assert Dataset("whole", COLUMNS, {"train": _table(1, "ones")}).sums is None


def test_progress_tells_of_partitions() -> None:
    told = []
    rows = _parted(_table(2, "ones"), 20)
    RowSums(COLUMNS, rows).of({"pairs"}, lambda *about: told.append(about))
    assert told == [("partitions", done, 3) for done in range(4)]
