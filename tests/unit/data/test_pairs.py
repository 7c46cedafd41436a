"""Pairwise counts and mutual information, compared with plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data import pairs as counting
from spnc.data.columns import Column
from spnc.data.pairs import PairCounter, PairCounts, mutual_information, pair_counts
from spnc.data.table import Table

COLUMNS = (Column("a"), Column("b", "categorical", 3), Column("c"), Column("d", "categorical", 4))


def random_table(seed: int) -> Table:
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(c.states, size=60) for c in COLUMNS], axis=1).astype(float)
    values[:, 2] = np.where(rng.random(60) < 0.8, values[:, 0], values[:, 2])
    values[rng.random(values.shape) < 0.1] = np.nan
    return Table(values, rng.integers(0, 4, size=60).astype(float))


@given(seed=st.integers(0, 10_000), alpha=st.sampled_from([0.0, 0.1, 1.0]))
def test_mutual_information_is_what_its_definition_says(seed: int, alpha: float) -> None:
    table = random_table(seed)
    found = mutual_information(pair_counts(COLUMNS, table), alpha)
    for i, first in enumerate(COLUMNS):
        for j, second in enumerate(COLUMNS):
            joint = np.full((first.states, second.states), alpha)
            for row, weight in zip(table.values, table.weights, strict=True):
                if not np.isnan(row[[i, j]]).any():
                    joint[int(row[i]), int(row[j])] += weight
            joint /= joint.sum()
            expected = 0.0
            for x in range(first.states):
                for y in range(second.states):
                    if joint[x, y] > 0 and i != j:
                        independent = joint[x].sum() * joint[:, y].sum()
                        expected += joint[x, y] * np.log(joint[x, y] / independent)
            np.testing.assert_allclose(found[i, j], expected, atol=1e-12)


@given(seed=st.integers(0, 10_000))
def test_degrees_of_freedom_are_those_of_the_states_that_occur(seed: int) -> None:
    table = random_table(seed)
    pairs = pair_counts(COLUMNS, table)
    charged = mutual_information(pairs, 0.1) - mutual_information(pairs, 0.1, 0.7)
    for i in range(len(COLUMNS)):
        for j in range(i):
            counts = pairs.between(i, j)
            own, other = ((counts.sum(axis=axis) > 0.0).sum() - 1 for axis in (0, 1))
            np.testing.assert_allclose(charged[i, j], 0.7 * own * other / counts.sum())


def test_independent_columns_share_nothing_on_average_however_many_states_they_have() -> None:
    rng = np.random.default_rng(0)
    columns = (Column("a"), Column("b", "categorical", 20), Column("c", "categorical", 8))
    found = np.zeros((2, 3, 3))
    for _ in range(200):
        rows = np.stack([rng.integers(column.states, size=400) for column in columns], axis=1)
        pairs = pair_counts(columns, Table(rows.astype(float)))
        found += [mutual_information(pairs, 0.0, charge) / 200 for charge in (0.0, 0.5)]
    assert found[0, 1, 2] > 0.15
    np.testing.assert_allclose(found[1], 0.0, atol=0.03)


def test_columns_that_are_never_seen_together_say_nothing_about_each_other() -> None:
    values = np.array([[0.0, np.nan], [np.nan, 1.0]])
    pairs = pair_counts(COLUMNS[:2], Table(values))
    assert pairs.between(0, 1).sum() == 0.0
    assert mutual_information(pairs).max() == 0.0


WEIGHTS = st.sampled_from(["ones", "whole", "parts"])


def mixed_table(seed: int, weighing: str, gaps: bool, width: int) -> tuple[list[Column], Table]:
    """Columns of two to four states, some with missing cells."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=width) if seed % 2 else np.full(width, 2)
    columns = [Column(f"c{i}", "categorical", int(size)) for i, size in enumerate(sizes)]
    values = np.stack([rng.integers(c.states, size=30) for c in columns], axis=1).astype(float)
    if gaps:
        values[rng.random(30) < 0.3, 1] = np.nan
    weights = {
        "ones": np.ones(30),
        "whole": rng.integers(0, 5, 30).astype(float),
        "parts": rng.random(30),
    }[weighing]
    return columns, Table(values, weights)


@given(st.integers(0, 2**32 - 1), WEIGHTS, st.booleans(), st.data())
def test_some_columns_with_others_are_counted_as_all_with_all(
    seed: int, weighing: str, gaps: bool, data: st.DataObject
) -> None:
    columns, table = mixed_table(seed, weighing, gaps, 6)
    chosen = st.lists(st.integers(0, 5), min_size=1, unique=True).map(np.array)
    some, others = data.draw(chosen), data.draw(chosen)
    counter = PairCounter(columns, table)
    crossing = counter.between(some, others)
    for i, one in enumerate(some.tolist()):
        for j, other in enumerate(others.tolist()):
            own = slice(*crossing.offsets[i : i + 2])
            found = crossing.counts[own, slice(*crossing.others[j : j + 2])]
            expected = counter.pairs.between(one, other)
            np.testing.assert_allclose(found, expected, rtol=0 if weighing != "parts" else 1e-12)


@given(st.integers(0, 2**32 - 1), WEIGHTS, st.booleans())
def test_many_columns_are_counted_in_parts_to_the_same_bits(
    seed: int, weighing: str, gaps: bool
) -> None:
    columns, table = mixed_table(seed, weighing, gaps, 9)

    def both() -> tuple[PairCounts, np.ndarray]:
        pairs = pair_counts(columns, table)
        return pairs, mutual_information(pairs, 0.1)

    pairs, information = both()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_MANY_CELLS", 1), ("_COLUMNS_AT_ONCE", 2), ("_CELLS_AT_ONCE", 1)):
            patch.setattr(counting, name, value)
        in_parts, found = both()
    assert (in_parts.counts == pairs.counts).all()
    assert (found == information).all()
    assert (in_parts + in_parts).counts.dtype == np.float64


@given(st.integers(0, 2**32 - 1), WEIGHTS, st.booleans())
def test_pairs_are_counted_as_one_by_one(seed: int, weighing: str, gaps: bool) -> None:
    """Also where the first state of a column is what the others leave."""
    columns, table = mixed_table(seed, weighing, gaps, 4)
    values, weights = table.values, table.weights
    found = pair_counts(columns, table)
    for i in range(4):
        for j in range(4):
            for a in range(columns[i].states):
                for b in range(columns[j].states):
                    both = (values[:, i] == a) & (values[:, j] == b)
                    assert found.between(i, j)[a, b] == pytest.approx(weights[both].sum())
                    if weighing != "parts":
                        assert found.between(i, j)[a, b] == weights[both].sum()
