"""Tables as codes: codebooks, wide columns, the reference distribution, and pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.backends.planning import encoding
from spnc.backends.planning.encoding import EncodedTable, encode
from spnc.backends.planning.leaf_list import LEAST_RATIO, exponential
from spnc.backends.planning.program_index import ProgramIndex
from spnc.backends.planning.reference_distribution import BINS, Histogram
from spnc.data.columns import Column
from spnc.data.table import Table
from spnc.graph.nodes import Builder
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.gaussian import Gaussian
from spnc.program.lower import lower

FINITE_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def index_of(leaves: int = 1) -> ProgramIndex:
    """Two real columns, with this many leaves each, and a binary one."""
    builder = Builder((Column("a", "real", 0), Column("b", "real", 0), Column("c")))
    parts = [
        builder.product(
            [
                *(builder.leaf(v, Gaussian(float(k), 1.0)) for v in range(2)),
                builder.leaf(2, Bernoulli(0.5)),
            ]
        )
        for k in range(leaves)
    ]
    builder.graph.graph["root"] = builder.sum(parts, [1.0 / leaves] * leaves)
    return ProgramIndex(lower(builder.graph)[0])


def table(rows: int) -> Table:
    """All values of `a` differ; `b` has four values; some cells are missing."""
    rng = np.random.default_rng(0)
    values = np.stack(
        [rng.permutation(rows) - 0.5, rng.integers(4, size=rows) / 8, rng.integers(2, size=rows)],
        axis=1,
    ).astype(float)
    values[::5, 0] = values[1::7, 1] = values[2::9, 2] = np.nan
    return Table(values, rng.random(rows) + 0.5)


def decoded(encoded: EncodedTable) -> np.ndarray:
    """The cells that codes, codebooks and numbers stand for, `[row, column]`."""
    found = np.empty((encoded.rows, 3))
    every = np.arange(encoded.rows)
    for column in range(2):
        found[:, column] = encoded.cells(column, every)
    found[:, 2] = np.array([0.0, 1.0, np.nan])[encoded.codes[2]]
    return found


@pytest.mark.parametrize("most_codes", [None, 4096, 0])
def test_codes_stand_for_the_cells_of_a_table(most_codes: int | None) -> None:
    own = table(90)
    encoded = encode(index_of(), own, most_codes=most_codes)
    assert sorted(encoded.numbers) == {None: [], 4096: [0], 0: [0, 1]}[most_codes]
    np.testing.assert_array_equal(decoded(encoded), own.values)
    mixed = encoded.shuffled()
    np.testing.assert_array_equal(decoded(mixed), own.values[mixed.order])
    assert (mixed.weights == own.weights[mixed.order]).all()


def test_codebooks_are_ascending_and_a_missing_cell_comes_after_all() -> None:
    encoded = encode(index_of(), table(90))
    assert encoded.codebooks[1].tolist() == [0.0, 0.125, 0.25, 0.375]
    missing = np.isnan(table(90).column(1))
    assert (encoded.codes[1, missing] == 4).all()
    assert (encoded.codes[1, ~missing] < 4).all()


def test_columns_with_too_many_entries_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 not in encode(index_of(leaves=3), table(90)).numbers
    monkeypatch.setattr(encoding, "MOST_ENTRIES", 14)  # 3 leaves of 4 values and a missing one: 15
    assert 1 in encode(index_of(leaves=3), table(90)).numbers


def test_pieces_have_a_code_for_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "PIECE_ENTRIES", 60)  # ten rows with two columns of three leaves
    encoded = encode(index_of(leaves=3), table(90))
    rows = np.arange(5, 80, 3)
    pieces = list(encoded.pieces(rows))
    assert [len(piece.rows) for piece in pieces] == [10, 10, 5]
    assert np.concatenate([piece.rows for piece in pieces]).tolist() == rows.tolist()
    for piece in pieces:
        assert piece.codes.flags.c_contiguous  # kernels are compiled for this memory order
        for group, book, _ in piece.leaves.groups:
            cells = book[piece.codes[group.column, piece.places]]
            np.testing.assert_array_equal(cells, encoded.cells(group.column, piece.rows))


@given(values=st.lists(FINITE_NUMBERS, min_size=1, max_size=300))
def test_the_reference_of_any_numbers_is_positive_and_finite(values: list[float]) -> None:
    distinct, counts = np.unique(values, return_counts=True)
    found = Histogram.of(distinct, counts)
    assert len(found.logs) <= BINS + 1
    assert np.isfinite(found.log_density(np.array(values))).all()
    assert found.log_density(np.array([np.nan])).tolist() == [0.0]


@pytest.mark.parametrize("rows", [1, 2, 50, 5_000])
def test_the_reference_is_a_density(rows: int) -> None:
    """Its bins are as wide as the values they hold, so that it integrates to one."""
    values = np.random.default_rng(rows).normal(7.0, 3.0, size=rows)
    found = Histogram.of(*np.unique(values, return_counts=True))
    points = np.linspace(values.min() - 1.0, values.max() + 1.0, 2_000_001)
    low, high = found.inner[[0, -1]] if len(found.inner) else (np.inf, -np.inf)
    inside = (points > low) & (points < high)
    mass = np.exp(found.log_density(points[inside])).sum() * (points[1] - points[0])
    bins = len(found.logs) - 1
    outer = 2 * (np.ceil(rows / bins) + 1) / (rows + bins) if bins > 1 else 1.0
    assert mass == pytest.approx(1.0 - outer, abs=0.1)


def test_only_what_is_impossible_becomes_zero() -> None:
    logs = np.array([[0.0, -800.0, -np.inf, 1.0, -1e300]])
    found = np.empty_like(logs)
    assert exponential(logs.copy(), found) == -1e300
    assert found[0, [0, 3]] == pytest.approx([1.0, np.e])
    assert found[0, [1, 4]] == pytest.approx([LEAST_RATIO, LEAST_RATIO])
    assert found[0, 2] == 0.0
    assert exponential(np.array([[1.0, 2.0]]), np.empty((1, 2))) == 0.0
