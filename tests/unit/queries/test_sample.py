"""Rows drawn from a model, and what it expected of single cells: against enumeration."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnc.backends.numba import drawing
from spnc.common.arrays import Floats
from spnc.data.columns import Column
from spnc.data.pairs import pair_counts
from spnc.data.table import Table
from spnc.diagnostics import InputError
from spnc.graph.nodes import Builder
from spnc.leaves.categorical import Categorical
from spnc.leaves.indicator import Indicator
from spnc.model import Model
from spnc.program.lower import lower
from spnc.queries import cell_probabilities
from spnc.queries.cell_probabilities import cell_log_probabilities
from spnc.queries.column_marginals import column_probabilities
from spnc.queries.pairwise import pair_probabilities
from spnc.registry import BACKENDS
from tests.circuits import all_states, probability, random_circuit, random_rows


def some_model(seed: int, variables: int = 4) -> tuple[Model, Floats, Floats]:
    """A random model, sometimes with impossible rows; all its rows, and their probabilities."""
    graph = random_circuit(seed, variables=variables, depth=4, extremes=seed % 2 == 0)
    program, parameters = lower(graph)
    rows = all_states(program.columns)
    chances = np.array([probability(graph, row) for row in rows])
    return Model("some", program, parameters, {}, BACKENDS["numpy"]()), rows, chances


# ---- samples -----------------------------------------------------------------------------------


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_rows_come_as_often_as_they_are_probable(seed: int) -> None:
    model, rows, chances = some_model(seed)
    count = 20_000
    drawn = model.sample(count, seed=1).values
    sizes = [column.states for column in model.columns]
    at = np.ravel_multi_index(tuple(drawn.T.astype(int)), sizes)
    often = np.bincount(at, minlength=len(rows))
    assert (often[chances == 0.0] == 0).all()
    deviation = np.sqrt(count * chances * (1.0 - chances)) + 1.0
    assert (np.abs(often - count * chances) < 6.0 * deviation).all()


@given(seed=st.integers(0, 10_000), rows=st.integers(0, 40))
def test_drawn_rows_are_possible_and_complete(seed: int, rows: int) -> None:
    model, _, _ = some_model(seed, variables=6)
    drawn = model.sample(rows, seed).values
    assert drawn.shape == (rows, 6)
    assert np.isfinite(model.log_likelihood(drawn)).all()


@pytest.mark.parametrize(("rows", "seed"), [(-1, 0), (3, -1), (2.5, 0), (3, None), (True, 0)])
def test_numbers_that_cannot_be_are_the_user_s_to_mend(rows: Any, seed: Any) -> None:
    model, _, _ = some_model(0)
    with pytest.raises(InputError, match="E505"):
        model.sample(rows, seed)


def test_the_same_seed_draws_the_same_rows_and_another_draws_others() -> None:
    model, _, _ = some_model(3, variables=6)
    first = model.sample(50, seed=4).values
    assert (first == model.sample(50, seed=4).values).all()
    assert (first != model.sample(50, seed=5).values).any()


@pytest.mark.parametrize("word", [0, 2**64 - 1], ids=["least", "largest"])
def test_not_even_extreme_numbers_lead_to_what_has_no_weight(
    monkeypatch: pytest.MonkeyPatch, word: int
) -> None:
    """With this state, the first number of the generator is the least, or the largest."""
    state = np.array([[0, 1, 1, word]], dtype=np.uint64)
    monkeypatch.setattr(drawing, "_seeds", lambda count, rng: state)
    builder = Builder([Column("x", "categorical", 5)])
    indicators = [builder.leaf(0, Indicator(s)) for s in range(5)]
    builder.graph.graph["root"] = builder.sum(indicators, [0.0, 0.0, 1.0, 0.0, 0.0])
    assert Model("indicators", *lower(builder.graph)).sample(1).values.tolist() == [[2.0]]
    builder = Builder([Column("x", "categorical", 5)])
    leaf = builder.leaf(0, Categorical((0.0, 0.0, 1.0, 0.0, 0.0)))
    builder.graph.graph["root"] = leaf
    assert Model("leaf", *lower(builder.graph)).sample(1).values.tolist() == [[2.0]]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_rows_do_not_depend_on_the_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    model, _, _ = some_model(3, variables=6)
    rows = 3 * drawing.PART_ROWS + 1
    expected = model.sample(rows, seed=4).values
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    assert (model.sample(rows, seed=4).values == expected).all()


# ---- marginals and cells -----------------------------------------------------------------------


@given(seed=st.integers(0, 10_000))
def test_marginals_are_sums_over_all_rows(seed: int) -> None:
    model, rows, chances = some_model(seed)
    for i, found in enumerate(column_probabilities(model.engine, model.parameters)):
        expected = [chances[rows[:, i] == s].sum() for s in range(model.columns[i].states)]
        np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("wide", [1, 64], ids=["by flow", "by queries"])
@given(seed=st.integers(0, 10_000), missing=st.sampled_from([0.0, 0.3]))
def test_a_cell_is_as_probable_as_enumeration_says(wide: int, seed: int, missing: float) -> None:
    model, rows, chances = some_model(seed)
    asked = random_rows(seed, model.columns, 7, missing)
    with patch.object(cell_probabilities, "WIDE", wide):
        found = cell_log_probabilities(model.engine, model.parameters, asked)
    for r, row in enumerate(asked):
        for i in range(len(row)):
            if np.isnan(row[i]):
                assert np.isnan(found[r, i])
                continue
            known = [j for j in range(len(row)) if j != i and not np.isnan(row[j])]
            fits = (rows[:, known] == row[known]).all(axis=1)
            rest = chances[fits].sum()
            if rest == 0.0:
                assert np.isnan(found[r, i])
            else:
                own = chances[fits & (rows[:, i] == row[i])].sum() / rest
                assert np.exp(found[r, i]) == pytest.approx(own, abs=1e-12)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_cells_and_marginals_are_the_same_on_every_backend_and_either_way(backend: str) -> None:
    model, _, _ = some_model(7, variables=7)
    asked = random_rows(7, model.columns, 5, 0.2)
    slow = cell_log_probabilities(model.engine, model.parameters, asked)
    marginals = column_probabilities(model.engine, model.parameters)
    engine = BACKENDS[backend]().open(model.program)
    with patch.object(cell_probabilities, "WIDE", 1):
        fast = cell_log_probabilities(engine, model.parameters, asked)
    np.testing.assert_allclose(fast, slow, atol=1e-11)
    for one, other in zip(column_probabilities(engine, model.parameters), marginals, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)


def test_rows_asked_in_pieces_have_the_same_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _, _ = some_model(5)
    asked = random_rows(5, model.columns, 9, 0.2)
    whole = cell_log_probabilities(model.engine, model.parameters, asked)
    monkeypatch.setattr("spnc.queries.cell_probabilities.PIECE_CELLS", 33)
    told: list[int] = []
    pieces = cell_log_probabilities(
        model.engine, model.parameters, asked, lambda _, done, total: told.append(done)
    )
    np.testing.assert_array_equal(pieces, whole)
    assert told == [2, 4, 6, 8, 9]


@given(seed=st.integers(0, 10_000))
def test_pairs_of_chosen_columns_are_those_of_all(seed: int) -> None:
    model, rows, chances = some_model(seed, variables=5)
    chosen = [3, 0, 4]
    found = pair_probabilities(model.engine, model.parameters, columns=chosen)
    few = [model.columns[i] for i in chosen]
    expected = pair_counts(few, Table(rows[:, chosen], chances))
    np.testing.assert_allclose(found.counts, expected.counts, atol=1e-14)
