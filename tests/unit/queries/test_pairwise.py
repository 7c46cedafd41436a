"""What a model says of every two columns, against adding up its probabilities of all rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spnc.data.columns import Column
from spnc.data.pairs import mutual_information, pair_counts
from spnc.data.table import Table
from spnc.graph.nodes import Builder
from spnc.leaves.bernoulli import Bernoulli
from spnc.leaves.categorical import Categorical
from spnc.model import Model
from spnc.program.lower import lower
from spnc.queries import pairwise
from spnc.queries.pairwise import pair_probabilities
from spnc.registry import BACKENDS
from tests.circuits import all_states, probability, random_circuit


def some_model(seed: int, variables: int = 4, *, binary: bool = False) -> tuple[Model, Table]:
    """A random model with impossible rows, and all its rows weighted by their probability."""
    graph = random_circuit(
        seed, variables=variables, depth=4, extremes=seed % 2 == 0, binary_only=binary
    )
    program, parameters = lower(graph)
    rows = all_states(program.columns)
    weights = np.array([probability(graph, row) for row in rows])
    model = Model("some", program, parameters, {}, BACKENDS["numpy"]())
    return model, Table(rows, weights)


@given(seed=st.integers(0, 10_000), binary=st.booleans())
def test_pair_probabilities_are_sums_over_all_rows(seed: int, binary: bool) -> None:
    model, rows = some_model(seed, binary=binary)
    found = pair_probabilities(model.engine, model.parameters)
    expected = pair_counts(model.columns, rows)
    assert found.offsets.tolist() == expected.offsets.tolist()
    np.testing.assert_allclose(found.counts, expected.counts, atol=1e-14)
    assert (found.counts >= 0.0).all()
    assert (found.counts == found.counts.T).all()


@given(seed=st.integers(0, 10_000), binary=st.booleans())
def test_mutual_information_is_that_of_the_enumerated_distribution(seed: int, binary: bool) -> None:
    model, rows = some_model(seed, binary=binary)
    found = model.mutual_information()
    pairs = pair_counts(model.columns, rows)
    np.testing.assert_allclose(found, mutual_information(pairs), atol=1e-12)
    np.testing.assert_allclose(found, found.T, atol=1e-13)
    assert (found.diagonal() == 0.0).all()


def test_two_columns_that_are_always_equal_share_all_that_they_have() -> None:
    builder = Builder([Column("a"), Column("b"), Column("c")])
    sides = [
        builder.product([builder.leaf(v, Bernoulli(p)) for v, p in enumerate([side, side, 0.3])])
        for side in (0.0, 1.0)
    ]
    builder.graph.graph["root"] = builder.sum(sides, [0.25, 0.75])
    found = Model("equal", *lower(builder.graph)).mutual_information()
    entropy = -0.25 * np.log(0.25) - 0.75 * np.log(0.75)
    np.testing.assert_allclose(found, [[0, entropy, 0], [entropy, 0, 0], [0, 0, 0]], atol=1e-15)


def test_independent_columns_share_nothing() -> None:
    builder = Builder([Column("a"), Column("b"), Column("c", "categorical", 3), Column("d")])
    leaves = [Bernoulli(0.2), Bernoulli(1e-9), Categorical((0.1, 0.2, 0.7)), Bernoulli(1.0)]
    root = builder.product([builder.leaf(v, leaf) for v, leaf in enumerate(leaves)])
    builder.graph.graph["root"] = root
    found = Model("independent", *lower(builder.graph)).mutual_information()
    assert found.max() < 1e-14


def test_one_column_alone_has_no_pairs() -> None:
    model, _ = some_model(3, variables=1)
    assert model.mutual_information().tolist() == [[0.0]]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_pieces_change_nothing_and_tell_how_far_they_are(
    monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    model, _ = some_model(5, variables=7)
    model.backend = BACKENDS[backend]()
    whole = pair_probabilities(model.engine, model.parameters)
    told: list[tuple[int, int | None]] = []
    leaves = model.program.leaves[-1].last
    monkeypatch.setattr(pairwise, "PIECE_CELLS", 5 * leaves)
    pieces = pair_probabilities(
        model.engine, model.parameters, lambda _, done, total: told.append((done, total))
    )
    np.testing.assert_allclose(pieces.counts, whole.counts, atol=1e-15)
    states = sum(column.states for column in model.columns)
    assert told == [(min(done, states), states) for done in range(5, states + 5, 5)]


@given(seed=st.integers(0, 10_000))
def test_small_probabilities_are_exact_in_all_digits(seed: int) -> None:
    model, rows = some_model(seed)
    found = pair_probabilities(model.engine, model.parameters).counts
    expected = pair_counts(model.columns, rows).counts
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_counts_of_two_tables_add_up() -> None:
    model, rows = some_model(8)
    first, rest = Table(rows.values[:5], rows.weights[:5]), Table(rows.values[5:], rows.weights[5:])
    both = pair_counts(model.columns, first) + pair_counts(model.columns, rest)
    np.testing.assert_allclose(both.counts, pair_counts(model.columns, rows).counts, atol=1e-15)
