"""Edges of histograms, and values that deserve a point mass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.leaves.atoms import find_atoms, point_at
from spnc.leaves.binning import adaptive_edges, even_edges
from spnc.leaves.histogram import Histogram
from spnc.leaves.leaf_columns import LeafColumns
from spnc.testing.leaf_cases import scale_of_values


def column_of(values: Floats, resolution: float = 1.0, kind: str = "real") -> Column:
    return Column("x", kind, 0, scale=scale_of_values(values, resolution))  # type: ignore[arg-type]


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["real", "count"]))
def test_all_edges_make_a_valid_histogram_of_the_whole_column(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    resolution = 1.0 if kind == "count" else float(rng.choice([1.0, 0.1, 1e-9]))
    far = 0.0 if kind == "count" else float(rng.choice([0.0, -50.0, 1e6]))
    values = np.rint(rng.gamma(1.0, 9.0, size=int(rng.integers(1, 60))) / resolution) * resolution
    values += far
    column = column_of(values, resolution, kind)
    weights = rng.random(len(values))
    for edges in (even_edges(column), adaptive_edges(column, values, weights)):
        chances = np.full(len(edges) - 1, 1.0 / (len(edges) - 1))
        row = Histogram.row_of(edges, chances)
        assert Histogram.from_row(row).problems(column) == []
        known = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
        assert np.isfinite(Histogram.log_density(row[None, :], values[None, :], known)).all()


def test_adaptive_edges_follow_the_density() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.uniform(0, 1, 3000), rng.uniform(1, 100, 1000)])
    edges = adaptive_edges(column_of(values, 1e-9), values, np.ones(4000))
    assert 3 <= len(edges) <= 6
    assert np.abs(edges - 1.0).min() < 0.1


def test_bins_that_are_not_needed_are_not_made() -> None:
    values = np.random.default_rng(2).uniform(0, 1, 500)
    assert len(adaptive_edges(column_of(values, 1e-9), values, np.ones(500))) == 2


def test_adaptive_edges_explain_more_than_even_ones() -> None:
    values = np.random.default_rng(5).lognormal(0.0, 1.5, size=2000)
    column = column_of(values, 1e-6)
    gains = []
    for edges in (adaptive_edges(column, values, np.ones(2000)), even_edges(column)):
        counts, _ = np.histogram(values, edges)
        row = Histogram.row_of(edges, counts / 2000)
        known = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
        gains.append(Histogram.log_density(row[None, :], values[None, :], known).mean())
    assert gains[0] > gains[1] + 0.4


def test_without_weight_edges_are_even() -> None:
    values = np.array([1.0, 2.0, np.nan])
    column = column_of(values[:2])
    assert adaptive_edges(column, values, np.zeros(3)).tolist() == even_edges(column).tolist()


def test_what_is_wrong_with_a_histogram_is_said_at_once() -> None:
    column = column_of(np.array([0.0, 9.0]), 1.0, "count")
    assert Histogram((0.0, 1.0)).problems(column) == [
        "2 numbers, where edges and probabilities take turns: "
        "e0, p0, e1, …, from one edge to another"
    ]
    assert Histogram((-0.5, 0.7, 0.0, 0.7, 3.5, -0.1, 3.5)).problems(column) == [
        "the probability -0.1 of bin 2 is not between 0 and 1",
        "the width of the bin from -0.5 = 0.5 is narrower than the column's resolution 1 allows: "
        "at least 1",
        "the edge 3.5 is not above 3.5, the edge before it",
        "the edge 0 is not a half number from -0.5 on",
    ]
    assert Histogram((-0.5, 0.5, 3.5, 0.1, 5.5)).problems(column) == [
        "the probabilities sum to 0.6, not to 1"
    ]


def test_pseudo_rows_are_spread_over_bins_by_width() -> None:
    row = np.array([[-0.5, 0.5, 0.5, 0.5, 3.5]])
    values = np.array([[0.0, 0.0, 2.0, np.nan]])
    flows = np.ones((1, 4))
    column = column_of(np.array([0.0, 3.0]), 1.0, "count")
    columns = LeafColumns.of([column], np.zeros(1, dtype=np.int64))
    counts = Histogram.statistics(values, flows, row, columns)
    assert counts.tolist() == [[2.0, 1.0]]
    found = Histogram.estimate(counts, 4.0, row, columns)
    assert found[0, 1::2] == pytest.approx([(2 + 1) / 7, (1 + 3) / 7])


def test_zeros_of_a_continuous_column_are_an_atom() -> None:
    rng = np.random.default_rng(3)
    values = np.where(rng.random(1000) < 0.3, 0.0, np.round(rng.gamma(2.0, 3.0, size=1000), 2))
    column = column_of(values, 0.01)
    [atom] = find_atoms(column, values, np.ones(1000))
    assert atom.value == 0.0
    assert atom.share == pytest.approx(0.3, abs=0.05)
    assert point_at(column, atom.value).row == (0.0, 0.01)


def test_zeros_of_an_inflated_count_are_an_atom() -> None:
    rng = np.random.default_rng(4)
    values = np.where(rng.random(2000) < 0.5, 0, rng.poisson(6.0, size=2000)).astype(float)
    column = column_of(values, 1.0, "count")
    assert [atom.value for atom in find_atoms(column, values, np.ones(2000))] == [0.0]
    assert point_at(column, 0.0).row == (0.0, 1.0)


@given(seed=st.integers(0, 10**6))
def test_rounded_values_are_no_atoms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for values, kind in (
        (np.rint(rng.normal(40.0, 8.0, size=2000)), "real"),
        (rng.poisson(3.0, size=2000).astype(float), "count"),
        (rng.normal(size=2000), "real"),
    ):
        resolution = 1e-12 if kind == "real" and values[0] % 1 else 1.0
        assert find_atoms(column_of(values, resolution, kind), values, np.ones(2000)) == []


def test_values_that_repeat_by_chance_are_no_atoms() -> None:
    """Of 300 values, some occur three times among 150 rows; a point there would be a free spike."""
    rng = np.random.default_rng(7)
    tables = [np.round(rng.uniform(30.0, 60.0, 150), 1) for _ in range(200)]
    most = [np.unique(own, return_counts=True)[1].max() for own in tables]
    assert np.mean(np.array(most) >= 3) > 0.9
    found = [find_atoms(column_of(own, 0.1), own, np.ones(150)) for own in tables]
    assert sum(len(atoms) > 0 for atoms in found) <= 10  # of 200


def test_a_column_of_one_value_or_none_has_no_atom() -> None:
    column = column_of(np.array([1.0, 2.0]))
    assert find_atoms(column, np.array([1.0, 1.0, np.nan]), np.ones(3)) == []
    assert find_atoms(column, np.array([np.nan]), np.ones(1)) == []


def test_edges_that_are_not_finite_are_named() -> None:
    found = Histogram((0.0, 1.0, float("inf"))).problems(Column("x", "real", 0))
    assert found == ["the edge inf is not finite"]
